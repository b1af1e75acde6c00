"""The operation log: words for each line, what undo takes, and going before or after one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from takeback import Takeback
from takeback.model.ids import MachineId, OperationId
from takeback.model.operation import Operation
from takeback.store.records import write_operation
from takeback.store.sink import PackSink
from tests.support.called import called, done
from tests.support.claude_session import NATIVE, play_claude_turn
from tests.support.engine import NOON, opened, under_lock


@pytest.fixture
def tb(workspace: Path) -> Iterator[Takeback]:
    """Four turns, each of which writes its number into ``a``."""
    (workspace / "a").write_text("0\n")
    with Takeback.open(workspace) as opened:
        for number in (1, 2, 3, 4):
            with opened.session(agent="mine", native="s1").turn(f"make it {number}"):
                (workspace / "a").write_text(f"{number}\n")
        yield opened


def lines(workspace: Path) -> list[str]:
    """Returns the operation log as people read it, without ids and ages."""
    found = done(workspace, "log", "--operations").stdout.splitlines()
    return [line[12:].split(maxsplit=1)[1] for line in found]


def ids(workspace: Path) -> list[str]:
    """Returns the ids of the operations, oldest first."""
    found = done(workspace, "--json", "log", "--operations").json_lines
    return [line["id"] for line in reversed(found)]


def rewind(workspace: Path, name: str) -> None:
    done(workspace, "rewind", "--yes", "--files", name)


def test_every_line_has_words_and_the_one_that_undo_takes_is_marked(
    tb: Takeback, workspace: Path, tmp_path: Path
) -> None:
    rewind(workspace, "turn:4")
    rewind(workspace, "turn:3")
    done(workspace, "undo", "--yes")
    done(workspace, "redo", "--yes")
    done(workspace, "undo", "--yes")
    to4, to3 = "to before turn 4: make it 4", "to before turn 3: make it 3"
    assert [line.partition("  1 written")[0] for line in lines(workspace)] == [
        f"undo  of the rewind {to3}",
        f"redo  of the rewind {to3}",
        f"undo  of the rewind {to3}",
        f"rewind  {to3}",
        f"rewind  {to4}",
    ]
    assert [line.endswith("<- undo takes this back") for line in lines(workspace)] == [
        *[False] * 4,
        True,
    ]
    assert lines(workspace)[3].endswith("<- redo does this again")
    marks = [line["next"] for line in done(workspace, "--json", "log", "--operations").json_lines]
    assert marks == [None, None, None, "redo", "undo"]


def test_a_fork_names_its_directory(workspace: Path, tmp_path: Path) -> None:
    transcript = tmp_path / "home" / ".claude" / "projects" / "p" / f"{NATIVE}.jsonl"
    play_claude_turn(workspace, transcript, "ruin it all", workspace / "a")
    done(workspace, "fork", "turn:1", "--worktree", str(tmp_path / "race"))
    tree = done(workspace, "tree").stdout
    assert f"fork in {tmp_path / 'race'} as claude-" in tree, tree
    [root] = done(workspace, "--json", "tree").json["sessions"]
    [fork] = root["children"][0]["elsewhere"]
    assert fork["directory"] == str(tmp_path / "race")
    [line] = lines(workspace)
    assert line.startswith(f"fork  from before turn 1: ruin it all, into {tmp_path / 'race'}  "), (
        line
    )


def test_going_before_and_after_an_operation(tb: Takeback, workspace: Path) -> None:
    rewind(workspace, "turn:3")
    (workspace / "a").write_text("mine\n")
    rewind(workspace, "turn:2")
    (workspace / "a").write_text("mine again\n")
    first, second = ids(workspace)
    for name, text in (
        (f"{second}.before", "mine\n"),
        (f"{first}.before", "4\n"),
        (f"{second}.after", "1\n"),
        (f"{first[:6]}.after", "2\n"),
    ):
        rewind(workspace, name)
        assert (workspace / "a").read_text() == text, name
        assert done(workspace, "cat", name, "a").stdout == text
    done(workspace, "undo", "--yes")
    assert (workspace / "a").read_text() == "1\n"


def test_the_state_after_an_operation_of_some_paths_is_found_or_said_to_be_gone(
    tb: Takeback, workspace: Path
) -> None:
    (workspace / "b").write_text("b\n")
    done(workspace, "rewind", "--yes", "turn:2", "--", "a")
    (workspace / "b").write_text("later\n")
    [first] = ids(workspace)
    error = called(workspace, "--json", "show", f"{first}.after").error
    assert error["exit"] == 12
    assert f"{first}.before" in error["hint"]


@pytest.mark.parametrize("suffix", ["", ".befor"])
def test_an_operation_is_no_checkpoint(tb: Takeback, workspace: Path, suffix: str) -> None:
    rewind(workspace, "turn:3")
    [one] = ids(workspace)
    error = called(workspace, "--json", "show", one + suffix).error
    assert error["exit"] == 12
    assert f"{one}.before" in error["hint"], error


def test_undo_of_a_named_operation_takes_back_all_that_came_after_it(
    tb: Takeback, workspace: Path
) -> None:
    rewind(workspace, "turn:4")
    (workspace / "a").write_text("mine\n")
    rewind(workspace, "turn:3")
    rewind(workspace, "turn:2")
    _, second, third = ids(workspace)
    plan = done(workspace, "undo", second, "--dry-run").stdout
    assert plan.startswith("Plan: ")
    assert "before the rewind to before turn 3" in plan
    text = done(workspace, "undo", second, "--yes").stdout
    assert (workspace / "a").read_text() == "mine\n"
    assert "Take it back: takeback undo" in text
    done(workspace, "undo", "--yes")
    assert (workspace / "a").read_text() == "1\n"
    done(workspace, "undo", third[:5], "--yes")
    assert (workspace / "a").read_text() == "2\n"
    newest = done(workspace, "--json", "log", "--operations").json_lines[0]
    assert (newest["kind"], newest["of"]) == ("undo", third)


def test_undo_of_what_is_no_operation(tb: Takeback, workspace: Path) -> None:
    rewind(workspace, "turn:4")
    for name in ("nonsense", "", "turn:3"):
        error = called(workspace, "--json", "undo", name, "--yes").error
        assert error["exit"] == 12, name
        assert "takeback log --operations" in error["hint"], name
    assert (workspace / "a").read_text() == "3\n"


def test_an_operation_of_a_newer_takeback_is_shown_and_left_alone(
    tb: Takeback, workspace: Path
) -> None:
    rewind(workspace, "turn:4")
    with opened(workspace) as context:
        kind = cast("Any", "pr\x1b[31mune")
        newer = Operation(OperationId("newer2345678"), kind, NOON, 0, MachineId(""))
        under_lock(context, lambda it: write_operation(PackSink(it.lock), newer))
    assert [line.split("  ")[0] for line in lines(workspace)] == ["pr\\x1b[31mune", "rewind"]
    assert "by a newer takeback" in lines(workspace)[0]
    first, second = done(workspace, "--json", "log", "--operations").json_lines
    assert set(first) == {"type", "v", "id", "kind", "time", "next", "machine", "here"}
    assert (first["id"], second["next"]) == (newer.id, "undo")
    for words in ("log", "sessions", "tree", "status", "verify", "doctor", "log --session mine"):
        done(workspace, *words.split())
    done(workspace, "log", "--operations", "--session", "mine")
    for name in (f"{newer.id}.before", f"{newer.id}.after"):
        refused = called(workspace, "show", name)
        assert refused.status == 12
        assert "is known to a newer takeback" in refused.stderr
    assert called(workspace, "undo", "--yes", newer.id).status == 12
    done(workspace, "undo", "--yes")
    assert (workspace / "a").read_text() == "4\n"
    with tb.session(agent="mine", native="s1").turn("go on"):
        (workspace / "a").write_text("5\n")
    assert done(workspace, "--json", "log", "-n", "1").json_lines[0]["prompt"] == "go on"
