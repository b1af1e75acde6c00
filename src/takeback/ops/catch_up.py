"""Brings the ledger up to what the refs say; makes it anew if it is damaged."""

from __future__ import annotations

from takeback.errors import GitFailed, LedgerDamaged, LedgerUnwritable, StoreDamaged
from takeback.ledger import sessions as questions
from takeback.ledger.ledger import IN_MEMORY, Ledger, Point, remove
from takeback.model.checkpoint import Checkpoint
from takeback.model.timeline import COMMAND, SHELL, OwnedChange
from takeback.model.turn import FORK
from takeback.ops.attribute import Fold
from takeback.ops.compare import counted_changes
from takeback.store.checkpoints import SESSIONS, checkpoint_of
from takeback.store.labels import LABELS, read_labels
from takeback.store.operations import OPERATIONS, operation_of
from takeback.store.records import chain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from takeback.model.change import CountedChange
    from takeback.model.operation import Operation
    from takeback.ports import Reporter
    from takeback.store.store import Store

    T = TypeVar("T")


class Index:
    """The ledger of a store, opened and caught up when it is asked."""

    def __init__(self, store: Store, reporter: Reporter, *, rebuild: bool = False) -> None:
        self._store = store
        self._reporter = reporter
        self._ledger = rebuild_ledger(store, reporter) if rebuild else None

    def ask(self, question: Callable[[Ledger], T]) -> T:
        """Asks the ledger; if that shows it to be damaged, makes it anew and asks once more."""
        try:
            return question(self._caught_up())
        except LedgerDamaged as error:
            self._reporter.note(f"The ledger was damaged ({error}) and is made anew.")
            self.close()
            self._ledger = _anew_or_without(self._store, self._reporter)
        except LedgerUnwritable as error:  # since it was opened: the disk is full now, say
            self.close()
            self._ledger = _without(self._store, self._reporter, error)
        return question(self._ledger)

    def _caught_up(self) -> Ledger:
        if self._ledger is None:
            self._ledger = open_ledger(self._store, self._reporter)
        else:
            catch_up(self._store, self._ledger, self._reporter)
        return self._ledger

    def close(self) -> None:
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None


def open_ledger(store: Store, reporter: Reporter) -> Ledger:
    """Opens the ledger, caught up."""
    try:
        return _caught_up(store, store.path("ledger.db"), reporter)
    except LedgerDamaged as error:
        reporter.note(f"The ledger was damaged ({error}) and is made anew from the store.")
        return _anew_or_without(store, reporter)
    except (LedgerUnwritable, OSError) as error:
        return _without(store, reporter, error)


def rebuild_ledger(store: Store, reporter: Reporter) -> Ledger:
    """Deletes the ledger and reads it anew from the store; raises LedgerUnwritable."""
    path = store.path("ledger.db")
    try:
        remove(path)
    except OSError as error:
        raise LedgerUnwritable(str(error)) from error
    return _caught_up(store, path, reporter)


def _anew_or_without(store: Store, reporter: Reporter) -> Ledger:
    try:
        return rebuild_ledger(store, reporter)
    except LedgerUnwritable as error:
        return _without(store, reporter, error)


def _without(store: Store, reporter: Reporter, error: Exception) -> Ledger:
    """Reads a ledger for this command alone."""
    reporter.note(f"The ledger cannot be written ({error}); this command does without.")
    return _caught_up(store, IN_MEMORY, reporter)


def _caught_up(store: Store, path: str, reporter: Reporter) -> Ledger:
    ledger = Ledger(path)
    try:
        catch_up(store, ledger, reporter)
    except BaseException:
        ledger.close()
        raise
    return ledger


def catch_up(store: Store, ledger: Ledger, reporter: Reporter) -> None:
    """Indexes what is new on each ref. Costs a listing of the refs when nothing is."""
    damaged: dict[str, str] = {}
    sessions = store.refs.list(SESSIONS, damaged=damaged)
    labels = store.refs.list(LABELS, damaged=damaged)
    for ref, reason in damaged.items():
        reporter.note(f"{ref} cannot be read ({reason}); what it named is passed over.")
    tips = {**sessions, **labels}
    log = store.refs.read(OPERATIONS)
    if log is not None:
        tips[OPERATIONS] = log
    wanted = {ref: tip.hex() for ref, tip in tips.items()}
    if ledger.tips() == wanted:
        return
    ledger.begin()
    try:
        known = ledger.tips()
        if not _append(store, ledger, reporter, sessions, log, known):
            ledger.clear()
            known = {}
            _append(store, ledger, reporter, sessions, log, known)
        if {r: t for r, t in known.items() if r.startswith(LABELS)} != {
            ref: tip.hex() for ref, tip in labels.items()
        }:
            ledger.set_labels(read_labels(store).items())
        for ref in known:
            if ref not in wanted:
                ledger.forget_tip(ref)
        for ref, tip_hex in wanted.items():
            ledger.set_tip(ref, tip_hex)
        ledger.commit()
    except BaseException:
        ledger.rollback()
        raise


