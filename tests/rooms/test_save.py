"""Files that no snapshot holds are kept before an edit tool touches them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from takeback.capture.capture import saved_since
from takeback.context import Context
from takeback.errors import NoSuchCheckpoint
from takeback.ledger.follow import open_ledger
from takeback.model import event as events
from takeback.model.checkpoint import Checkpoint
from takeback.model.coverage import Overrides, Policy
from takeback.model.event import EDIT, READ, SHELL, AgentEvent, ToolCall
from takeback.model.operation import Outcome
from takeback.rewind.refuse import facts
from takeback.timeline.look import cat, cat_outside
from takeback.turns.receive import Delivery, receive
from tests.support.engine import carry_out, clock_of, heard_by, opened, packs_of, refs_of, request
from tests.support.git import git


@pytest.fixture
def root(workspace: Path) -> Path:
    """A workspace with a tracked file, and one in a directory that git ignores."""
    (workspace / ".gitignore").write_text("build/\n*.env\n")
    (workspace / "held").write_text("held\n")
    (workspace / "build" / "deep").mkdir(parents=True)
    (workspace / "build" / "deep" / "out").write_bytes(b"before\n")
    return workspace


def tell(context: Context, kind: Any, *tools: ToolCall, **fields: str) -> Checkpoint | None:
    """Tells one event of the session, a second after the last."""
    clock_of(context).time += 1
    directory = os.fsdecode(context.workspace.root)
    event = AgentEvent(kind, "mine", "s1", directory, turn="t1", tools=tools)
    return receive(
        context, event.replace(**fields), delivery=Delivery(context.clock.now(), 1)
    ).checkpoint


def prompt(context: Context) -> Checkpoint:
    made = tell(context, events.PROMPT, prompt="do it")
    assert made is not None
    return made


def before_edit(context: Context, *paths: str | Path, name: str = "Edit") -> None:
    tell(context, events.TOOL_BEFORE, ToolCall(name, EDIT, tuple(str(path) for path in paths)))


def go_back(context: Context, target: Checkpoint) -> Outcome:
    """Rewinds as the command does, with what the ledger knows."""
    ledger = open_ledger(context.store, context.reporter)
    known = facts(context, ledger, target, is_over=lambda newest: False)
    ledger.close()
    with context.locked() as locked:
        return carry_out(locked, request(context, target, overrides=Overrides.all(), facts=known))


def test_an_ignored_file_in_an_ignored_directory_is_kept(root: Path, context: Context) -> None:
    before = prompt(context)
    with pytest.raises(NoSuchCheckpoint, match="does not hold build/deep/out"):
        cat(context, before, b"build/deep/out")
    before_edit(context, "build/deep/out")
    (root / "build" / "deep" / "out").write_bytes(b"after\n")
    assert set(saved_since(context.store, before).inside) == {b"build/deep/out"}
    assert saved_since(context.store, before).outside == {}
    assert cat(context, before, b"build/deep/out") == b"before\n"


def test_a_file_outside_is_kept_too(root: Path, context: Context, tmp_path: Path) -> None:
    outside = tmp_path / "home" / ".bashrc"
    outside.write_bytes(b"mine\n")
    before = prompt(context)
    before_edit(context, outside)
    outside.write_bytes(b"the agent's\n")
    assert saved_since(context.store, before).inside == {}
    assert cat_outside(context, before, os.fsencode(outside)) == b"mine\n"
    with pytest.raises(NoSuchCheckpoint, match="no tool changed /elsewhere"):
        cat_outside(context, before, b"/elsewhere")


def test_what_the_snapshot_holds_needs_nothing(root: Path, context: Context) -> None:
    prompt(context)
    packs, tip = (
        packs_of(context.store),
        context.store.refs.read(refs_of(context.store, "mine-s1")[1]),
    )
    before_edit(context, "held")
    before_edit(context, root / "held")
    assert (
        packs_of(context.store),
        context.store.refs.read(refs_of(context.store, "mine-s1")[1]),
    ) == (packs, tip)


@pytest.mark.parametrize(
    "tool",
    [
        ToolCall("Read", READ, ("build/deep/out",)),
        ToolCall("Bash", SHELL, ("build/deep/out",)),
        ToolCall("Edit", EDIT),
        ToolCall("Edit", EDIT, ("build/deep/new", "/no/such/place", "build/deep", "")),
        ToolCall("Edit", EDIT, ("build/fifo",)),
    ],
    ids=lambda tool: f"{tool.name} {tool.paths}",
)
def test_other_tools_and_what_is_no_file_need_nothing(
    root: Path, context: Context, tool: ToolCall
) -> None:
    os.mkfifo(root / "build" / "fifo")
    before = prompt(context)
    tip = context.store.refs.read(refs_of(context.store, "mine-s1")[1])
    tell(context, events.TOOL_BEFORE, tool)
    assert context.store.refs.read(refs_of(context.store, "mine-s1")[1]) == tip
    assert saved_since(context.store, before).inside == {}


def test_a_file_above_the_size_limit_is_not_kept_and_stops_nothing(root: Path) -> None:
    with opened(root, policy=Policy(size_limit=100)) as context:
        (root / "build" / "big").write_bytes(b"x" * 200)
        before = prompt(context)
        before_edit(context, "build/big", "build/deep/out")
        assert set(saved_since(context.store, before).inside) == {b"build/deep/out"}


def test_no_scan_is_made(root: Path, context: Context) -> None:
    prompt(context)
    steps = len(heard_by(context).steps)
    (root / "held").write_text("changed\n")
    before_edit(context, "build/deep/out")
    assert len(heard_by(context).steps) == steps
    ledger = open_ledger(context.store, context.reporter)
    assert [found.kind for found in ledger.checkpoints()] == ["prompt"]
    ledger.close()


def test_the_oldest_bytes_since_a_checkpoint_count(root: Path, context: Context) -> None:
    out = root / "build" / "deep" / "out"
    first = prompt(context)
    for number in range(3):
        before_edit(context, "build/deep/out")
        out.write_bytes(b"edit %d\n" % number)
    tell(context, events.TURN_END)
    second = tell(context, events.PROMPT, prompt="again", turn="t2")
    assert second is not None
    before_edit(context, out)
    out.write_bytes(b"last\n")
    assert cat(context, first, b"build/deep/out") == b"before\n"
    assert cat(context, second, b"build/deep/out") == b"edit 2\n"


def test_a_directory_and_a_relative_path_are_those_of_the_event(
    root: Path, context: Context
) -> None:
    before = prompt(context)
    tool = ToolCall("Edit", EDIT, ("out", "../../held"))
    tell(context, events.TOOL_BEFORE, tool, directory=str(root / "build" / "deep"))
    assert set(saved_since(context.store, before).inside) == {b"build/deep/out"}


def test_another_session_s_files_are_not_this_one_s(root: Path, context: Context) -> None:
    mine = prompt(context)
    other = tell(context, events.PROMPT, prompt="theirs", session="s2")
    assert other is not None
    before_edit(context, "build/deep/out")
    assert saved_since(context.store, other).inside == {}
    assert set(saved_since(context.store, mine).inside) == {b"build/deep/out"}


def test_a_rewind_brings_the_ignored_file_back_and_never_writes_the_one_outside(
    root: Path, context: Context, tmp_path: Path
) -> None:
    out, outside = root / "build" / "deep" / "out", tmp_path / "home" / ".bashrc"
    outside.write_bytes(b"mine\n")
    out.chmod(0o640)
    before = prompt(context)
    before_edit(context, out, outside)
    out.write_bytes(b"after\n")
    outside.write_bytes(b"the agent's\n")
    (root / "held").write_text("changed\n")
    tell(context, events.TURN_END)
    done = go_back(context, before)
    assert set(done.written) == {b"held", b"build/deep/out"}
    assert (out.read_bytes(), out.stat().st_mode & 0o777) == (b"before\n", 0o640)
    assert outside.read_bytes() == b"the agent's\n"


def test_a_file_that_the_tool_deleted_comes_back(root: Path, context: Context) -> None:
    before = prompt(context)
    before_edit(context, "build/deep/out", name="Delete")
    (root / "build" / "deep" / "out").unlink()
    tell(context, events.TURN_END)
    go_back(context, before)
    assert (root / "build" / "deep" / "out").read_bytes() == b"before\n"


@pytest.mark.parametrize("repository", [".", "build/vendored"])
def test_nothing_of_a_repository_s_own_is_ever_written_back(
    root: Path, context: Context, repository: str
) -> None:
    """A tool may edit .git; takeback never writes there."""
    where = root / repository
    where.mkdir(exist_ok=True)
    git(where, "init", "--quiet")
    before = prompt(context)
    before_edit(context, where / ".git" / "config")
    git(where, "config", "user.name", "somebody")
    changed = (where / ".git" / "config").read_bytes()
    (root / "held").write_text("changed\n")
    tell(context, events.TURN_END)
    go_back(context, before)
    assert (where / ".git" / "config").read_bytes() == changed
    assert (root / "held").read_text() == "held\n"


def test_a_link_is_kept_as_a_link(root: Path, context: Context, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("never read")
    (root / "build" / "link").symlink_to(tmp_path / "secret")
    before = prompt(context)
    before_edit(context, "build/link")
    assert cat(context, before, b"build/link") == os.fsencode(tmp_path / "secret")
