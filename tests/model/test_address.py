"""Every checkpoint has words that say where it is."""

from __future__ import annotations

import pytest

from takeback.model import turn as kinds
from takeback.model.address import address
from takeback.model.checkpoint import MANUAL, UNDO, Checkpoint
from takeback.model.ids import CheckpointId, SessionId, SnapshotId
from tests.support.engine import NOON

ONE = Checkpoint(
    CheckpointId("k3x9k3x9k3x9"),
    SessionId("claude-2a8f"),
    kinds.PROMPT,
    NOON - 3600,
    SnapshotId("a" * 40),
    b"",
    True,
    1,
    agent="claude",
    turn=3,
)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"prompt": "fix the bug\n and more"}, "before turn 3: fix the bug and more"),
        ({"prompt": "x" * 70}, f"before turn 3: {'x' * 59}…"),
        ({"prompt": None}, "before turn 3"),
        ({"label": "good\x07", "prompt": "p"}, '"good\\x07"'),
        ({"kind": kinds.TURN_END}, "after turn 3, 11:00"),
        ({"kind": kinds.TURN_END, "time": NOON - 86400}, "after turn 3, 2026-11-14 12:00"),
        ({"kind": kinds.ROUND}, "in turn 3, 11:00"),
        ({"kind": kinds.STEER, "prompt": "and\x07that"}, "in turn 3, before: and\\x07that"),
        ({"kind": kinds.SHELL, "turn": 0}, "after a command that followed the first turn, 11:00"),
        ({"kind": kinds.COMPACTION}, "at a compaction in turn 3, 11:00"),
        ({"kind": kinds.BRANCH}, "branch turn 3, 11:00"),
        ({"kind": kinds.SESSION_START}, "when claude started, 11:00"),
        ({"kind": kinds.FORK}, "where a session of claude begins, 11:00"),
        ({"kind": MANUAL, "agent": None, "turn": None}, "made by hand, 11:00"),
        ({"kind": UNDO, "prompt": "before the rewind"}, "before the rewind, 11:00"),
    ],
)
def test_where_a_checkpoint_is(fields: dict[str, object], words: str) -> None:
    assert address(ONE.replace(**fields), NOON) == words


def test_no_kind_is_named_by_its_id_alone() -> None:
    every = (kinds.PROMPT, kinds.STEER, kinds.SHELL, kinds.COMPACTION, kinds.FORK, kinds.BRANCH)
    for kind in (*every, *kinds.FOLDED, MANUAL, UNDO):
        for agent in ("claude", None):
            said = address(ONE.replace(kind=kind, agent=agent, turn=None), NOON)
            assert ONE.id not in said
            assert len(said) > 5
