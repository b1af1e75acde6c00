"""Indexes what the refs have and the ledger lacks, one after another; none can stop the others."""

from __future__ import annotations

from itertools import pairwise

from takeback.ledger import by_session as questions
from takeback.ledger import ledger as gaps
from takeback.ledger.attribute import Fold, Indexed, Spoilt, attempt, changed, found_at
from takeback.ledger.expired import Gap, gap_now, has_gone, note_expired
from takeback.ledger.lists import folded
from takeback.merge.deeds import deeds
from takeback.model.checkpoint import Checkpoint
from takeback.model.entries import OwnedChange
from takeback.model.operation import Move, Pruned
from takeback.model.turn import FORK
from takeback.store.namespace import is_log, machine_of, session_of
from takeback.store.records import checkpoint_of, operation_of, read_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import CountedChange
    from takeback.model.ids import CheckpointId
    from takeback.model.operation import Operation
    from takeback.ports import Reporter
    from takeback.store.store import Store

    Place = tuple[int, str, float, str, int]
    """The order of a point, and how many of its parents stand at the very same one."""

# -- the backlog: what the refs have and the ledger lacks, in the order in which it happened
#
#         session A     a1 -- a3 -- a4 -- a7           sequence numbers are given across all
#         session B        b2 -- -- -- b5              sessions and the operation log
#         operations                      o6
#         backlog       a1 b2 a3 a4 b5 o6 a7
#
# It is indexed from its beginning in batches. After each one the ledger's tips are the last of each
# ref in it, so the next process, after a kill or at the same time, continues right there.


BATCH = 150
"""How many points are indexed and committed at once: about half a second, a few MB."""
_HELD = 24000
"""How many points stay decoded until their turn, in 20 MB; of a longer backlog the oldest are read
twice."""


class Waiting:
    """One checkpoint or operation that is not indexed yet."""

    __slots__ = ("_point", "commit", "has_expired", "id", "order", "ref", "snapshot")

    def __init__(self, ref: str, commit: bytes, point: Checkpoint | Operation) -> None:
        self.ref = ref
        self.commit = commit
        self.id: str = point.id
        self.snapshot = point.snapshot if isinstance(point, Checkpoint) else None
        self.order: Place = (*point.order, 0)
        self.has_expired = isinstance(point, Checkpoint) and point.expired is not None
        self._point: Checkpoint | Operation | None = point

    def follow(self, before: Place) -> None:
        """Moves it after its own parent, whatever the numbers say."""
        if self.order <= before:
            self.order = (*before[:4], before[4] + 1)

    def let_go(self) -> None:
        self._point = None

    def point(self, store: Store) -> Checkpoint | Operation:
        return self._point or decoded(store, self.ref, self.commit)


def decoded(store: Store, ref: str, commit: bytes) -> Checkpoint | Operation:
    """Reads what a commit of a session or of the operation log describes."""
    record = read_record(store, commit)
    return operation_of(record) if is_log(ref) else checkpoint_of(record)


