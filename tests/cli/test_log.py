"""What log, show and tree print of a longer timeline."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.cli.main import run
from tests.tui.stage import tell_story


class Typed:
    """Commands in a workspace, without a process for each."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd

    def __call__(self, *words: str) -> tuple[list[str], str]:
        self._capfd.readouterr()
        assert run(list(words)) == 0
        said = self._capfd.readouterr()
        return said.out.splitlines(), said.err


@pytest.fixture
def typed(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Typed:
    monkeypatch.chdir(workspace)
    return Typed(capfd)


def test_the_newest_thirty_and_how_many_more(workspace: Path, typed: Typed) -> None:
    with Takeback.open(workspace) as tb:
        for number in range(33):
            tb.checkpoint(f"number {number}")
    lines, said = typed("log")
    assert (len(lines), said) == (30, "3 older: takeback log -n 33\n")
    assert "number 32" in lines[0]
    lines, said = typed("log", "-n", "33")
    assert (len(lines), said) == (33, "")
    for words in (("log", "--json"), ("log", "--all")):
        lines, said = typed(*words)
        assert (len(lines), said) == (33, ""), words
    lines, said = typed("log", "-n", "2", "--json")
    assert (len(lines), said) == (2, "")


def test_a_session_that_nobody_went_on_with_has_no_line(workspace: Path, typed: Typed) -> None:
    tell_story(workspace)
    for _ in range(2):
        typed("rewind", "--yes")
    lines, _ = typed("log")
    names = [line for line in lines if not line.startswith(" ")]
    assert [re.findall(r"turn \d", line) for line in names] == [["turn 3"], ["turn 2"], ["turn 1"]]
    below = [line for line in lines if line.startswith(" ")]
    assert len(below) == 2
    assert all(re.fullmatch(r" +↳ resumed as s1\.[0-9a-f]{4}", line) for line in below)
    assert [line for line in lines if "<- here" in line] == [names[1]]
    lines, _ = typed("tree")
    assert len(lines) == 4
    assert [bool(re.search(r"  ↳ resumed as s1\.[0-9a-f]{4}$", line)) for line in lines] == [
        False,
        False,
        True,
        True,
    ]
    kinds = [json.loads(line)["kind"] for line in typed("log", "--json")[0]]
    assert kinds.count("fork") == 2


def test_a_prompt_of_several_lines_is_shown_as_it_was_typed(workspace: Path, typed: Typed) -> None:
    prompt = "explain, and then\nfix the following:\n\n - m1\n\t- m2 \x1b[31m\r\ndone"
    with Takeback.open(workspace) as tb, tb.session(agent="mine").turn(prompt):
        (workspace / "a").write_text("1\n")
    lines, _ = typed("show", "turn:1")
    at = lines.index("  prompt    explain, and then")
    assert lines[at + 1 : at + 6] == [
        "            fix the following:",
        "",
        "             - m1",
        "                - m2 \\x1b[31m",
        "            done",
    ]
    assert re.match(r"  made      (now|\d+s ago) \(", lines[1])
    assert '"explain, and then fix the following: - m1 - m2 \\x1b[31m done"' in typed("log")[0][0]
