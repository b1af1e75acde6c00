"""A checkpoint: a place to go back to."""

from __future__ import annotations

from takeback.model.ids import CheckpointId, SessionId, SnapshotId
from takeback.model.value import Value

MANUAL = "manual"
UNDO = "undo"


class Checkpoint(Value):
    """A snapshot at a moment, with what it was taken for.

    ``commit`` is where the store keeps it; it may change when the store is pruned, so
    nothing outside the store remembers it. ``saved`` is the tree of small ignored files
    kept beside the snapshot, on this machine only.
    """

    id: CheckpointId
    session: SessionId
    kind: str
    time: float
    snapshot: SnapshotId
    commit: bytes
    complete: bool
    files: int
    saved: str | None = None
    prompt: str | None = None
    turn: int | None = None
    label: str | None = None
    branch: str | None = None
    head: str | None = None
    operation: str | None = None