class Backlog:
    """What is new on some refs, and what of it is unreadable.

    ``points`` has the oldest last, which is where they are taken from. ``rewritten`` has the refs
    that do not lead back to what the ledger has of them, each with everything it has now, oldest
    first: nothing if it is gone.
    """

    def __init__(
        self,
        store: Store,
        tips: Mapping[str, bytes],
        known: Mapping[str, str],
        *,
        held: int = _HELD,
    ) -> None:
        self._store = store
        self._held = held
        self.unread: list[gaps.Unread] = []
        self.points: list[Waiting] = []
        self.rewritten: dict[str, list[Waiting]] = {ref: [] for ref in known if ref not in tips}
        for ref, tip in tips.items():
            if known.get(ref) != tip.hex():
                self._follow(ref, tip, known.get(ref))
        self.points.sort(key=lambda waiting: waiting.order, reverse=True)

    def _follow(self, ref: str, tip: bytes, indexed: str | None) -> None:
        """Adds what a ref has, from its newest back to what is indexed."""
        found: list[Waiting] = []
        commit: bytes | None = tip
        until = None if indexed is None else bytes.fromhex(indexed)
        while commit is not None and commit != until:
            waiting, parent, is_other = self._read(ref, commit)
            if is_other:  # its ancestors are indexed with that session
                commit = None
                break
            if waiting is not None:
                if len(self.points) + len(found) >= self._held:
                    waiting.let_go()
                found.append(waiting)
            elif self.unread[-1].stage == gaps.CHAIN:
                # What is beyond the damage cannot be reached from here. What the ledger has of it
                # was read when it was sound, and stays.
                commit = until
                break
            commit = parent
        found.reverse()
        if commit != until:
            self.rewritten[ref] = found
        for before, waiting in pairwise(found):
            waiting.follow(before.order)
        self.points += found

    def _read(self, ref: str, commit: bytes) -> tuple[Waiting | None, bytes | None, bool]:
        """Returns a commit's point, its parent, and whether it belongs to another session."""
        try:
            point, parents = attempt(lambda: self._decode(ref, commit))
        except Spoilt as spoilt:
            return None, self._pass_over(ref, commit, str(spoilt)), False
        is_other = machine_of(ref) != point.machine or (
            isinstance(point, Checkpoint) and session_of(ref) != point.session
        )
        parent = parents[0] if parents else None
        return Waiting(ref, commit, point), parent, is_other

    def _decode(self, ref: str, commit: bytes) -> tuple[Checkpoint | Operation, tuple[bytes, ...]]:
        record = read_record(self._store, commit)
        point = operation_of(record) if is_log(ref) else checkpoint_of(record)
        return point, record.commit.parents

    def _pass_over(self, ref: str, commit: bytes, reason: str) -> bytes | None:
        """Notes an unreadable record and returns the parent of its commit."""
        try:
            parents = attempt(lambda: self._store.commit(commit).parents)
        except Spoilt:
            self.unread.append(gaps.Unread(commit.hex(), ref, None, gaps.CHAIN, reason))
            return None
        self.unread.append(gaps.Unread(commit.hex(), ref, None, gaps.RECORD, reason))
        return parents[0] if parents else None

    def prunes(self) -> list[Pruned]:
        """Returns the prunes of it, as far as they read."""
        found = []
        for waiting in self.points:
            if is_log(waiting.ref):
                try:
                    found.append(attempt(lambda one=waiting: one.point(self._store)))  # type: ignore[misc]
                except Spoilt:
                    continue
        return [one for one in found if isinstance(one, Pruned)]

    def leave_out(self, known: set[Waiting]) -> None:
        """Takes out what the ledger has already."""
        self.points = [waiting for waiting in self.points if waiting not in known]

    def take(self, size: int) -> list[Waiting]:
        """Takes out the oldest: ``size`` of them, and all that share the last one's number."""
        batch: list[Waiting] = []
        while self.points and (len(batch) < size or self.points[-1].order[0] == batch[-1].order[0]):
            batch.append(self.points.pop())
        return batch

    def skip_to(self, now: Mapping[str, str], tips: dict[str, str]) -> bool:
        """Takes out what another process has indexed meanwhile; advances ``tips`` to ``now``.

        False if ``now`` is nowhere in the backlog.
        """
        while tips != now:
            if not self.points:
                return False
            done = self.points.pop()
            tips[done.ref] = done.commit.hex()
        return True


# -- indexes checkpoints and operations one after another; none of them can stop the others


_NEXT_BUT_ONE = 2
_NAMED = 5
"""How many are reported one by one; a lost pack can spoil thousands."""
_TRIED_AGAIN = 20
"""How many unreadable ones are tried again, at most, when a ledger is opened."""


