"""Branches: two ways that began at the same place, side by side.

        ╭── turn 2 ── turn 3      a: what changed from the origin to here
origin ─┤
        ╰── turn 2'               b: what changed from the origin to here
"""

from __future__ import annotations

from takeback.errors import Command, NoSuchCheckpoint
from takeback.ledger import sessions as questions
from takeback.model.checkpoint import UNDO
from takeback.model.operation import moves
from takeback.model.value import Value
from takeback.ops.compare import counted_changes
from takeback.store.held import Held
from takeback.store.operations import known_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ledger.ledger import Ledger
    from takeback.model.change import CountedChange
    from takeback.model.checkpoint import Checkpoint
    from takeback.store.store import Store


class BranchEnd(Value):
    """Where a branch has got to: its files, and the last checkpoint here that belongs to it."""

    name: str
    tree: bytes
    point: Checkpoint


class BranchPath(Value):
    """A path that at least one of two branches changed; ``same`` if both made the same of it."""

    path: bytes
    a: CountedChange | None
    b: CountedChange | None
    same: bool


class Branches(Value):
    """Two branches, the place where they parted, and what each changed since."""

    origin: Checkpoint
    a: BranchEnd
    b: BranchEnd
    paths: tuple[BranchPath, ...]


def side_by_side(store: Store, ledger: Ledger, a: BranchEnd, b: BranchEnd) -> Branches:
    """Compares two branches with their origin; raises Expired if its files are gone."""
    origin = parted(ledger, a.point, b.point)
    by_a, by_b = (
        {change.path: change for change in counted_changes(store, origin.tree, end.tree)}
        for end in (a, b)
    )
    held_a, held_b = Held(store, a.tree), Held(store, b.tree)
    return Branches(
        origin,
        a,
        b,
        tuple(
            BranchPath(path, by_a.get(path), by_b.get(path), held_a[path] == held_b[path])
            for path in sorted(by_a.keys() | by_b.keys())
        ),
    )


def parted(ledger: Ledger, a: Checkpoint, b: Checkpoint) -> Checkpoint:
    """Returns where two lines part: the newest checkpoint that is on both.

    Of two sessions that have nothing to do with each other, it is where the older one began.
    """
    first, second = _line(ledger, a), _line(ledger, b)
    for session, point in second.items():
        if session in first:
            return min(point, first[session], key=lambda one: one.order)
    began = [ledger.checkpoints(session=next(reversed(one)))[-1] for one in (first, second)]
    return min(began, key=lambda one: one.order)


def _line(ledger: Ledger, end: Checkpoint) -> dict[str, Checkpoint]:
    """Returns the sessions that lead to a checkpoint, each with the last place on it."""
    found: dict[str, Checkpoint] = {}
    point: Checkpoint | None = end
    while point is not None and point.session not in found:
        found[point.session] = point
        row = questions.session_by_id(ledger, point.session)
        point = None if row is None or row.origin is None else ledger.by_id(row.origin)
    return found


def newest_of(ledger: Ledger, session: str) -> Checkpoint | None:
    """Returns the newest checkpoint of a session, None if there is no such session."""
    found = ledger.checkpoints(session=session, without=(UNDO,), limit=1)
    return found[0] if found else None


def forked_into(store: Store, ledger: Ledger, directory: str) -> Checkpoint:
    """Returns where a directory was forked from; raises NoSuchCheckpoint."""
    for one in reversed(moves(known_here(store))):
        point = None if one.target is None else ledger.by_id(one.target)
        if one.directory == directory and point is not None:
            return point
    raise NoSuchCheckpoint(
        f"{directory} was not forked from here",
        hint=("the forks: ", Command("log", "--operations")),
    )
