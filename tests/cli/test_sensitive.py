"""Files whose names speak of a secret are marked by every command, and left out if asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from takeback import Takeback
from takeback.app.engine import Engine
from takeback.model.event import PROMPT, AgentEvent
from takeback.prompt_command import answer
from tests.support.called import called, done

MARKED = ".env (sensitive)"


@pytest.fixture
def workspace_with_secret(workspace: Path) -> Path:
    (workspace / "a.txt").write_text("1\n")
    with Takeback.open(workspace) as tb, tb.session(agent="mine", native="s1").turn("add it"):
        (workspace / ".env").write_text("KEY=hunter2\n")
        (workspace / ".env.example").write_text("KEY=\n")
    return workspace


def marks(value: Any) -> dict[str, Any]:
    """Returns what each path in a document has in its field ``sensitive``."""
    found = {}
    if isinstance(value, dict):
        if isinstance(value.get("path"), str):
            found[value["path"]] = value.get("sensitive", "absent")
        for inner in value.values():
            found |= marks(inner)
    elif isinstance(value, list):
        for inner in value:
            found |= marks(inner)
    return found


def test_every_command_that_lists_files_marks_them(workspace_with_secret: Path) -> None:
    root = workspace_with_secret
    marked = {".env": True, ".env.example": "absent"}
    for words in (
        ("log",),
        ("show", "turn:1"),
        ("tree",),
        ("diff", "--stat", "turn:1"),
        ("diff", "turn:1"),
        ("search", "env"),
        ("rewind", "turn:1", "--dry-run"),
        ("cat", "@", ".env"),
    ):
        answer = done(root, "--json", *words)
        documents = [json.loads(line) for line in answer.stdout.splitlines()]
        assert marks(documents).items() <= marked.items(), words
        assert marks(documents)[".env"] is True, words
        if words[0] != "cat":
            said = done(root, *words)
            assert MARKED in said.stdout + said.stderr, words
            assert ".env.example (sensitive)" not in said.stdout + said.stderr, words
    (root / ".env").write_text("KEY=hunter3\n")
    assert MARKED in done(root, "status").stdout
    assert done(root, "--json", "status").json["dirty"][0]["sensitive"] is True
    went = called(root, "rewind", "turn:1", "--yes", "--files")
    assert went.status == 0, str(went)
    assert not (root / ".env").exists()


def test_status_counts_them_and_says_what_the_setting_does(workspace_with_secret: Path) -> None:
    root = workspace_with_secret
    said = done(root, "status").stdout
    assert "sensitive 1 file kept: .env\n" in said
    assert "takeback config sensitive skip" in said
    done(root, "config", "sensitive", "skip")
    (root / ".env").write_text("KEY=hunter3\n")
    assert done(root, "--json", "status").json["dirty"] == [], "it was not deleted"
    made = done(root, "--json", "checkpoint").json["id"]
    assert done(root, "--json", "show", made).json["changed"] == []
    said = done(root, "status").stdout
    assert "sensitive 1 path left out: .env\n" in said
    assert "takeback purge" in said
    found = done(root, "--json", "status").json
    assert found["sensitive"] == []
    assert [one["path"] for one in found["sensitive_left_out"]] == [".env"]
    assert ".env (sensitive): sensitive" in done(root, "show", made).stdout
    assert called(root, "config", "sensitive", "hide").status == 2


def test_inside_an_agent_they_are_marked_and_no_content_is_quoted(
    workspace_with_secret: Path,
) -> None:
    root = workspace_with_secret
    with Engine.open(root) as tb:
        (root / ".env").write_text("KEY=hunter3\n")
        asked: tuple[list[str], ...] = ([], ["1"], ["status"], ["1", "files", "yes"])
        said = [answer(tb, "mine-s1", words, command="/takeback").text for words in asked]
        assert [MARKED in text for text in said] == [True, True, False, False]
        assert "sensitive 1 file kept" in said[2]
        told = tb.receive(
            AgentEvent(PROMPT, "mine", "s1", str(root), turn="t2", prompt="go on")
        ).note
        assert told is not None
        assert ".env" in told
        assert not any("hunter" in text for text in (*said, told))