class Indexing:
    """One run over the backlog, batch by batch; the caller has a transaction open for each."""

    def __init__(
        self, store: Store, ledger: Ledger, reporter: Reporter, unread: Sequence[gaps.Unread]
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._reporter = reporter
        self._lacking = list(unread)
        self._written = 0
        self._told = 0

    @property
    def has_lacking(self) -> bool:
        """True if something could not be read so far."""
        return bool(self._lacking)

    def add(self, batch: Sequence[Waiting]) -> dict[str, str]:
        """Indexes one batch and returns how far its refs are indexed now."""
        ledger = self._ledger
        position = ledger.last_position() + 1
        states: dict[str, str | None] = {}  # what is in the files of each machine
        expired: dict[str, Gap] = {}  # and what has expired since
        last: dict[str, int] = {}  # the number of the last thing that it did
        fold = Fold(ledger, self._store)
        uncounted = []
        for waiting in batch:
            point = self._point(waiting)
            if point is None:
                continue
            if point.machine not in states:
                states[point.machine] = ledger.state_now(point.machine, point.sequence)
                expired[point.machine] = gap_now(ledger, point.machine, point.sequence)
                last[point.machine] = ledger.highest_sequence(point.machine)
            if self._has_gone(last[point.machine], point.sequence):
                expired[point.machine] = expired[point.machine].replace(operations=True)
            last[point.machine] = point.sequence
            state, gap = states[point.machine], expired[point.machine]
            if not isinstance(point, Checkpoint):
                # only a newer takeback can read what it did in its own way
                if isinstance(point, Move) and self._add_operation(point, position, waiting):
                    if self._is_lost(point):
                        note_expired(ledger, point.id, position, point.machine)
                        expired[point.machine] = gap.replace(operations=True)
                    else:
                        states[point.machine], expired[point.machine] = point.after, Gap()
                    position += 1
                continue
            is_copy = position > 0 and _is_copy(point)
            if point.expired is not None:  # no files to compare with what came before or after
                if self._add_checkpoint(fold, Indexed(point, position, [], Gap()), waiting):
                    note_expired(ledger, point.id, position, point.machine)
                    position += 1
                    if not is_copy:
                        more = (*gap.checkpoints, point)
                        expired[point.machine] = gap.replace(checkpoints=more)
                continue
            # a copy belongs to another state: no file was changed for it; a first one has nothing
            # to be compared with
            old = point.snapshot if is_copy or state is None else state
            changes = self._changes(old, point, waiting)
            found = Indexed(point, position, changes, Gap() if is_copy else gap)
            if not self._add_checkpoint(fold, found, waiting):
                continue
            if changes:
                row = gaps.Uncounted(point.id, gaps.CHECKPOINT, old, point.snapshot)
                uncounted.append(row)
            position += 1
            if not is_copy:
                states[point.machine], expired[point.machine] = point.snapshot, Gap()
        questions.index_words(ledger, fold.words)
        gaps.note_unfolded(ledger, fold.touched)
        gaps.note_uncounted(ledger, uncounted)
        for lacking in self._lacking[self._written :]:
            gaps.note_unread(ledger, lacking)
        self._written = len(self._lacking)
        return {waiting.ref: waiting.commit.hex() for waiting in batch}

    def _has_gone(self, above: int, below: int) -> bool:
        return below - above >= _NEXT_BUT_ONE and has_gone(self._ledger, above, below)

    def _point(self, waiting: Waiting) -> Checkpoint | Operation | None:
        try:
            return attempt(lambda: waiting.point(self._store))
        except Spoilt as spoilt:
            self._lack(waiting, gaps.RECORD, spoilt)
            return None

    def _changes(self, old: str, point: Checkpoint, waiting: Waiting) -> list[CountedChange]:
        try:
            return attempt(lambda: found_at(self._store, old, point))
        except Spoilt as spoilt:
            self._lack(waiting, gaps.CHANGES, spoilt, point.id)
            return []

    def _add_checkpoint(self, fold: Fold, found: Indexed, waiting: Waiting) -> bool:
        ledger = self._ledger
        try:
            attempt(lambda: ledger.all_or_nothing(lambda: fold.add(found)))
        except Spoilt as spoilt:
            try:  # the commit's own record is worth a row, whatever else fails
                attempt(lambda: ledger.all_or_nothing(lambda: fold.add_bare(found)))
            except Spoilt:
                self._lack(waiting, gaps.ROW, spoilt)
                return False
            self._lack(waiting, gaps.ROW, spoilt, found.checkpoint.id)
            found.changes.clear()
        return True

    def _is_lost(self, operation: Move) -> bool:
        return is_lost(self._store, self._ledger, operation.before, operation.after)

    def _add_operation(self, operation: Move, position: int, waiting: Waiting) -> bool:
        def write() -> None:
            bytes.fromhex(operation.after)
            self._ledger.add_operation(operation, position)

        try:
            attempt(lambda: self._ledger.all_or_nothing(write))
        except Spoilt as spoilt:
            self._lack(waiting, gaps.ROW, spoilt)
            return False
        return True

    def fold_turns(self, size: int, *, ended: bool = False) -> bool:
        """Works out everything that some advanced turns have changed; False if there were none.

        After a batch that others follow, only those that have ``ended``, so that a turn is folded
        once, however many batches it spans.
        """
        turns = gaps.unfolded(self._ledger, size, ended=ended)
        for turn in turns:
            gaps.note_uncounted(self._ledger, self._index_turn(turn))
        gaps.set_folded(self._ledger, turns)
        return bool(turns)

    def _index_turn(self, id: CheckpointId) -> list[gaps.Uncounted]:
        """Works out everything a turn that advanced has changed; returns what has to be counted."""
        found: list[gaps.Uncounted] = []
        try:
            attempt(lambda: self._ledger.all_or_nothing(lambda: found.extend(self._turn(id))))
        except Spoilt:  # one of its ends has been reported already
            return []
        return found

    def _turn(self, id: CheckpointId) -> list[gaps.Uncounted]:
        ledger = self._ledger
        turn = questions.turn_by_id(ledger, id)
        if turn is None:
            return []
        ends = ledger.by_id(turn.before), ledger.by_id(turn.after)
        questions.set_turn_changes(ledger, id, ())
        gaps.forget_uncounted(ledger, id, gaps.TURN)
        if ends[0] is None or ends[1] is None or ends[0].expired or ends[1].expired:
            return []
        who = {one.path: one.who for one in questions.changes_in(ledger, turn)}
        rows: dict[tuple[str, str], frozenset[bytes]] = {}  # two sessions at once may share them
        found = []
        for one in deeds(self._store, ledger, turn, (ends[0], ends[1])):
            there = [c for c in changed(self._store, one.before, one.after) if c.path in one.paths]
            found += [OwnedChange(c.path, c.kind, None, None, who[c.path]) for c in there]
            if there:
                old, new = one.before.hex(), one.after.hex()
                paths = frozenset(c.path for c in there)
                rows[old, new] = rows.get((old, new), frozenset()) | paths
        questions.set_turn_changes(ledger, id, folded(found))
        return [gaps.Uncounted(id, gaps.TURN, *ends, paths) for ends, paths in rows.items()]

    def _lack(
        self, waiting: Waiting, stage: str, spoilt: Spoilt, checkpoint: str | None = None
    ) -> None:
        row = gaps.Unread(waiting.commit.hex(), waiting.ref, checkpoint, stage, str(spoilt))
        self._lacking.append(row)

    def tell(self) -> None:
        """Reports what was found since the last call, each once."""
        for row in self._lacking[self._told : _NAMED]:
            self._reporter.note(_said(row))
        self._told = max(self._told, min(len(self._lacking), _NAMED))

    def tell_the_rest(self) -> None:
        """Says how many were not reported."""
        more = len(self._lacking) - self._told
        if more > 0:
            self._reporter.note(f"{more} more cannot be read in full; run: takeback verify")


def is_lost(store: Store, ledger: Ledger, before: str, after: str) -> bool:
    """Tells whether the state that an operation left is kept no longer.

    It is kept as long as its undo snapshot has its files: no ref leads to it by itself.
    """
    undo = ledger.by_id(before)
    if undo is not None and undo.expired is not None:
        return True
    return not store.packs.has(bytes.fromhex(after))


def _is_copy(point: Checkpoint) -> bool:
    """Tells whether it is the first checkpoint of a session that takeback cut from another."""
    return point.kind == FORK and point.origin is not None


def _said(row: gaps.Unread) -> str:
    session = session_of(row.ref)
    in_log = is_log(row.ref)
    if row.stage == gaps.CHAIN:
        what = "The operation log" if in_log else f"Session {session}"
        return f"{what} cannot be read further back: {row.reason}."
    if row.checkpoint is not None:
        return f"What changed at checkpoint {row.checkpoint} is not known: {row.reason}."
    what = "An operation" if in_log else f"A checkpoint of session {session}"
    return f"{what} (commit {row.commit[:12]}) is passed over: {row.reason}."


def reads_now(store: Store, ledger: Ledger) -> bool:
    """Tells whether something that was unreadable can be read now.

    A pack came back, or there were no descriptors left at the time. What our own code or the ledger
    rejected is not tried again: it would fail again.
    """
    found = [row for row in gaps.unread(ledger) if row.stage != gaps.ROW]
    return any(_reads(store, ledger, row) for row in found[:_TRIED_AGAIN])


def _reads(store: Store, ledger: Ledger, row: gaps.Unread) -> bool:
    def read() -> None:
        point = decoded(store, row.ref, bytes.fromhex(row.commit))
        if row.stage == gaps.CHANGES and isinstance(point, Checkpoint):
            old = ledger.state_before(point) or point.snapshot
            found_at(store, old, point)

    try:
        attempt(read)
    except Spoilt:
        return False
    return True
