"""The progress of a long job: nothing at first, a bar on a terminal after a second."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from takeback.cli import terminal
from takeback.cli.terminal import Output, TerminalReporter, ask


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


def question() -> str:
    ask("Revert it now? [y/N] ")
    return "Revert it now? [y/N] "


def sentence() -> str:
    Output(json=False, quiet=False, color="never").note("Done.")
    return "Done.\n"


@pytest.mark.parametrize("say", [question, sentence])
def test_what_is_said_removes_the_bar_and_the_next_one_waits_again(
    say: Callable[[], str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bar was drawn over a question, as if what was asked about had begun."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    passed = [100.0]  # however long the command has taken before
    monkeypatch.setattr("time.monotonic", lambda: passed[0])
    reporter = TerminalReporter(lambda text: None, bar=True)
    reporter.progress("writing files", 0, 2)
    assert capfd.readouterr().err == ""
    passed[0] += 1.5
    reporter.progress("writing files", 1, 2)
    assert "writing files" in capfd.readouterr().err
    words = say()
    told = capfd.readouterr().err
    assert told.endswith(words)
    assert "\x1b[2K" in told, "the bar is wiped first"
    reporter.progress("writing files", 2, 2)
    assert capfd.readouterr().err == ""
    reporter.close()


def test_no_bar_where_none_is_wanted(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "PATIENCE", 0.0)
    reporter = TerminalReporter(lambda text: None, bar=False)
    reporter.progress("reading files", 5, 10)
    reporter.close()
    assert capfd.readouterr() == ("", "")
