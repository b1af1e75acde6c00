"""Revert: what the files would be without some turns, with everything else as it is now.

    before 3 ── after 3 ── ... ── now          turn 3 is taken out:
        base = after 3, theirs = before 3, ours = now

Beside it what else is brought in by merging: a turn of another branch, also in another directory,
and a person's edits since a checkpoint.
"""

from __future__ import annotations

from takeback.context import Translated
from takeback.errors import Command, NoSuchCheckpoint, StoreDamaged
from takeback.git.objects import BLOB, TREE, encode_tree, is_tree
from takeback.ledger import by_session as questions
from takeback.ledger.attribute import counted_changes
from takeback.merge.merge import Sides, merge
from takeback.model.checkpoint import UNDO
from takeback.model.conflicts import SHARED, Chooser, Conflict
from takeback.model.ids import SnapshotId
from takeback.model.lines import THEIRS
from takeback.model.operation import APPLY, REVERT, Goal, history, moves
from takeback.model.path_text import covers
from takeback.model.value import Value
from takeback.rewind.refuse import lineage_of
from takeback.rewind.request import Facts, Request, Scope
from takeback.store import trees
from takeback.store.records import known_here
from takeback.store.sink import PackSink
from takeback.store.trees import Held, edited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from takeback.capture.capture import Captured
    from takeback.context import LockedContext
    from takeback.ledger.ledger import Ledger
    from takeback.merge.deeds import Stretch
    from takeback.model.checkpoint import Checkpoint, CountedChange, Entry
    from takeback.model.conflicts import ConflictChoices
    from takeback.model.ids import OperationId, SessionId
    from takeback.model.operation import Move, OperationKind
    from takeback.store.store import Store

    Parts = dict["Edit", frozenset[bytes]]

# -- edits: what a person changed by hand since a checkpoint, as far as it was not taken back
#
# target ── E1 ── turn ── E2 ── rewind to after E1 ── turn ── E3 ── now
#
# E1 and E3 are left; E2 went with the rewind, and would be back after its undo.


class Edit(Value):
    """Some paths that a person changed: the snapshots before and after.

    ``sequence`` is the number of the checkpoint at which it was found.
    """

    before: bytes
    after: bytes
    paths: frozenset[bytes]
    sequence: int = 0

    def alone(self, sink: PackSink) -> bytes:
        """Returns the snapshot before with these paths as they are after; it is in the sink."""
        store = sink.locked.store
        after = Held(store, self.after)
        return edited(store, sink, self.before, {path: after[path] for path in self.paths})


def edits_since(store: Store, ledger: Ledger, target: Checkpoint) -> list[Edit]:
    """Returns a person's edits since a checkpoint that were not taken back, oldest first."""
    found = []
    here = lineage_of(store, ledger)
    for checkpoint, paths in questions.outside_since(ledger, target.id, here):
        before = ledger.state_before(checkpoint)
        if before is not None and checkpoint.expired is None:
            found.append(Edit(bytes.fromhex(before), checkpoint.tree, paths, checkpoint.sequence))
    return _not_taken_back(store, found, moves(known_here(store)))


def _not_taken_back(store: Store, edits: list[Edit], log: Iterable[Move]) -> list[Edit]:
    """Returns the edits without those that an operation took back, unless that was undone.

    An undo takes back what was edited since the operation, and brings back what that had taken; a
    redo is the undo of that.
    """
    log = list(log)
    took = history(log).took
    left = _Left(store, {edit: edit.paths for edit in edits})
    done: dict[OperationId, _Effect] = {}
    for one in log:
        if not one.moves_files:
            continue
        if one.target is not None and not one.keeps:
            gone = left.since(one)
        else:
            gone = left.put_back(one)
        left.drop(gone)
        effect = _Effect(gone, {})
        of = took.get(one.id)
        if of is not None and of.id in done:
            left.restore(done[of.id].dropped)
            left.drop(done[of.id].restored)
            effect = _Effect({**gone, **done[of.id].restored}, done[of.id].dropped)
        done[one.id] = effect
    return left.edits()


class _Effect(Value):
    """What an operation did to the edits before it."""

    dropped: Parts
    restored: Parts


