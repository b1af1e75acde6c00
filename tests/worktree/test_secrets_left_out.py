"""What the settings keep out: no byte of a sensitive file enters the store, whatever happens."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from takeback.context import Context
from takeback.git.objects import BLOB, object_id
from takeback.model import event as events
from takeback.model.coverage import Policy
from takeback.model.event import EDIT, AgentEvent, ToolCall
from takeback.model.operation import Outcome
from takeback.turns.receive import Delivery, receive
from takeback.worktree.rules import LeftOut
from tests.support.engine import captured, carry_out, checkpoint, clock_of, opened, request
from tests.support.git import git

SKIP = Policy(skip_sensitive=True, lock_wait=5)


def go(context: Context, target: object, **fields: object) -> Outcome:
    with context.locked() as locked:
        return carry_out(locked, request(context, target, **fields))  # type: ignore[arg-type]


def left(outcome: Outcome) -> dict[bytes, bool]:
    """Returns what was left alone, and whether by the user's own choice."""
    return {item.path: item.by_rule for item in outcome.left_alone}


def is_stored(context: Context, *contents: str) -> list[str]:
    """Returns those of some contents whose bytes are in the store."""
    store = context.store
    store.reopen_packs()
    return [text for text in contents if store.packs.has(object_id(BLOB, text.encode()))]


def test_skip_needs_no_pattern_and_include_speaks_louder() -> None:
    rule = LeftOut(SKIP.replace(include=("dev/.env",), exclude=("*.iso",)))
    assert rule.reason(b".env") == "sensitive"
    assert rule.reason(b".ssh", directory=True) == "sensitive"
    assert rule.reason(b".env", directory=True) is None, "a virtual environment"
    assert rule.reason(b"dev/.env") is None
    assert rule.reason(b"a.iso") == "excluded"
    assert LeftOut(Policy()).reason(b".env") is None


def test_a_skipped_file_is_named_and_neither_deleted_nor_replaced(workspace: Path) -> None:
    (workspace / "a.txt").write_text("1")
    with opened(workspace, policy=SKIP) as context:
        empty = checkpoint(context)
        (workspace / ".env").write_text("KEY=first")
        (workspace / ".ssh").mkdir()
        (workspace / ".ssh" / "config").write_text("host")
        made = checkpoint(context)
        assert {item.path: item.reason for item in captured(context).coverage.not_held} == {
            b".env": "sensitive",
            b".ssh": "sensitive",
        }
        assert made.complete
        assert made.files == 1
    (workspace / "a.txt").write_text("2")
    with opened(workspace) as context:  # captured from now on, and going back spares it
        kept = checkpoint(context)
        assert left(go(context, made)) == {b".env": True, b".ssh": True}
        assert (workspace / "a.txt").read_text() == "1"
        assert (workspace / ".env").read_text() == "KEY=first"
    (workspace / ".env").write_text("KEY=second")
    with opened(workspace, policy=SKIP) as context:
        assert left(go(context, kept)) == {b".env": True, b".ssh": True}
        assert (workspace / "a.txt").read_text() == "2"
        assert (workspace / ".env").read_text() == "KEY=second"
        assert left(go(context, empty)) == {}
        assert (workspace / ".env").read_text() == "KEY=second"
        assert is_stored(context, "KEY=first", "KEY=second") == ["KEY=first"]


def test_one_that_was_kept_once_and_is_gone_comes_back(workspace: Path) -> None:
    (workspace / ".env").write_text("KEY=first")
    with opened(workspace) as context:
        kept = checkpoint(context)
    (workspace / ".env").unlink()
    with opened(workspace, policy=SKIP) as context:
        done = go(context, kept)
        assert (workspace / ".env").read_text() == "KEY=first"
        assert done.verified
        assert left(done) == {}


def test_no_way_leads_a_secret_into_the_store(workspace: Path) -> None:
    """Ignored, tracked where it is ignored, edited by a tool, in the way of what comes back."""
    (workspace / ".gitignore").write_text("*.pem\nbuild/\n")
    (workspace / "build").mkdir()
    (workspace / "place").write_text("a file")
    with opened(workspace, policy=SKIP) as context:
        then = checkpoint(context)
        (workspace / "build" / ".env").write_text("in build")
        git(workspace, "add", "--force", "build/.env")
        (workspace / "key.pem").write_text("ignored")
        (workspace / "place").unlink()
        (workspace / "place" / "deep").mkdir(parents=True)
        (workspace / "place" / "deep" / "id_rsa").write_text("in the way")
        outside = workspace.parent / ".netrc"
        outside.write_text("outside")
        clock_of(context).time += 1
        paths = (str(workspace / "key.pem"), str(workspace / "build" / ".env"), str(outside))
        event = AgentEvent(
            events.TOOL_BEFORE,
            "mine",
            "s1",
            os.fsdecode(workspace),
            turn="t1",
            tools=(ToolCall("Edit", EDIT, paths),),
        )
        receive(context, event, delivery=Delivery(context.clock.now(), 1))
        checkpoint(context)
        done = go(context, then)
        assert left(done)[b"place"] is False
        assert (workspace / "place" / "deep" / "id_rsa").read_text() == "in the way"
        shutil.rmtree(workspace / "build")
        (workspace / "build").write_text("a file")
        at_file = checkpoint(context)
        (workspace / "build").unlink()
        (workspace / "build").mkdir()
        (workspace / "build" / "credentials").write_text("in an ignored directory")
        assert b"build" in left(go(context, at_file))
        secrets = ("in build", "ignored", "in the way", "outside", "in an ignored directory")
        assert is_stored(context, *secrets) == []
