"""The progress of a long job: nothing at first, a bar on a terminal after a second."""

from __future__ import annotations

import pytest

from takeback.cli import terminal
from takeback.cli.terminal import TerminalReporter


def test_nothing_is_shown_at_first(capfd: pytest.CaptureFixture[str]) -> None:
    reporter = TerminalReporter(lambda text: None, bar=True)
    reporter.progress("reading files", 1, 10)
    reporter.close()
    assert capfd.readouterr() == ("", "")


def test_a_bar_after_a_second_goes_to_stderr(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    said: list[str] = []
    reporter = TerminalReporter(said.append, bar=True)
    reporter.progress("reading files", 1, 0)
    reporter.progress("reading files", 5, 10)
    reporter.note("Something happened.")
    seen = capfd.readouterr()
    assert seen.out == ""
    assert "reading files" in seen.err
    assert said == ["Something happened."]


def test_no_bar_where_none_is_wanted(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "PATIENCE", 0.0)
    reporter = TerminalReporter(lambda text: None, bar=False)
    reporter.progress("reading files", 5, 10)
    reporter.close()
    assert capfd.readouterr() == ("", "")
