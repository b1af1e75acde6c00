"""Only what will be touched can refuse."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.errors import Refused
from takeback.model.coverage import Overrides
from takeback.model.event import EDIT, ToolCall
from takeback.model.operation import Plan
from takeback.words.changes import used_lines
from takeback.words.plans import plan_lines
from takeback.words.text import Paint
from tests.support.git import git


@pytest.fixture
def tb(workspace: Path) -> Iterator[Takeback]:
    (workspace / "a.txt").write_text("0\n")
    git(workspace, "add", ".")
    git(workspace, "commit", "--quiet", "--message=first")
    with Takeback.open(workspace) as opened:
        yield opened


def play(tb: Takeback, workspace: Path, native: str, *files: str, turns: int = 2) -> str:
    """Plays turns of a session of ``mine`` that write files; returns its name."""
    session = tb.session(agent="mine", native=native)
    for number in range(1, turns + 1):
        with session.turn(f"turn {number}", conversation=f"{number}\n".encode()):
            for name in files:
                (workspace / name).parent.mkdir(parents=True, exist_ok=True)
                (workspace / name).write_text(f"{native} {number}\n")
    return session.id


def codes(plan: Plan) -> list[str]:
    return [refusal.code for refusal in plan.refused]


def test_a_conversation_asks_nothing_about_files_branches_and_other_agents(
    tb: Takeback, workspace: Path, tmp_path: Path
) -> None:
    mine = play(tb, workspace, "s", "a.txt")
    play(tb, workspace, "other", "a.txt")
    git(workspace, "checkout", "--quiet", "-b", "elsewhere")
    (workspace / ".git" / "MERGE_HEAD").write_text("0" * 40 + "\n")
    with tb.session(agent="mine", native="busy").turn("at work"):
        (workspace / "b.txt").write_text("busy\n")
        files = tb.plan(f"{mine}/turn:2", scope="files")
        assert set(codes(files)) == {"during_turn", "others", "during_git", "other_branch"}
        plan = tb.plan(f"{mine}/turn:2", scope="conversation")
        assert (plan.refused, plan.warnings) == ((), ())
        assert tb.rewind(f"{mine}/turn:2", scope="conversation").operation
        assert tb.plan_fork(f"{mine}/turn:2", files=False).refused == ()
        assert tb.fork(f"{mine}/turn:2").session
        new = str(tmp_path / "beside")
        assert tb.plan_fork(f"{mine}/turn:2", worktree=new).refused == ()
        assert tb.fork(f"{mine}/turn:2", worktree=new).directory == new
        assert tb.plan_undo().refused == ()
        assert tb.undo().session == mine


def test_a_conversation_whose_own_turn_runs_is_not_moved(tb: Takeback, workspace: Path) -> None:
    mine = play(tb, workspace, "s", "a.txt")
    with tb.session(agent="mine", native="s").turn("at work"):
        assert codes(tb.plan(f"{mine}/turn:2", scope="conversation")) == ["during_turn"]


def test_a_rewind_is_refused_while_a_turns_background_tasks_run(
    tb: Takeback, workspace: Path
) -> None:
    session = tb.session(agent="mine", native="s")
    with session.turn("start the server") as turn:
        (workspace / "a.txt").write_text("1\n")
        session.tell("turn_end", turn=turn.id, background=True)
        [refusal] = tb.plan(turn.before).refused
        assert (refusal.code, refusal.waivers) == ("during_turn", ("during_turn",))
        assert "background" in refusal.message
        [running] = tb.status().running
        assert running.background
        with pytest.raises(Refused, match="background"):
            tb.rewind(turn.before)
        tb.rewind(turn.before, overrides=Overrides(during_turn=True))
    assert (workspace / "a.txt").read_text() == "0\n"


def test_kept_files_keep_their_directories_and_no_empty_ones_are_made(
    tb: Takeback, workspace: Path
) -> None:
    for name in ("src/api/a", "docs/b", "tests/c"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("then\n")
    mine = play(tb, workspace, "s", "a.txt")
    with tb.session(agent="mine", native="other").turn("tidy up"):
        for name in ("src/api/a", "docs/b", "tests/c"):
            (workspace / name).unlink()
        for name in ("src/api", "src", "docs", "tests"):
            (workspace / name).rmdir()
        (workspace / "build" / "deep").mkdir(parents=True)
        (workspace / "build" / "deep" / "out").write_text("theirs\n")
    keep = Overrides(keep_others=True)
    plan = tb.plan(f"{mine}/turn:2", scope="files", overrides=keep)
    assert [change.path for change in plan.writes] == [b"a.txt"]
    assert plan.deletes == ()
    done = tb.rewind(f"{mine}/turn:2", scope="files", overrides=keep)
    assert done.whole
    assert sorted(p.name for p in workspace.iterdir()) == [".git", "a.txt", "build"]
    assert (workspace / "build" / "deep" / "out").exists()


def test_files_outside_the_workspace_that_a_tool_changed_are_named(
    tb: Takeback, workspace: Path, tmp_path: Path
) -> None:
    outside, alias = tmp_path / "profile", tmp_path / "alias"
    outside.write_text("theirs\n")
    alias.symlink_to(workspace)
    session = tb.session(agent="mine", native="s")
    with session.turn("turn 1") as first:
        (workspace / "a.txt").write_text("1\n")
    with session.turn("turn 2") as second:
        named = ("a.txt", str(outside), "../beside", str(alias / "a.txt"), str(workspace / "a.txt"))
        call = ToolCall("edit", EDIT, named)
        session.tell("tool_before", turn=second.id, tools=(call,))
        outside.write_text("changed\n")
        second.round([call, ToolCall("read", "read", ("/etc/hosts",))])
    expected = tuple(sorted(os.fsencode(tmp_path / name) for name in ("profile", "beside")))
    assert tb.show(second.before).beyond == expected
    assert any(str(outside) in line for line in used_lines(tb.show(second.before)))
    assert tb.show(first.before).beyond == ()
    plan = tb.plan(first.before, scope="files")
    assert plan.beyond == expected
    assert tb.plan(second.after, scope="files").beyond == ()
    assert tb.plan(first.before, scope="conversation").beyond == ()
    assert tb.plan(first.before, [str(workspace / "a.txt")]).beyond == ()
    lines = list(plan_lines(plan, Paint(on=False), whole=False))
    at = lines.index("changed by edit tools outside the workspace, and not taken back:")
    assert lines[at + 1 : at + 3] == [f"  {path.decode()}" for path in expected]
    assert tb.cat(first.before, str(outside)) == b"theirs\n"
