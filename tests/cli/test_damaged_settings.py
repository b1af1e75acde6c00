"""A typo in the settings keeps nobody from going back, and takes nothing into the store."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.config import compiled
from takeback.errors import SettingsUnknown
from tests.support.called import called, done


@pytest.fixture(params=["user", "workspace"])
def settings(
    request: pytest.FixtureRequest, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The settings of the user or of the workspace, which were read once; a turn was recorded."""
    monkeypatch.setattr(compiled, "_SETTLED", -60.0)
    monkeypatch.setattr(compiled, "_seen", {})
    (workspace / "a.txt").write_text("1\n")
    (workspace / "secret").write_text("never\n")
    with Takeback.open(workspace) as tb:
        store = Path(tb.store_directory)
    user = Path(os.environ["XDG_CONFIG_HOME"], "takeback")
    user.mkdir(exist_ok=True)
    file = (user if request.param == "user" else store) / "config.toml"
    file.write_text('exclude = ["secret"]\n')
    with Takeback.open(workspace) as tb, tb.session(agent="mine", native="s1").turn("edit"):
        (workspace / "a.txt").write_text("2\n")
    return file


def test_looking_and_going_back_work_and_say_so(settings: Path, workspace: Path) -> None:
    settings.write_text('exclude = ["secret"\n')
    for line in ("status", "log", "show", "rewind turn:1 --yes", "undo --yes"):
        assert str(settings) in done(workspace, *line.split()).stderr, line
    assert (workspace / "a.txt").read_text() == "2\n"
    warnings = done(workspace, "--json", "status").json["warnings"]
    assert [one["about"] for one in warnings] == ["settings"]
    found = called(workspace, "--json", "doctor")
    assert found.status == 1
    assert [one["state"] for one in found.json_lines if one["about"] == "settings"] == ["broken"]
    made = done(workspace, "--json", "checkpoint").json
    not_held = done(workspace, "--json", "show", made["id"]).json["not_held"]
    assert [(one["path"], one["reason"]) for one in not_held] == [("secret", "excluded")]
    done(workspace, "config", "exclude", "secret,other", *_where(settings))
    assert done(workspace, "status").stderr == ""


def test_what_was_wanted_is_never_guessed(settings: Path, workspace: Path) -> None:
    """Nobody knows any more what was excluded: commands look, and capture and drop nothing."""
    settings.write_text('exclude = ["secret"\n')
    (settings.parent / "settings.compiled").unlink(missing_ok=True)
    Path(os.environ["TAKEBACK_HOME"], "settings.compiled").unlink(missing_ok=True)
    for line in ("status", "log", "show", "cat @ a.txt", "verify"):
        assert str(settings) in done(workspace, *line.split()).stderr, line
    for line in ("checkpoint", "rewind turn:1 --yes", "prune --yes"):
        answer = called(workspace, *line.split())
        assert answer.status == 2, str(answer)
        assert str(settings) in answer.stderr
    with Takeback.open(workspace) as tb:
        before = tb.status().checkpoints
        assert str(settings) in str(_event_fails(tb))
        assert tb.status().checkpoints == before
    settings.unlink()
    done(workspace, "rewind", "turn:1", "--yes")


def _event_fails(tb: Takeback) -> Exception:
    with (
        pytest.raises(SettingsUnknown) as raised,
        tb.session(agent="mine", native="s1").turn("more"),
    ):
        pass
    return raised.value


def _where(settings: Path) -> tuple[str, ...]:
    return ("--workspace",) if "workspaces" in settings.parts else ()
