"""The pages about the command line say what it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import takeback.errors
from takeback.adapters import BUILT_IN, PLUGIN
from takeback.cli.main import COMMANDS
from takeback.cli.reference import reference
from takeback.errors import TakebackError
from tests.cli.conftest import Story
from tests.serve.served import serving
from tests.support.cli import Cli
from tests.support.host import Host

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


def inner_fields(value: Any) -> set[str]:
    """Returns the fields of all objects below a value."""
    if isinstance(value, list):
        return set().union(*map(inner_fields, value)) if value else set()
    if isinstance(value, dict):
        return set(value).union(*map(inner_fields, value.values()))
    return set()


_SUMMARISE = ("summarise", "turn:1", "--from", "--session", "mine-s1", "--text", "-")
_BROKEN_BY_IT = ("--", "test", "!", "-e", "parser.py")


def agents_documents(folder: Path) -> list[dict[str, Any]]:
    """Lets two agents work in a workspace of their own, and returns what is said about that."""
    workspace = folder / "agents"
    workspace.mkdir()
    cli = Cli(workspace)
    host = Host(cli, folder)
    host.turn("write a parser", {"parser.py": b"1\n"})
    host.prompt("make it faster")
    (workspace / "parser.py").write_text("2\n")
    host.round(("Edit", "edit", ["parser.py"]))
    documents = [
        *cli.ok("--json", "log", "--all").json_lines,
        cli.ok("--json", "show", "turn:1").json,
        cli.ok("--json", "blame", "parser.py").json,
        cli.ok("--json", "compare", "turn:1", ".").json,
        *cli.ok("--json", "sessions").json_lines,
        cli.ok("--json", "status").json,
        *cli.ok("--json", "search", "parser").json_lines,
        *cli.ok("--json", "bisect", "turn:1", "turn:1.end", *_BROKEN_BY_IT).json_lines,
        cli.ok("--json", "bisect", "--reset").json,
        cli.ok("--json", "rewind", "turn:1", "--dry-run", "--conversation").json,
        cli.ok("--json", "fork", "turn:1").json,
        cli.ok("--json", *_SUMMARISE, "--dry-run", stdin=b"it").json,
        cli.ok("--json", *_SUMMARISE, "--yes", stdin=b"it").json,
        cli.ok("--json", "cat", "turn:1", "--conversation").json,
        cli.ok("--json", "cat", "turn:1", "--conversation", "--messages").json,
        cli.ok("--json", "tree").json,
    ]
    host.end()
    Host(cli, folder, "s2", "yours").turn("write docs", {"docs.md": b"1\n"})
    documents += [
        cli.run("--json", "show", "turn:1").error,
        cli.ok("--json", "revert", "mine-s1/turn:1", "--yes", "--conflicts=ours").json,
        cli.ok("--json", "apply", "mine-s1/turn:1", "--yes", "--conflicts=ours").json,
        cli.ok("--json", "rewind", "mine-s1/turn:2", "--yes", "--files", "--keep-others").json,
        *cli.ok("--json", "sessions").json_lines,
        cli.ok("--json", "status").json,
    ]
    assert documents[-1]["disagree"]
    return documents


def test_every_field_is_documented(story: Story, tmp_path: Path) -> None:
    """Collects one document of each type and looks for each of its fields in its section."""
    cli = story.cli
    documents = [
        *agents_documents(tmp_path),
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
        cli.ok("--json", "prune", "@", "--yes").json,
        cli.ok("--json", "prune", "--restore", "--dry-run").json,
        cli.ok("--json", "prune", "--restore").json,
        cli.ok("--json", "purge", "a", "--dry-run").json,
        cli.ok("--json", "label", "@", "x").json,
        cli.ok("--json", "init", "claude", "--dry-run").json,
        cli.ok("--json", "uninstall", "--dry-run").json,
        cli.ok("--json", "off", "--dry-run").json,
        cli.ok("--json", "status").json,
        cli.ok("--json", "verify").json,
        *cli.ok("--json", "doctor").json_lines,
        *cli.ok("--json", "config").json_lines,
        cli.ok("--json", "demo", "--dir", str(tmp_path / "demo")).json,
        cli.ok("--json", "completion", "bash").json,
        cli.ok("--json", "--version").json,
        cli.run("--json", "rewind", "start").error,
        cli.ok("--json", "forget", ".", "--dry-run").json,
        cli.ok("--json", "forget", ".", "--yes", "--name", "workspace").json,
        cli.ok("--json", "forget", "--restore").json,
        cli.ok("--json", "forget", "--restore", ".").json,
    ]
    with serving(cli) as server:
        documents.append(dict(server.said))
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
                for inner in inner_fields(value):
                    documented = {f"`{inner}`", f"`{inner}[]`"}
                    assert any(n in SCRIPTING for n in documented), (field, inner)
    assert sections.keys() == {document["type"] for document in documents} | {"note"}


def test_help_names_every_agent() -> None:
    parts = dict(
        re.findall(r"^## takeback (hook|init)\n(.*?)(?=^## |\Z)", reference(), re.M | re.S)
    )
    assert {agent.name for agent in BUILT_IN} | {PLUGIN} <= set(re.findall(r"\w+", parts["hook"]))
    connected = {agent.name for agent in BUILT_IN if agent.connection}
    assert connected <= set(re.findall(r"\w+", parts["init"]))
