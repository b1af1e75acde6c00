"""The pages about the command line say what it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import takeback.errors
from takeback.cli.main import COMMANDS
from takeback.cli.reference import reference
from takeback.errors import TakebackError
from tests.cli.conftest import Story

DOCS = Path(__file__).resolve().parents[2] / "docs"
SCRIPTING = (DOCS / "scripting.md").read_text()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_reference(command: str) -> None:
    assert f"\n## takeback {command}\n" in (DOCS / "cli.md").read_text()


def test_the_reference_is_current() -> None:
    assert reference() in (DOCS / "cli.md").read_text(), "run: make docs"


def test_every_error_is_documented() -> None:
    for error in vars(takeback.errors).values():
        if isinstance(error, type) and issubclass(error, TakebackError):
            assert f"| {error.exit_status} |" in SCRIPTING
            assert f"`{error.code}`" in SCRIPTING or error.code == "partly_done"
    for status in (70, 130, 141):
        assert f"| {status} |" in SCRIPTING


def test_every_field_is_documented(story: Story, tmp_path: Path) -> None:
    """Collects one document of each type and looks for each of its fields in its section."""
    cli = story.cli
    documents = [
        cli.ok("--json", "checkpoint").json,
        *cli.ok("--json", "log").json_lines,
        cli.ok("--json", "show").json,
        cli.ok("--json", "rewind", "start", "--dry-run").json,
        cli.ok("--json", "rewind", "start", "--yes").json,
        cli.ok("--json", "undo", "--yes").json,
        cli.ok("--json", "redo", "--yes").json,
        *cli.ok("--json", "log", "--operations").json_lines,
        cli.ok("--json", "diff", "start", "@").json,
        cli.ok("--json", "cat", "start", "a").json,
        cli.ok("--json", "label", "@", "x").json,
        cli.ok("--json", "status").json,
        cli.ok("--json", "verify").json,
        *cli.ok("--json", "doctor").json_lines,
        *cli.ok("--json", "config").json_lines,
        cli.ok("--json", "demo", "--dir", str(tmp_path / "demo")).json,
        cli.ok("--json", "completion", "bash").json,
        cli.ok("--json", "--version").json,
        cli.run("--json", "rewind", "start").error,
        cli.ok("--json", "forget", ".", "--dry-run").json,
    ]
    sections = {}
    for part in re.split(r"^### ", SCRIPTING, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        for kind in title.split(", "):
            sections[kind] = body
    for document in documents:
        assert document["v"] == 1
        section = sections[document["type"]]
        for field, value in document.items():
            if field not in ("type", "v"):
                name = f"`{field}[]`" if isinstance(value, list) and value else f"`{field}"
                assert name in section or f"`{field}`" in section, (document["type"], field)
    assert sections.keys() == {document["type"] for document in documents} | {"note"}
