"""Preview: what a turn changed, and what going to a checkpoint would change now, file by file."""

from __future__ import annotations

from takeback.errors import NoSuchCheckpoint, StoreDamaged
from takeback.git.diff import unified
from takeback.ledger import sessions as questions
from takeback.ledger import steps
from takeback.model.comparison import Between, FileDiff, Portion, Preview, Side
from takeback.model.ids import SnapshotId
from takeback.model.path_text import to_text
from takeback.model.turn import STEER
from takeback.ops.compare import counted
from takeback.ops.counting import lines_between
from takeback.ops.deeds import deeds
from takeback.ops.plan import look
from takeback.store import trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.timeline import Turn
    from takeback.ops.context import Context
    from takeback.ops.request import Request
    from takeback.store.store import Store

LARGEST = 8 << 20
"""The largest file, in bytes, that is compared while somebody waits: git needs 0.3 s for it."""


def states(store: Store, ledger: Ledger, checkpoint: Checkpoint) -> Between:
    """Returns the states before and after a prompt, or before and at a plain checkpoint.

    Of a prompt, its parts are what it caused, and not what others did meanwhile. Raises
    NoSuchCheckpoint, or Expired, if one of them is no longer kept.
    """
    turn = questions.turn_by_id(ledger, checkpoint.id)
    if checkpoint.kind == STEER:
        caused = steps.after_steer(ledger, checkpoint.id)
        last = ledger.by_id(caused[-1]) if caused else None
        steered = questions.turn_of(ledger, checkpoint)
        return _done(store, ledger, steered, (checkpoint, last or checkpoint))
    if turn is None:
        before = ledger.state_before(checkpoint)
        return _between(checkpoint, checkpoint, before)
    first, last = (ledger.by_id(id) for id in (turn.before, turn.after))
    if first is None or last is None:
        raise NoSuchCheckpoint(f"not both ends of the turn of {checkpoint.id} are kept")
    return _done(store, ledger, turn, (first, last))


def _done(
    store: Store, ledger: Ledger, turn: Turn | None, ends: tuple[Checkpoint, Checkpoint]
) -> Between:
    """Returns what a turn did between two of its checkpoints; raises Expired."""
    found = _between(*ends)
    if turn is None:
        return found
    parts = (
        Portion(SnapshotId(one.before.hex()), SnapshotId(one.after.hex()), one.paths)
        for one in deeds(store, ledger, turn, ends)
    )
    return found.replace(parts=tuple(parts))


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
    between = Between.of_trees(looked.tree, bytes.fromhex(goal))
    return Preview(plan, tuple(counted(planned, lines)), between)


def file_diff(context: Context, between: Between, path: bytes) -> FileDiff:
    """Returns one path in both states; raises StoreDamaged if one of them cannot be read."""
    pairs = [(bytes.fromhex(old), bytes.fromhex(new)) for old, new in between.of(path)]
    if not pairs:
        return FileDiff(path, None, None)
    try:
        found = [_side(context.store, root, path) for two in pairs for root in two]
    except StoreDamaged as error:
        raise StoreDamaged(f"{to_text(path)} cannot be compared: {error.message}") from error
    was, now = found[0], found[-1]
    sides = [side for side in found if side is not None]
    if not sides or any(_is_directory(side) for side in sides):
        return FileDiff(path, was, now)
    if any(side.size > LARGEST for side in sides):
        return FileDiff(path, was, now, too_large=True)
    git = context.store.git
    patch = b"".join(unified(git, old, new, paths=(path,)) for old, new in pairs)
    return FileDiff(path, was, now, patch)


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
