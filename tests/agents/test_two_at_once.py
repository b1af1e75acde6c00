"""The real Claude and the real Codex at once in one tree, in the same files."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.agents import claude, codex
from tests.agents.script import Script, Step, Tool
from tests.agents.world import World

LINES = [f"line {number}" for number in range(1, 13)]
CLAUDES = {2: "claude's 2", 8: "claude's 8"}
CODEXES = {5: "codex's 5", 11: "codex's 11"}
_PATCH = """\
*** Begin Patch
*** Update File: text.txt
@@
-line 11
+codex's 11
*** End Patch
"""


@pytest.mark.long
def test_each_is_taken_back_without_the_lines_of_the_other(
    world: World, installed: Callable[[str], Path], tmp_path: Path
) -> None:
    one, two = (
        claude.Claude(world, installed("claude")),
        codex.Codex(world, installed("codex")),
    )
    text, made = world.repo / "text.txt", world.repo / "made.txt"
    text.write_text(of({}))
    world.model.script = script(one, tmp_path)
    world.cli.ok("init", "claude", "codex", "--yes")
    world.cli.ok(
        "config", "hook_seconds", "60"
    )  # what one did is captured before the other goes on
    with ThreadPoolExecutor() as both:
        working = both.submit(one.begin, "CLAUDE-WORKS"), both.submit(two.begin, "CODEX-WORKS")
        sessions = [future.result(240) for future in working]
    assert text.read_text() == of(CLAUDES | CODEXES)
    assert made.read_text() == "claude's\ncodex's\n"
    turns = [f"{name}-{id}/turn:1" for name, id in zip(("claude", "codex"), sessions, strict=True)]
    for turn, others, left in (
        (turns[0], CODEXES, "codex's\n"),
        (turns[1], CLAUDES, "claude's\n"),
    ):
        for words in (("revert", turn), ("rewind", turn, "--files", "--mine")):
            world.cli.ok(*words, "--yes")
            assert text.read_text() == of(others), words
            assert made.read_text() == left, words
            world.cli.ok("undo", "--yes")
            assert text.read_text() == of(CLAUDES | CODEXES)
        shown = world.cli.ok("--json", "show", turn).json["changed"]
        counts = {one["path"]: (one["added"], one["deleted"]) for one in shown}
        assert counts == {"text.txt": (2, 2), "made.txt": (1, 0)}, turn


def of(lines: dict[int, str]) -> str:
    return "".join(f"{lines.get(number, line)}\n" for number, line in enumerate(LINES, 1))


def script(one: claude.Claude, marks: Path) -> Script:
    """By turns: before a tool that may change files runs, what the one before did is captured."""

    def told(mark: str, then: str) -> str:
        """Tells the other one, and waits for its answer, for a minute at most."""
        wait = f"for i in $(seq 600); do [ -e {marks}/{then} ] && break; sleep 0.1; done"
        return f"touch {marks}/{mark}; {wait}"

    read = Tool("Read", {"file_path": f"{one.world.repo}/text.txt"})
    ends = 'sed -i "s/line 5/codex\'s 5/" text.txt && echo "codex\'s" >> made.txt'
    return {
        "CLAUDE-WORKS": [
            Step("Reading.", [read]),
            Step(
                "Editing.",
                [one.edit("text.txt", "line 2", CLAUDES[2]), one.write("made.txt", "claude's\n")],
            ),
            Step("Waiting.", [claude.shell(told("1", "2"))]),
            Step("Reading.", [read]),
            Step("Editing.", [one.edit("text.txt", "line 8", CLAUDES[8])]),
            Step("Waiting.", [claude.shell(told("3", "4"))]),
            Step("Done."),
        ],
        "CODEX-WORKS": [
            Step("", [codex.shell(f"{told('0', '1')}; {ends}")]),
            Step("", [codex.shell(told("2", "3"))]),
            Step("Editing.", [Tool("apply_patch", text=_PATCH)]),
            Step("", [codex.shell(f"touch {marks}/4")]),
            Step("Done."),
        ],
    }