def _append(
    store: Store,
    ledger: Ledger,
    reporter: Reporter,
    sessions: dict[str, bytes],
    log: bytes | None,
    known: dict[str, str],
) -> bool:
    """Adds what is new; False if it is not all newer than what the ledger has.

    Then a session was written anew or is gone; the fold over the turns needs the order in which
    things happened, so all is read again.
    """
    if any(ref.startswith(SESSIONS) and ref not in sessions for ref in known):
        return False
    points: list[Checkpoint | Operation] = []
    for ref, tip in sessions.items():
        if known.get(ref) != tip.hex():
            found = _new_checkpoints(store, reporter, ref, tip, known.get(ref))
            if found is None:
                return False
            points += found
    if log is not None and known.get(OPERATIONS) != log.hex():
        indexed = known.get(OPERATIONS)
        points += _new_operations(store, reporter, log, bytes.fromhex(indexed) if indexed else None)
    points.sort(key=lambda point: (point.sequence, point.time, point.id))
    last = ledger.last_point()
    if not points:
        return True
    if last is not None and points[0].sequence <= last.sequence:
        return False
    _index(store, ledger, points, last)
    return True


def _new_checkpoints(
    store: Store, reporter: Reporter, ref: str, tip: bytes, indexed: str | None
) -> list[Checkpoint] | None:
    """Returns a session's checkpoints that are not indexed, oldest first.

    None if its chain was written anew.
    """
    until = bytes.fromhex(indexed) if indexed else None
    session = ref.removeprefix(SESSIONS)
    found: list[Checkpoint] = []
    reached = until is None
    try:
        for record in chain(store, tip):
            if record.oid == until:
                reached = True
                break
            checkpoint = checkpoint_of(record)
            if checkpoint.session != session:  # what it descends from is indexed over there
                break
            found.append(checkpoint)
    except StoreDamaged as error:
        reporter.note(f"Session {session} cannot be read further back: {error.message}.")
    return found[::-1] if reached else None


def _new_operations(
    store: Store, reporter: Reporter, tip: bytes, until: bytes | None
) -> list[Operation]:
    found = []
    try:
        for record in chain(store, tip, until):
            found.append(operation_of(record))
    except StoreDamaged as error:
        reporter.note(f"The operation log cannot be read further back: {error.message}.")
    return found[::-1]


def _index(
    store: Store,
    ledger: Ledger,
    points: list[Checkpoint | Operation],
    last: Point | None,
) -> None:
    place, state = (last.place + 1, last.snapshot) if last is not None else (0, None)
    pairs: list[tuple[bytes, bytes]] = []
    for point in points:
        new = point.snapshot if isinstance(point, Checkpoint) else point.after
        if state is not None and _is_copy(point):  # of another place: no file was changed for it
            pairs.append((bytes.fromhex(new), bytes.fromhex(new)))
            continue
        # a first one has nothing to be compared with
        pairs.append((bytes.fromhex(state or new), bytes.fromhex(new)))
        state = new
    changes = _changes(store, pairs)
    fold = Fold(ledger, store.place.root)
    for number, point in enumerate(points):
        if isinstance(point, Checkpoint):
            fold.add(point, place + number, changes[number])
        else:
            ledger.add_operation(point, place + number)
    _index_turns(store, ledger, fold)


def _is_copy(point: Checkpoint | Operation) -> bool:
    """Tells whether it is the first checkpoint of a session that takeback cut from another."""
    return isinstance(point, Checkpoint) and point.kind == FORK and point.origin is not None


def _index_turns(store: Store, ledger: Ledger, fold: Fold) -> None:
    """Works out what each turn that moved has changed in all."""
    turns = list(fold.touched.values())
    ends = [(ledger.by_id(turn.before), ledger.by_id(turn.after)) for turn in turns]
    pairs = [
        (bytes.fromhex(a.snapshot), bytes.fromhex(b.snapshot)) if a and b else (b"", b"")
        for a, b in ends
    ]
    for turn, found in zip(turns, _changes(store, pairs), strict=True):
        if turn.kind == COMMAND:
            owned = [OwnedChange(c.path, c.kind, c.added, c.deleted, SHELL) for c in found]
        else:
            owners = questions.owners(ledger, turn.id)
            owned = [
                OwnedChange(c.path, c.kind, c.added, c.deleted, owners[c.path])
                for c in found
                if c.path in owners
            ]
        questions.set_turn_changes(ledger, turn.id, owned)


def _changes(store: Store, pairs: list[tuple[bytes, bytes]]) -> list[list[CountedChange]]:
    try:
        return counted_changes(store, pairs)
    except (StoreDamaged, GitFailed):  # one damaged tree must not hide the other checkpoints
        return [_changes_if_readable(store, pair) for pair in pairs]


def _changes_if_readable(store: Store, pair: tuple[bytes, bytes]) -> list[CountedChange]:
    try:
        return counted_changes(store, [pair])[0]
    except (StoreDamaged, GitFailed):
        return []
