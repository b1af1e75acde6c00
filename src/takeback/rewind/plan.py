"""A plan: what is asked for, in which scope, and the list of changes that it would make."""

from __future__ import annotations

from takeback.capture.capture import capture
from takeback.context import Translated
from takeback.errors import NoSuchCheckpoint, StoreDamaged
from takeback.git.diff import unified
from takeback.ledger import by_session as questions
from takeback.ledger import lists
from takeback.ledger.attribute import counted, lines_between
from takeback.merge.deeds import deeds
from takeback.model.ids import SnapshotId
from takeback.model.operation import (
    Between,
    FileDiff,
    Plan,
    Portion,
    Preview,
    Side,
)
from takeback.model.path_text import to_text
from takeback.model.turn import STEER
from takeback.model.value import Value
from takeback.rewind.prepare import prepare
from takeback.rewind.refuse import others, refusals, until_now, warnings
from takeback.rewind.request import (
    Request,
)
from takeback.store import trees
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from takeback.capture.capture import Captured
    from takeback.context import Context
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.entries import Turn
    from takeback.rewind.prepare import Prepared
    from takeback.store.store import Store

    Kept = Literal["nothing", "edits", "all others", "picked"]
    Asked = Callable[[Captured], "Request"]

# -- plan: the list of changes that a rewind would make, shown before it is carried out


_MANY = 1000
"""With more files than this in a plan, nobody reads the numbers of each."""
_PATIENCE = 1.0


class Look(Value):
    """A plan, and the state of the files that it was made for."""

    plan: Plan
    tree: bytes


def plan(context: Context, request: Request | Asked) -> Plan:
    """Works out a plan without changing anything; the lock is released when it returns."""
    return _counted(context, look(context, request))


def look(context: Context, request: Request | Asked) -> Look:
    """Captures the files and works out what a request would change; no lines are counted.

    What is asked for may depend on the files as they are, and is then made from them.
    """
    with context.locked() as locked:
        captured = capture(locked)
        captured.keep()
        with Translated("the plan"):
            if callable(request):
                request = request(captured)
            request = request.replace(facts=until_now(context, captured, request.facts))
            changes = prepare(context, captured, request, save=False)
            return Look(describe(context, captured, request, changes), captured.tree)


def describe(context: Context, captured: Captured, request: Request, changes: Prepared) -> Plan:
    """Puts the decided changes into the form that people and programs read."""
    scope, facts = request.scope, request.facts
    unnamed = (
        f"{to_text(path)} was not named, but is in the way: it becomes a directory; "
        "undo brings it back"
        for path in changes.unnamed
    )
    return Plan(
        goal=request.goal,
        writes=tuple(sorted(changes.writes, key=lambda c: c.path)),
        deletes=tuple(sorted(changes.deletes, key=lambda c: c.path)),
        left_alone=changes.left_alone,
        outside=tuple(sorted(changes.paths & facts.own)),
        others=others(changes, facts),
        warnings=tuple(shown(line) for line in (*unnamed, *warnings(context, request))),
        refused=refusals(context, captured, request, changes),
        saved=tuple(sorted(changes.extra)),
        paths=scope.paths,
        ignored=scope.ignored,
        scope=request.moves,
        turns=tuple(turn for turn, paths in facts.turns if paths & changes.paths),
        beyond=facts.beyond if scope.files and not scope.paths else (),
        kind=request.kind,
        conflicts=request.conflicts,
        edits=request.edits,
    )


def _counted(context: Context, looked: Look) -> Plan:
    """Adds how many lines each file gains and loses, if that is quick."""
    from takeback.git.diff import BINARY
    from takeback.ledger.attribute import Limits, lines_between

    made = looked.plan
    planned = {change.path for change in (*made.writes, *made.deletes)}
    if not planned or len(planned) > _MANY:
        return made
    then = bytes.fromhex(made.goal.tree)
    lines = lines_between(context.store, looked.tree, then, limits=Limits(patience=_PATIENCE))
    known = {path: n for path, n in lines.items() if path in planned and n != BINARY}
    return made.replace(lines=known)


# -- preview: what a turn changed, and what going to a checkpoint would change now, file by file


LARGEST = 8 << 20
"""The largest file, in bytes, that is compared while somebody waits: git needs 0.3 s for it."""


def states(store: Store, ledger: Ledger, checkpoint: Checkpoint) -> Between:
    """Returns the states before and after a prompt, or before and at a plain checkpoint.

    Of a prompt, its parts are what it caused, and not what others did meanwhile. Raises
    NoSuchCheckpoint, or Expired, if one of them is no longer kept.
    """
    turn = questions.turn_by_id(ledger, checkpoint.id)
    if checkpoint.kind == STEER:
        caused = lists.after_steer(ledger, checkpoint.id)
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
    from takeback.model.checkpoint import Entry

    return Entry(side.mode, b"").is_directory
