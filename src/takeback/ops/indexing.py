"""Indexes checkpoints and operations one after another; none of them can stop the others."""

from __future__ import annotations

from takeback.ledger import gaps
from takeback.ledger import sessions as questions
from takeback.ledger.expired import Gap, gap_now, has_gone, note_expired
from takeback.ledger.steps import folded
from takeback.model.checkpoint import Checkpoint
from takeback.model.operation import Move
from takeback.model.timeline import OwnedChange
from takeback.model.turn import FORK
from takeback.ops.attempt import Spoilt, attempt
from takeback.ops.attribute import Fold, Indexed
from takeback.ops.backlog import decoded
from takeback.ops.compare import changed, found_at
from takeback.ops.deeds import deeds
from takeback.store.namespace import is_log, session_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.ledger.ledger import Ledger
    from takeback.model.change import CountedChange
    from takeback.model.ids import CheckpointId
    from takeback.model.operation import Operation
    from takeback.ops.backlog import Waiting
    from takeback.ports import Reporter
    from takeback.store.store import Store

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
