"""Preview: what a turn changed, and what going to a checkpoint would change now, file by file."""

from __future__ import annotations

from takeback.errors import NoSuchCheckpoint, StoreDamaged
from takeback.git.diff import unified
from takeback.ledger import sessions as questions
from takeback.ledger import steps
from takeback.model.comparison import Between, FileDiff, Preview, Side
from takeback.model.ids import SnapshotId
from takeback.model.path_text import to_text
from takeback.model.turn import STEER
from takeback.ops.compare import counted
from takeback.ops.counting import lines_between
from takeback.ops.plan import look
from takeback.store import trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.ops.context import Context
    from takeback.ops.request import Request
    from takeback.store.store import Store

LARGEST = 8 << 20
"""The largest file, in bytes, that is compared while somebody waits: git needs 0.3 s for it."""


def states(ledger: Ledger, checkpoint: Checkpoint) -> Between:
    """Returns the states before and after a prompt, or before and at a plain checkpoint.

    Raises NoSuchCheckpoint, or Expired, if one of them is no longer kept.
    """
    turn = questions.turn_by_id(ledger, checkpoint.id)
    if checkpoint.kind == STEER:
        caused = steps.after_steer(ledger, checkpoint.id)
        last = ledger.by_id(caused[-1]) if caused else None
        return _between(checkpoint, last or checkpoint)
    if turn is None:
        before = ledger.state_before(checkpoint)
        return _between(checkpoint, checkpoint, before)
    ends = [ledger.by_id(turn.before), ledger.by_id(turn.after)]
    if ends[0] is None or ends[1] is None:
        raise NoSuchCheckpoint(f"not both ends of the turn of {checkpoint.id} are kept")
    return _between(ends[0], ends[1])


def _between(old: Checkpoint, new: Checkpoint, state: SnapshotId | None = None) -> Between:
    """Returns two states, the older one ``state`` if it is given; raises Expired."""
    was = SnapshotId(old.tree.hex()) if state is None else state
    return Between(was, SnapshotId(new.tree.hex()))


def preview(context: Context, request: Request) -> Preview:
    """Works out a plan with all its lines counted, and the states that it leads from and to."""
    looked = look(context, request)
    plan, goal = looked.plan, request.goal.tree
    lines = lines_between(context.store, looked.tree, bytes.fromhex(goal))
    planned = sorted((*plan.writes, *plan.deletes), key=lambda change: change.path)
    between = Between(SnapshotId(looked.tree.hex()), goal)
    return Preview(plan, tuple(counted(planned, lines)), between)


def file_diff(context: Context, between: Between, path: bytes) -> FileDiff:
    """Returns one path in both states; raises StoreDamaged if one of them cannot be read."""
    old, new = bytes.fromhex(between.old), bytes.fromhex(between.new)
    try:
        was, now = _side(context.store, old, path), _side(context.store, new, path)
    except StoreDamaged as error:
        raise StoreDamaged(f"{to_text(path)} cannot be compared: {error.message}") from error
    sides = [side for side in (was, now) if side is not None]
    if not sides or any(_is_directory(side) for side in sides):
        return FileDiff(path, was, now)
    if any(side.size > LARGEST for side in sides):
        return FileDiff(path, was, now, too_large=True)
    return FileDiff(path, was, now, unified(context.store.git, old, new, paths=(path,)))


def _side(store: Store, root: bytes, path: bytes) -> Side | None:
    entry = trees.lookup(store, root, path)
    if entry is None or entry.is_directory:
        return None if entry is None else Side(entry.mode, 0)
    size = store.packs.size_of(entry.oid)
    # git does not check the hash of what it reads from a pack: so only what we read is shown
    data = store.blob(entry.oid) if size <= LARGEST else b""
    return Side(entry.mode, size, data if entry.is_link else None)


def _is_directory(side: Side) -> bool:
    from takeback.model.snapshot import Entry

    return Entry(side.mode, b"").is_directory
