"""A store of a format from before the first release: refused by everything, touched by nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.cli.main import COMMANDS
from takeback.errors import StoreTooOld
from takeback.events import Speaker, hear
from tests.support.called import called, done
from tests.support.trees import tree_state

SENTENCE = (
    "the store has format 1, from before the first release, which this takeback does not read; "
    "nothing was changed"
)
WORDS = {
    "apply": ("apply", "turn:1", "--yes"),
    "compare": ("compare", "@", "@"),
    "bisect": ("bisect", "@~1", "@", "--", "true"),
    "blame": ("blame", "a"),
    "cat": ("cat", "@", "a"),
    "checkpoint": ("checkpoint",),
    "config": ("config", "--workspace", "hook_seconds", "7"),
    "diff": ("diff", "@"),
    "doctor": ("doctor",),
    "forget": ("forget", ".", "--name", "workspace", "--yes"),
    "fork": ("fork", "@", "--yes"),
    "label": ("label", "@", "name"),
    "log": ("log",),
    "off": ("off",),
    "on": ("on",),
    "": (),
    "prune": ("prune", "--yes"),
    "purge": ("purge", "a", "--confirm", "a"),
    "redo": ("redo", "--yes"),
    "revert": ("revert", "turn:1", "--yes"),
    "rewind": ("rewind", "@", "--yes"),
    "run": ("run", "touch", "ran"),
    "search": ("search", "word"),
    "sessions": ("sessions",),
    "show": ("show", "@"),
    "status": ("status",),
    "summarise": ("summarise", "@", "--from", "--yes"),
    "tree": ("tree",),
    "undo": ("undo", "--yes"),
    "verify": ("verify",),
}
"""One call of each command that is about a workspace."""
OTHERS = {"acp", "completion", "demo", "hook", "init", "mcp", "uninstall", "pick", "serve"}
"""Of no workspace or of all, or tested below, or for a terminal alone."""


@pytest.fixture
def older(workspace: Path) -> Path:
    """A workspace whose store says that it has the former format; returns the store."""
    (workspace / "a").write_text("x")
    with Takeback.open(workspace) as tb:
        tb.checkpoint()
        store = Path(tb.store_directory)
    (store / "format").write_text("1\n")
    return store


def test_every_command_is_here() -> None:
    assert {*WORDS, *OTHERS} == {*COMMANDS, ""}


def test_every_command_refuses_it_in_one_sentence_and_touches_nothing(
    older: Path, workspace: Path
) -> None:
    before = tree_state(older, identity=True), tree_state(workspace, identity=True)
    for name, words in WORDS.items():
        answer = called(workspace, "--json", *words)
        assert answer.status == 1, f"{name}: {answer}"
        error = json.loads(answer.stderr)
        assert (error["code"], error["message"]) == ("store_too_old", SENTENCE), name
        assert error["hint"] == f"begin anew and keep it aside: mv {older} {older}.old", name
        assert answer.stdout == "", name
        assert (tree_state(older, identity=True), tree_state(workspace, identity=True)) == before
    with pytest.raises(StoreTooOld):
        Takeback.open(workspace)
    assert tree_state(older, identity=True) == before[0]


def test_the_way_out_begins_anew_and_keeps_it(older: Path, workspace: Path) -> None:
    answer = called(workspace, "--json", "log")
    command = json.loads(answer.stderr)["hint"].partition(": ")[2]
    kept = tree_state(older, identity=True)
    assert os.system(command) == 0
    done(workspace, "checkpoint")
    for words in ("log", "status", "doctor", "verify"):
        done(workspace, words)
    assert len(done(workspace, "--json", "log").json_lines) == 1
    assert tree_state(Path(f"{older}.old"), identity=True) == kept


def test_hooks_go_on_and_say_so_once(older: Path, workspace: Path) -> None:
    before = tree_state(older, identity=True)
    kinds = ("session_start", "prompt", "round_end", "turn_end", "prompt", "turn_end")
    said = []
    for kind in kinds:
        told = {"event": kind, "session": "s", "agent": "mine", "turn": "t", "prompt": "hi"}
        heard = hear(
            Speaker("generic", "a test"),
            lambda told=told: {**told, "cwd": str(workspace)},  # type: ignore[misc]
        )
        assert (heard.failure, heard.recorded) == (None, False), kind
        said.append(heard.warning)
    assert said == [f"takeback: the files here are not kept: {SENTENCE}", *[None] * 5]
    log = Path(os.environ["TAKEBACK_HOME"], "log").read_text().splitlines()
    assert [line.partition(" ")[2] for line in log] == [f"hook mine: {SENTENCE}\t{workspace}"]
    assert tree_state(older, identity=True) == before
