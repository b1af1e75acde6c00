"""A day with two agents and three sessions, as a person sees it: docs/day.md is made here.

``TAKEBACK_PICTURES=write pytest tests/cli/test_day.py`` writes it anew; read it before you keep it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from tests.cli.transcript import settled
from tests.support.agent import agent
from tests.support.cli import Cli
from tests.support.git import git
from tests.support.host import Host

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "day.md"
_WRITE = os.environ.get("TAKEBACK_PICTURES") == "write"  # a test's own environment is sealed
_CHILD = re.compile(r"\b([ab]\d)\.([0-9a-f]{8})\b")
_COMMIT = re.compile(r"\b[0-9a-f]{40}\b")
_SECONDS = re.compile(r"\d{4}-\d\d-\d\d HH:MM:\d\d [+-]\d{4}")


class Page:
    """What is told, typed and answered, without what is new in each run."""

    def __init__(self, cli: Cli) -> None:
        self._cli = cli
        self._children: dict[str, str] = {}
        self._blocks: list[str] = []

    def tells(self, text: str) -> None:
        self._blocks.append(text)

    def types(self, *lines: str) -> None:
        """Types some commands, one after the other."""
        said = []
        for line in lines:
            answer = self._cli.run(*line.split())
            ended = f"(ends with {answer.status})\n" if answer.status else ""
            said.append(f"$ takeback {line}\n{answer.stdout}{answer.stderr}{ended}".rstrip())
        self._blocks.append("```console\n" + self._settled("\n\n".join(said)) + "\n```")

    def _settled(self, text: str) -> str:
        text = text.replace(str(self._cli.directory.parent), "~")
        text = _COMMIT.sub("COMMIT", _SECONDS.sub("DATE", settled(text)))
        for native, random in _CHILD.findall(text):
            stands_for = f"{native}.{len(self._children) + 1:04}"
            self._children.setdefault(f"{native}.{random}", stands_for)
        for name, stands_for in self._children.items():
            native, _, random = name.partition(".")
            for length in range(8, 3, -1):  # it is shown short where that is enough
                text = re.sub(rf"\b{native}\.{random[:length]}\b", stands_for, text)
        return text

    def __str__(self) -> str:
        return "\n\n".join(self._blocks) + "\n"


def test_a_day(cli: Cli, workspace: Path, tmp_path: Path) -> None:
    page = Page(cli)
    page.tells("# A day with takeback")
    page.tells(
        "Two agents, alpha and beta, work in one project. This page is made by a test "
        "(tests/cli/test_day.py) that plays the day; `ID` stands for the ids of checkpoints."
    )
    page.types("status")
    folder = tmp_path / "transcripts"
    folder.mkdir()
    (workspace / "README").write_text("a project\n")
    git(workspace, "add", ".")
    git(workspace, "commit", "--quiet", "--message", "begin")

    page.tells("## The morning")
    page.tells(
        "alpha makes two turns; in the second a shell command deletes a file. Between them I write "
        "notes of my own."
    )
    alpha = Host(cli, folder, "a1", "alpha")
    alpha.tell("session_start")
    alpha.turn("write the parser", {"parser.py": b"one\n", "test_parser.py": b"t\n"})
    (workspace / "notes.txt").write_text("mine\n")
    alpha.prompt("make it faster,\nand delete what is not needed")
    (workspace / "parser.py").write_text("two\n")
    (workspace / "test_parser.py").unlink()
    alpha.round(("Bash", "shell", []))
    alpha.end()
    page.types("log", "show", "status")

    page.tells("## Noon")
    page.tells("beta joins it. In its second turn I interrupt with a wish; then it compacts.")
    beta = Host(cli, folder, "b1", "beta")
    beta.turn("describe it", {"docs/guide.md": b"# Guide\n"})
    beta.prompt("and an index")
    (workspace / "docs/index.md").write_text("# Index\n")
    beta.tell("prompt", turn="b1-t2", prompt="in German, please", steer=True)
    (workspace / "docs/index.md").write_text("# Verzeichnis\n")
    beta.end()
    beta.tell("compact", turn="b1-t2")
    page.types("log", "rewind --dry-run", "sessions")
    page.tells("It was the wrong idea: back by a turn, and by one more, and forth again.")
    page.types("rewind --yes", "rewind --yes", "log")
    page.types("undo --yes", "undo --yes", "redo --yes", "log --operations", "undo --yes")

    page.tells("## The afternoon")
    page.tells("On another branch, what alpha did is to be tried once more, here and elsewhere.")
    git(workspace, "checkout", "--quiet", "-b", "try")
    page.types("rewind alpha/turn:2 --files --yes", "fork alpha/turn:2")
    page.types("fork alpha/turn:2 --worktree ../workspace-try")
    page.tells("Then a second alpha is started, and is killed in the middle of its turn.")
    with agent() as second:
        Host(cli.told_by(second), folder, "a2", "alpha").prompt("rewrite everything")
        second.kill()
    (workspace / "parser.py").write_text("gone\n")
    page.types("log", "tree", "search guide", "search parser")

    page.tells("## The evening")
    page.tells("What the killed one did is taken back, and all is as it was.")
    page.types("rewind a2/turn:1 --dry-run", "rewind a2/turn:1 --yes", "status")
    assert (workspace / "parser.py").read_text() == "two\n"

    if _WRITE:
        _PAGE.write_text(str(page))
    assert str(page) == _PAGE.read_text()
