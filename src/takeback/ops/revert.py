"""Revert: what the files would be without some turns, with everything else as it is now.

    before 3 ── after 3 ── ... ── now          turn 3 is taken out:
        base = after 3, theirs = before 3, ours = now

Several are taken out one by one, the newest first, each from what the one before left. A turn of
another branch is brought in the same way, with the two states exchanged:

        base = before it, theirs = after it, ours = now
"""

from __future__ import annotations

from takeback.ledger import sessions as questions
from takeback.model.goal import Goal
from takeback.model.ids import SnapshotId
from takeback.model.merge import Chooser
from takeback.model.operation import REVERT
from takeback.model.path_text import covers
from takeback.model.value import Value
from takeback.ops.facts import Facts
from takeback.ops.line_merge import Sides
from takeback.ops.merge import merge
from takeback.ops.request import Request
from takeback.ops.scope import Scope
from takeback.store import trees
from takeback.store.held import Held
from takeback.store.tree_edit import edited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import SessionId
    from takeback.model.merge import ConflictChoices
    from takeback.model.operation import OperationKind
    from takeback.model.timeline import Turn
    from takeback.ops.capture import Captured

_NOW = "as it is now"


class Taken(Value):
    """A stretch of time that is to be taken out: the snapshots before and after it.

    ``others`` are the paths that somebody else changed meanwhile: they stay. ``name`` says in
    words what it is, for markers. With ``brought`` it is brought in instead: ``before`` is then
    the state that it leads to.
    """

    before: bytes
    after: bytes
    name: str
    others: Collection[bytes] = ()
    brought: bool = False

    def bringing(self) -> Taken:
        """Returns the stretch as one that is brought in."""
        return self.replace(before=self.after, after=self.before, brought=True)


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
    states = [Held(store, tree) for one in wanted.taken for tree in (one.before, one.after)]
    for path in wanted.scope.asked_for:
        if any(path in state for state in states):
            yield path


def without(captured: Captured, taken: Sequence[Taken], chooser: Chooser) -> bytes:
    """Returns the files as they are without some stretches; it can be read from the store."""
    sink, tree = captured.sink, captured.tree
    for one in taken:
        names = (_NOW, f"{'with' if one.brought else 'without'} {one.name}")
        theirs = _own_part(captured, one)
        tree = merge(sink, Sides(one.after, tree, theirs, names), chooser).tree
        sink.publish()
    return tree


def others_during(ledger: Ledger, before: Checkpoint, after: Checkpoint, turn: Turn) -> set[bytes]:
    """Returns the paths that others than a turn changed between two of its checkpoints."""
    return questions.others_during(ledger, before.id, after.id, turn.id)


def _own_part(captured: Captured, taken: Taken) -> bytes:
    """Returns the snapshot before, with what others changed meanwhile as they left it."""
    if not taken.others:
        return taken.before
    store, sink = captured.sink.locked.store, captured.sink
    after = Held(store, taken.after)
    kept = {
        change.path: after[change.path]
        for change in trees.diff(store, taken.before, taken.after)
        if change.path in taken.others
    }
    found = edited(store, sink, taken.before, kept)
    sink.publish()
    return found


def only_who_is_at_work(facts: Facts) -> Facts:
    """Returns facts without those about what a rewind would overwrite."""
    return Facts(running=facts.running, inside=facts.inside, family=facts.family)
