"""Revert: what the files would be without some turns, with everything else as it is now.

    before 3 ── after 3 ── ... ── now          turn 3 is taken out:
        base = after 3, theirs = before 3, ours = now

Where others changed a file meanwhile, what the turn did to it is several such stretches
(``ops/deeds.py``). They are taken out one by one, the newest first, each from what the one before
left; so are those of several turns. A turn of another branch is brought in the same way, the oldest
first, with the two states exchanged:

        base = before it, theirs = after it, ours = now
"""

from __future__ import annotations

from takeback.model.goal import Goal
from takeback.model.ids import SnapshotId
from takeback.model.lines import THEIRS
from takeback.model.merge import SHARED, Chooser, Conflict
from takeback.model.operation import REVERT
from takeback.model.path_text import covers
from takeback.model.value import Value
from takeback.ops.facts import Facts
from takeback.ops.line_merge import Sides
from takeback.ops.merge import merge
from takeback.ops.request import Request
from takeback.ops.scope import Scope
from takeback.store.held import Held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from takeback.model.ids import SessionId
    from takeback.model.merge import ConflictChoices
    from takeback.model.operation import OperationKind
    from takeback.ops.capture import Captured
    from takeback.ops.deeds import Stretch

_NOW = "as it is now"


class Taken(Value):
    """What is to be taken out: what a turn did, oldest first, in words, and whose it was.

    With ``brought`` it is brought in instead.
    """

    deeds: Sequence[Stretch]
    name: str
    owner: SessionId
    brought: bool = False


class Without(Value):
    """What is taken out, newest first, of the paths of a scope; in words, and whose it was.

    ``kind`` is ``apply`` if it is brought in.
    """

    taken: Sequence[Taken]
    scope: Scope
    about: str
    owner: SessionId
    kind: OperationKind = REVERT


def request(captured: Captured, wanted: Without, choices: ConflictChoices, facts: Facts) -> Request:
    """Returns the request to bring the files to what they would be; the capture must be kept.

    What others changed since is merged or named as a conflict, never overwritten, so of what is
    known only who is at work counts.
    """
    chooser = Chooser(choices)
    tree = without(captured, wanted.taken, chooser)
    goal = Goal(SnapshotId(tree.hex()), captured.coverage, about=wanted.about, owner=wanted.owner)
    paths = wanted.scope.paths
    return Request(
        goal,
        wanted.scope,
        facts=only_who_is_at_work(facts),
        kind=wanted.kind,
        conflicts=tuple(one for one in chooser.unsettled if covers(paths, one.path)),
        mentioned=frozenset(_mentioned(captured, wanted)),
    )


def _mentioned(captured: Captured, wanted: Without) -> Iterator[bytes]:
    """Yields the paths asked for that a stretch had: gone since, there is nothing left to do."""
    store = captured.sink.locked.store
    trees = {tree for one in wanted.taken for two in one.deeds for tree in (two.before, two.after)}
    states = [Held(store, tree) for tree in trees]
    for path in wanted.scope.asked_for:
        if any(path in state for state in states):
            yield path


def without(captured: Captured, taken: Sequence[Taken], chooser: Chooser) -> bytes:
    """Returns the files as they are without some turns; it can be read from the store."""
    sink, tree = captured.sink, captured.tree
    steps = [(deed, one) for one in taken for deed in one.deeds]
    steps.sort(key=lambda step: step[0].position, reverse=not any(one.brought for one in taken))
    owners = {one.owner for one in taken}
    for deed, one in steps:
        names = (_NOW, f"{'with' if one.brought else 'without'} {one.name}")
        stretch = deed.turned() if one.brought else deed
        left = _left(captured, stretch, tree, chooser, owner=one.owner, owners=owners)
        theirs = stretch.taken_out(sink, besides=left)
        sink.publish()
        among = frozenset() if deed.alone else deed.paths
        tree = merge(
            sink, Sides(stretch.after, tree, theirs, names), chooser, among_others=among
        ).tree
        sink.publish()
    return tree


def _left(
    captured: Captured,
    deed: Stretch,
    tree: bytes,
    chooser: Chooser,
    *,
    owner: str,
    owners: AbstractSet[str],
) -> set[bytes]:
    """Returns the paths that stay, as it is not known what of them the turn did.

    Unless all who may have done it are to be taken out, or somebody chooses that.
    """
    found = set()
    was, now, here = (
        Held(captured.sink.locked.store, at) for at in (deed.before, deed.after, tree)
    )
    for path, sharers in sorted(deed.shared.items()):
        if sharers <= owners:
            continue
        both = tuple(sorted({owner, *sharers}))
        conflict = Conflict(path, SHARED, now[path], here[path], was[path], sessions=both)
        if chooser.choose(conflict) != (THEIRS,):
            found.add(path)
    return found


def only_who_is_at_work(facts: Facts) -> Facts:
    """Returns facts without those about what a rewind would overwrite."""
    return Facts(running=facts.running, inside=facts.inside, family=facts.family)