class _Left:
    """The edits that are still in the files, each with its paths."""

    def __init__(self, store: Store, parts: Parts) -> None:
        self._store = store
        self._parts = parts

    def since(self, one: Move) -> Parts:
        """Returns what an operation takes back: edits after its target, in its scope."""
        found = {}
        for edit, paths in self._parts.items():
            if one.target_sequence < edit.sequence <= one.sequence:
                went = frozenset(path for path in paths if covers(one.paths, path))
                if went:
                    found[edit] = went
        return found

    def put_back(self, one: Move) -> Parts:
        """Returns what an operation that merges took back all the same, as it was picked.

        Of a file that it made just what it was before an edit, that edit and the later ones went.
        """
        found: Parts = {}
        changed = self._changed(one) if self._parts else {}
        back: set[bytes] = set()
        for edit, paths in self._parts.items():
            if edit.sequence <= one.sequence and not changed.keys().isdisjoint(paths):
                before = Held(self._store, edit.before)
                back |= {path for path in paths & changed.keys() if changed[path] == before[path]}
                if went := paths & back:
                    found[edit] = went
        return found

    def _changed(self, one: Move) -> dict[bytes, Entry | None]:
        """Returns what an operation made of each path; nothing if that is not known any more."""
        if one.was is None or one.was == one.after:
            return {}
        was, after = (bytes.fromhex(tree) for tree in (one.was, one.after))
        try:
            return {change.path: change.new for change in trees.diff(self._store, was, after)}
        except StoreDamaged:  # no checkpoint need have it, so it may have been swept away
            return {}

    def drop(self, gone: Parts) -> None:
        for edit, paths in gone.items():
            self._parts[edit] = self._parts[edit] - paths

    def restore(self, back: Parts) -> None:
        for edit, paths in back.items():
            self._parts[edit] = self._parts[edit] | paths

    def edits(self) -> list[Edit]:
        found = self._parts.items()
        return [edit.replace(paths=paths) for edit, paths in found if paths]


def until(last_seen: SnapshotId | None, now: bytes, paths: frozenset[bytes]) -> list[Edit]:
    """Returns what was changed since the last look, as an edit; nothing if nothing was."""
    if last_seen is None or not paths:
        return []
    return [Edit(bytes.fromhex(last_seen), now, paths)]


# -- revert
#
# Where others changed a file meanwhile, what the turn did to it is several such stretches
# (``merge/deeds.py``). They are taken out one by one, the newest first, each from what the one
# before left; so are those of several turns. A turn of another branch is brought in the same way,
# the oldest first, with the two states exchanged:
#
#         base = before it, theirs = after it, ours = now


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


# -- carry
#
# What is missing there of the two snapshots around the turn is copied from store to store. Equal
# files have equal ids, so between a workspace and its fork that is little.


class CarriedTurn(Value):
    """A turn that is to be brought in, and the store that has it; ``owner`` is its session."""

    source: Store
    taken: Taken
    owner: SessionId


class Arrival(Value):
    """Where it is brought to: the paths that are wanted, and what is known there."""

    scope: Scope
    facts: Facts


def request_to_carry(
    captured: Captured, brought: CarriedTurn, place: Arrival, choices: ConflictChoices
) -> Request:
    """Returns the request to bring a turn into the files; the capture must be kept."""
    sink = captured.sink
    if sink.locked.store is not brought.source:
        deeds = brought.taken.deeds
        for root in dict.fromkeys(tree for one in deeds for tree in (one.before, one.after)):
            copy(sink, brought.source, root)
        sink.publish()
    wanted = Without(
        taken=(brought.taken.replace(brought=True),),
        scope=place.scope,
        about=brought.taken.name,
        owner=brought.owner,
        kind=APPLY,
    )
    return request(captured, wanted, choices, place.facts)


def copy(sink: PackSink, source: Store, root: bytes) -> None:
    """Copies what a snapshot consists of into another store, as far as it is missing there.

    Raises StoreDamaged if it cannot be read.
    """
    waiting = [root]
    while waiting:
        tree = waiting.pop()
        if sink.has(tree):
            continue
        entries = source.tree(tree)
        for mode, _, oid in entries:
            if is_tree(mode):
                waiting.append(oid)
            elif not sink.has(oid):
                sink.add(BLOB, source.blob(oid))
        sink.add(TREE, encode_tree(entries))


def take_over(context: LockedContext, source: Store, root: bytes) -> None:
    """Copies a snapshot of another workspace into the store, to be looked at."""
    sink = PackSink(context.lock)
    with Translated("the comparison", undo=sink.discard):
        copy(sink, source, root)
        sink.publish()


# -- branches: two ways that began at the same place, side by side
#
#         ╭── turn 2 ── turn 3      a: what changed from the origin to here
# origin ─┤
#         ╰── turn 2'               b: what changed from the origin to here


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
