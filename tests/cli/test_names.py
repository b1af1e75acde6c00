"""Names of checkpoints and sessions at the command line, wherever one is taken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.cli.main import run
from takeback.errors import NoSuchCheckpoint
from tests.tui.stage import files_of, tell_story

NOTHING = (
    ("rewind", ""),
    ("rewind", "", "--files", "--session", "mine"),
    ("rewind", "mine/"),
    ("rewind", " "),
    ("rewind", "", "--", "a.txt"),
    ("rewind", "--session", ""),
    ("fork", ""),
    ("fork", "", "--files"),
    ("show", ""),
    ("diff", ""),
    ("diff", "@", ""),
    ("cat", "", "a.txt"),
    ("cat", "", "--conversation"),
    ("label", "", "name"),
    ("log", "--session", ""),
    ("checkpoint", "--session", ""),
)


def test_a_script_whose_variable_was_never_set_changes_nothing_and_is_told(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tell_story(workspace)
    before = files_of(workspace)
    monkeypatch.chdir(workspace)
    with Engine.open(workspace) as tb:
        mark = tb.timeline_mark()
        for words in NOTHING:
            status = run(["--json", "--yes", *words])
            said = json.loads(capfd.readouterr().err)
            assert (status, said["code"]) == (12, "no_such_checkpoint"), words
            assert said["hint"], words
        for call in (tb.find, tb.show, tb.plan, tb.rewind, tb.fork, tb.choices, tb.diff):
            with pytest.raises(NoSuchCheckpoint):
                call("")
        with pytest.raises(NoSuchCheckpoint):
            tb.cat("", "a.txt")
        with pytest.raises(NoSuchCheckpoint):
            tb.label("", "name")
        assert (files_of(workspace), tb.timeline_mark()) == (before, mark)
