"""Brings the ledger up to what the refs say; makes it anew if it is damaged."""

from __future__ import annotations

from itertools import pairwise

from takeback.errors import GitFailed, StoreDamaged
from takeback.ledger.ledger import (
    IN_MEMORY,
    Ledger,
    LedgerDamaged,
    LedgerUnwritable,
    remove,
)
from takeback.ops.compare import counted_changes
from takeback.store.checkpoints import SESSIONS, checkpoint_of
from takeback.store.labels import LABELS, read_labels
from takeback.store.records import chain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from takeback.model.change import CountedChange
    from takeback.model.checkpoint import Checkpoint
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
            self._ledger = rebuild_ledger(self._store, self._reporter)
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
    path = store.path("ledger.db")
    try:
        try:
            ledger = Ledger(path)
            catch_up(store, ledger, reporter)
        except LedgerDamaged as error:
            reporter.note(f"The ledger was damaged ({error}) and is made anew from the store.")
            return rebuild_ledger(store, reporter)
    except (LedgerUnwritable, OSError) as error:
        reporter.note(f"The ledger cannot be written ({error}); this command does without.")
        ledger = Ledger(IN_MEMORY)
        catch_up(store, ledger, reporter)
    return ledger


def rebuild_ledger(store: Store, reporter: Reporter) -> Ledger:
    """Deletes the ledger and reads it anew from the store."""
    path = store.path("ledger.db")
    remove(path)
    ledger = Ledger(path)
    catch_up(store, ledger, reporter)
    return ledger


def catch_up(store: Store, ledger: Ledger, reporter: Reporter) -> None:
    """Indexes what is new on each ref. Costs a listing of the refs when nothing is."""
    damaged: dict[str, str] = {}
    sessions = store.refs.list(SESSIONS, damaged=damaged)
    labels = store.refs.list(LABELS, damaged=damaged)
    for ref, reason in damaged.items():
        reporter.note(f"{ref} cannot be read ({reason}); what it named is passed over.")
    wanted = {ref: tip.hex() for ref, tip in {**sessions, **labels}.items()}
    if ledger.tips() == wanted:
        return
    ledger.begin()
    try:
        known = ledger.tips()
        for ref, tip in sessions.items():
            if known.get(ref) != tip.hex():
                _index_session(store, ledger, reporter, ref, tip, known.get(ref))
        for ref in known:
            if ref.startswith(SESSIONS) and ref not in sessions:
                ledger.forget_session(ref.removeprefix(SESSIONS))
            if ref not in wanted:
                ledger.forget_tip(ref)
        if {r: t for r, t in known.items() if r.startswith(LABELS)} != {
            ref: tip.hex() for ref, tip in labels.items()
        }:
            ledger.set_labels(read_labels(store).items())
        for ref, tip_hex in wanted.items():
            ledger.set_tip(ref, tip_hex)
        ledger.commit()
    except BaseException:
        ledger.rollback()
        raise


def _index_session(
    store: Store,
    ledger: Ledger,
    reporter: Reporter,
    ref: str,
    tip: bytes,
    indexed: str | None,
) -> None:
    until = bytes.fromhex(indexed) if indexed else None
    session = ref.removeprefix(SESSIONS)
    records = []
    try:
        for record in chain(store, tip, until):
            records.append(record)
    except StoreDamaged as error:
        reporter.note(f"Session {session} cannot be read further back: {error.message}.")
    if not records:
        return
    oldest = records[-1].commit
    if until is not None and until not in oldest.parents:  # the chain was written anew
        ledger.forget_session(session)
    checkpoints = [checkpoint_of(record) for record in reversed(records)]
    before = _before(store, oldest.parents)
    place = ledger.next_place(session)
    changes = _changes(store, before, checkpoints)
    for number, checkpoint in enumerate(checkpoints):
        ledger.add(checkpoint, place + number, changes[number])


def _before(store: Store, parents: tuple[bytes, ...]) -> Checkpoint | None:
    if not parents:
        return None
    try:
        return checkpoint_of(next(chain(store, parents[0])))
    except StoreDamaged:
        return None


def _changes(
    store: Store, before: Checkpoint | None, checkpoints: list[Checkpoint]
) -> list[list[CountedChange]]:
    """Compares each with the one before; a first one has nothing to be compared with."""
    line = [before or checkpoints[0], *checkpoints]
    pairs = [
        (bytes.fromhex(old.snapshot), bytes.fromhex(new.snapshot)) for old, new in pairwise(line)
    ]
    try:
        return counted_changes(store, pairs)
    except (StoreDamaged, GitFailed):  # one damaged tree must not hide the other checkpoints
        return [_changes_if_readable(store, pair) for pair in pairs]


def _changes_if_readable(store: Store, pair: tuple[bytes, bytes]) -> list[CountedChange]:
    try:
        return counted_changes(store, [pair])[0]
    except (StoreDamaged, GitFailed):
        return []
