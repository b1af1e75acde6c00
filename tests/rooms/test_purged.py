"""What was purged is held by no capture, saved by no operation, and touched by none."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback.context import Context
from takeback.git.objects import BLOB, object_id
from takeback.model import event as events
from takeback.model.coverage import PURGED, NotHeld, Overrides
from takeback.model.event import EDIT, AgentEvent, ToolCall
from takeback.model.secret import Needles
from takeback.rewind.plan import plan
from takeback.store import tombstones
from takeback.store.conversation import read_conversation
from takeback.store.records import conversation_tree, read_coverage, read_record
from takeback.turns.receive import Delivery, receive
from tests.support.engine import carry_out, checkpoint, request, settle, under_lock

SECRET = b"TOKEN=hunter2-hunter2\n"


@pytest.fixture
def root(workspace: Path, context: Context) -> Path:
    """A workspace in which the path ``env`` and the content ``SECRET`` were purged."""
    stones = tombstones.loaded_or_none_yet(context.store)
    stones = stones.of_paths(b"env", b"d/env").of_contents(object_id(BLOB, SECRET))
    stones = stones.of_passages(b'{"text":"it is hunter2-hunter2"}', Needles.of([SECRET]))
    with context.store.locked("a test", wait=1) as locked:
        tombstones.stage(locked, stones)
        tombstones.set_up(locked)
    (workspace / "plain").write_text("1")
    return workspace


def gaps(context: Context) -> tuple[NotHeld, ...]:
    made = checkpoint(context)
    assert made.complete
    return read_coverage(context.store, made.commit).not_held


def test_its_path_and_its_content_are_not_held_and_named_as_purged(
    root: Path, context: Context
) -> None:
    (root / "env").write_text("changed since")
    (root / "copy").write_bytes(SECRET)
    (root / "link").symlink_to(b"elsewhere")
    assert gaps(context) == (NotHeld(b"copy", PURGED), NotHeld(b"env", PURGED))
    assert not context.store.packs.has(object_id(BLOB, SECRET))


def test_another_content_in_the_place_of_a_copy_is_held(root: Path, context: Context) -> None:
    (root / "copy").write_bytes(SECRET)
    assert gaps(context) == (NotHeld(b"copy", PURGED),)
    settle()
    (root / "copy").write_bytes(b"nothing to hide here\n")
    assert gaps(context) == ()


def test_a_directory_in_its_place_is_held(root: Path, context: Context) -> None:
    (root / "env").mkdir()
    (root / "env" / "readme").write_text("r")
    assert gaps(context) == ()


def test_a_rewind_to_before_it_leaves_it_alone_and_says_so(root: Path, context: Context) -> None:
    before = checkpoint(context)
    (root / "d").mkdir()
    (root / "d" / "env").write_bytes(b"mine")
    (root / "plain").write_text("2")
    checkpoint(context)
    done = under_lock(context, lambda locked: carry_out(locked, request(context, before)))
    assert (root / "d" / "env").read_bytes() == b"mine"
    assert (root / "plain").read_text() == "1"
    said = {item.path: item for item in done.left_alone}
    assert PURGED in said[b"d/env"].reason
    assert said[b"d/env"].by_rule


def test_a_directory_with_it_never_makes_way(root: Path, context: Context) -> None:
    (root / "d").write_text("was a file")
    before = checkpoint(context)
    (root / "d").unlink()
    (root / "d").mkdir()
    (root / "d" / "env").write_bytes(b"mine")
    wanted = request(context, before, overrides=Overrides.all())
    done = under_lock(context, lambda locked: carry_out(locked, wanted))
    assert (root / "d" / "env").read_bytes() == b"mine"
    assert b"d" in {item.path for item in done.left_alone}


def test_a_tool_that_edits_it_saves_nothing(root: Path, context: Context) -> None:
    (root / "env").write_bytes(b"mine-mine-mine")
    tool = ToolCall("Edit", EDIT, (str(root / "env"),))
    event = AgentEvent(events.TOOL_BEFORE, "mine", "s1", str(root), turn="t1", tools=(tool,))
    receive(context, event, delivery=Delivery(0.0, 1))
    assert not context.store.packs.has(object_id(BLOB, b"mine-mine-mine"))


def test_a_transcript_is_blanked_when_it_is_read_again(root: Path, context: Context) -> None:
    said = b'[{"text":"hello"},{"text":"it is hunter2-hunter2"}]'
    event = AgentEvent(events.PROMPT, "mine", "s1", str(root), turn="t1", messages=said)
    made = receive(context, event.replace(prompt="x"), delivery=Delivery(0.0, 1)).checkpoint
    assert made is not None
    tree = conversation_tree(read_record(context.store, made.commit))
    assert tree is not None
    [kept] = read_conversation(context.store, tree)
    assert kept == said.replace(b"hunter2-hunter2", b"*" * 15)


def test_a_copy_of_it_in_the_way_is_left_alone_as_the_plan_says(
    root: Path, context: Context
) -> None:
    (root / "copy").write_text("was another file")
    before = checkpoint(context)
    (root / "copy").write_bytes(SECRET)
    wanted = request(context, before, overrides=Overrides.all())
    planned = {item.path: item.reason for item in plan(context, wanted).left_alone}
    done = under_lock(context, lambda locked: carry_out(locked, wanted))
    assert {item.path: item.reason for item in done.left_alone} == planned
    assert planned == {b"copy": "in the way, and its content cannot be saved"}
    assert (root / "copy").read_bytes() == SECRET
