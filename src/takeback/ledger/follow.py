"""Follows the refs: brings a ledger up to date, for one who asks and for one who only looks."""

from __future__ import annotations

import os
import time

from takeback.errors import LedgerDamaged, LedgerUnwritable, StoreDamaged, TakebackError
from takeback.ledger import ledger as gaps
from takeback.ledger.expired import note_gone
from takeback.ledger.file import IN_MEMORY, PAGE, SMALL_PAGE, LedgerRefused, is_busy, remove
from takeback.ledger.indexing import BATCH, Backlog, Indexing, reads_now
from takeback.ledger.ledger import Ledger, forget_missing, missing_refs, note_missing
from takeback.ledger.repair import Rewritten, TooInvolved
from takeback.model.value import Value
from takeback.store import notes
from takeback.store.namespace import EVERYTHING, LABELS, LOCAL, OPERATIONS, SESSIONS, is_log, listed
from takeback.store.records import leads_to, read_labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol, TypeVar

    from takeback.ports import Reporter
    from takeback.store.lock import Locked
    from takeback.store.store import Store

    T = TypeVar("T")

    class BringUp(Protocol):
        """Has the ledger caught up; True once that is done, also if it takes ``long``."""

        def __call__(self, *, long: bool) -> bool: ...

# -- brings the ledger up to date with the refs; rebuilds it if it is damaged


_OVERTAKEN = 5
"""How often a run begins again, at most, because what it could not read may be gone rightly."""


def open_ledger(store: Store, reporter: Reporter, *, patience: float | None = None) -> Ledger:
    """Opens the ledger, caught up; one in memory if another writes it for longer than that."""
    try:
        ledger = _caught_up(store, store.path("ledger.db"), reporter, patience)
        try:
            read_again(store, ledger, reporter)
        except BaseException:
            ledger.close()
            raise
        return ledger
    except LedgerDamaged as error:
        reporter.note(f"The ledger was damaged ({error}) and is made anew from the store.")
        return anew_or_without(store, reporter)
    except (LedgerUnwritable, OSError) as error:
        return without(store, reporter, error)


def read_again(store: Store, ledger: Ledger, reporter: Reporter) -> None:
    """Reads everything again if something can be read by now that could not.

    In the same file: others may have it open.
    """
    if reads_now(store, ledger):
        reporter.note("What could not be read can be read now; the ledger is made anew.")
        _Run(store, ledger, reporter, BATCH, anew=True).until_all_is_there()


def keep_ready(store: Store) -> None:
    """Brings the ledger up to date before anybody looks, so that nobody has to wait for it.

    What cannot be read goes to the log. If the ledger is damaged, or another process is at it, that
    is left to whoever looks next.
    """
    try:
        _caught_up(store, store.path("ledger.db"), _ToLog(store)).close()
    except (LedgerDamaged, LedgerUnwritable, OSError):
        return


class _ToLog:
    """A reporter for when nobody is there."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def progress(self, what: str, done: int, total: int) -> None:
        return None

    def note(self, text: str) -> None:
        notes.append(self._store, text)


def rebuild_ledger(store: Store, reporter: Reporter) -> Ledger:
    """Deletes the ledger and rebuilds it from the store; raises LedgerUnwritable."""
    path = store.path("ledger.db")
    try:
        remove(path)
    except OSError as error:
        raise LedgerUnwritable(str(error)) from error
    return _caught_up(store, path, reporter)


def anew_or_without(store: Store, reporter: Reporter) -> Ledger:
    try:
        return rebuild_ledger(store, reporter)
    except LedgerUnwritable as error:
        return without(store, reporter, error)


def without(store: Store, reporter: Reporter, error: Exception) -> Ledger:
    """Builds a ledger in memory, for this command only."""
    reporter.note(f"The ledger cannot be written ({error}); this command does without.")
    made = _caught_up(store, IN_MEMORY, reporter)
    made.is_stopgap = isinstance(error, LedgerUnwritable) and error.busy
    return made


def _caught_up(
    store: Store, path: str, reporter: Reporter, patience: float | None = None
) -> Ledger:
    ledger = Ledger(path, page=SMALL_PAGE if store.is_young else PAGE, patience=patience)
    try:
        catch_up(store, ledger, reporter)
    except BaseException:
        ledger.close()
        raise
    return ledger


def catch_up(store: Store, ledger: Ledger, reporter: Reporter, *, batch: int = BATCH) -> None:
    """Indexes what is new on each ref. Costs a listing of the refs if nothing is.

    The oldest comes first, in batches that are each committed together with how far they go: if
    this is cut short, the next run continues from there. No checkpoint blocks the others: what
    cannot be read of one is noted in the ledger and reported.
    """
    damaged: dict[str, str] = {}
    there = _refs(store, ledger, damaged)
    for ref, reason in damaged.items():
        reporter.note(f"{ref} cannot be read ({reason}); what it named is passed over.")
    if not _has_all(ledger, there):
        _Run(store, ledger, reporter, batch).until_all_is_there(there)


class _Refs(Value):
    """The refs as they are: the chains that are read, and the tips of these and of the labels."""

    chains: dict[str, bytes]
    tips: dict[str, str]


def is_current(store: Store, ledger: Ledger) -> bool:
    """Tells whether a ledger has everything that the refs lead to."""
    return _has_all(ledger, _refs(store, ledger, {}))


def _refs(store: Store, ledger: Ledger, damaged: dict[str, str]) -> _Refs:
    """Returns the refs; one that the ledger knows and no listing has is asked for by its name."""
    chains = listed(store.refs, (SESSIONS, OPERATIONS), damaged)
    others = listed(store.refs, (LABELS, LOCAL), damaged)
    for ref in ledger.tips().keys() - chains.keys() - others.keys() - damaged.keys():
        try:
            tip = store.refs.read(ref)
        except StoreDamaged:  # the packed refs: who lists them has said it
            continue
        if tip is not None:
            (others if ref.startswith((LABELS, LOCAL)) else chains)[ref] = tip
    return _Refs(chains, {ref: tip.hex() for ref, tip in {**chains, **others}.items()})


def _has_all(ledger: Ledger, there: _Refs) -> bool:
    return ledger.tips() == there.tips and not gaps.unfolded(ledger, 1)


class _Run:
    """One run over all that is new."""

    def __init__(
        self, store: Store, ledger: Ledger, reporter: Reporter, batch: int, *, anew: bool = False
    ) -> None:
        """With ``anew`` nothing that the ledger has is believed."""
        self._store = store
        self._ledger = ledger
        self._reporter = reporter
        self._batch = batch
        self._anew = anew
        self._overtaken = 0

    def until_all_is_there(self, there: _Refs | None = None) -> None:
        """Indexes what the refs lead to, whatever others do meanwhile; ``there`` are they now."""
        try:
            while not self._index_all(there or _refs(self._store, self._ledger, {})):
                there = None  # a prune may have written them anew
        except LedgerRefused as error:  # not because of one point: those are skipped one by one
            raise LedgerDamaged(str(error)) from error

    def _index_all(self, there: _Refs) -> bool:
        """Indexes the backlog; False, to try again, if somebody changed the ledger meanwhile.

        Also if it turns out that all has to be read again, and if something cannot be read and the
        refs lead elsewhere by now: then it is gone because nothing leads to it any more.
        """
        store, ledger = self._store, self._ledger
        tips = _chain_tips(ledger)
        before = dict(tips)
        backlog = Backlog(store, there.chains, tips)
        replaced = _replaced(ledger, backlog, before)
        if backlog.unread and self._is_overtaken(there):
            return False
        rewritten = Rewritten(store, backlog.rewritten, backlog.prunes())
        backlog.leave_out(rewritten.known(ledger))
        # The fold over the turns needs the order in which things happened. If something came late,
        # or a log was rewritten, everything is read again.
        anew = self._anew or any(map(is_log, backlog.rewritten))
        anew = anew or rewritten.contradicts(ledger) or _is_late(ledger, backlog)
        if anew:
            tips, backlog = {}, Backlog(store, there.chains, {})
        indexing = Indexing(store, ledger, self._reporter, backlog.unread)
        is_first, done = True, False
        while not done:
            ledger.begin()
            try:
                now = _chain_tips(ledger)
                note_missing(ledger, {**replaced, **_gone(store, ledger, there)})
                if is_first and now == before:
                    if anew or not before:  # until all of it is there, nobody else reads it
                        ledger.set_whole(whole=False)
                    if anew:
                        _clear(ledger, backlog)
                    else:
                        _settle(rewritten, ledger, tips)
                elif anew or not backlog.skip_to(now, tips):
                    ledger.rollback()
                    return False
                is_first = anew = False
                tips.update(indexing.add(backlog.take(self._batch)))
                if self._is_outdated(there) or (indexing.has_lacking and self._is_overtaken(there)):
                    ledger.rollback()
                    return False
                done = not backlog.points
                if done:
                    _finish(store, ledger, there.tips)
                    _forget_reached(store, ledger)
                else:
                    ledger.set_tips(tips)
                    # While the trees that they are compared by are still in memory.
                    indexing.fold_turns(self._batch, ended=True)
                ledger.commit()
                self._anew = False  # whoever changes it from here on found it cleared
            except TooInvolved:
                ledger.rollback()
                self._anew = True
                return False
            except BaseException:
                ledger.rollback()
                raise
            indexing.tell()
        _fold_turns(ledger, indexing, self._batch)
        indexing.tell_the_rest()
        return True

    def _is_outdated(self, there: _Refs) -> bool:
        """Tells whether a ref is gone or was written anew since they were listed.

        Whoever empties the trash brings the ledger up to date before, so that what was in it is
        not missed. Nobody may write afterwards what was before that. New turns do no harm.
        """
        now = _refs(self._store, self._ledger, {}).tips
        return not all(
            now.get(ref) == tip or (ref in now and self._leads(now[ref], tip))
            for ref, tip in there.tips.items()
        )

    def _leads(self, tip: str, place: str) -> bool:
        return leads_to(self._store, bytes.fromhex(tip), bytes.fromhex(place))

    def _is_overtaken(self, there: _Refs) -> bool:
        """Tells whether the refs have moved since they were listed; at some time that is enough."""
        self._overtaken += 1
        return self._overtaken <= _OVERTAKEN and _refs(self._store, self._ledger, {}) != there


def _clear(ledger: Ledger, backlog: Backlog) -> None:
    """Forgets everything, and notes first who is gone: what is read next depends on it."""
    ledger.clear()
    note_gone(ledger, [number for one in backlog.prunes() for number in one.gone])


def _settle(rewritten: Rewritten, ledger: Ledger, tips: dict[str, str]) -> None:
    """Removes what rewritten sessions no longer have, and notes how far they are indexed."""
    for ref, tip in rewritten.settle(ledger).items():
        if tip is None:
            tips.pop(ref, None)
            ledger.forget_tip(ref)
        else:
            tips[ref] = tip


def _fold_turns(ledger: Ledger, indexing: Indexing, batch: int) -> None:
    """Works out everything that turns that advanced have changed, as many at once as points."""
    more = True
    while more:
        ledger.begin()
        try:
            more = indexing.fold_turns(batch)
            ledger.commit()
        except BaseException:
            ledger.rollback()
            raise


def _chain_tips(ledger: Ledger) -> dict[str, str]:
    beside = (LABELS, LOCAL)
    return {ref: tip for ref, tip in ledger.tips().items() if not ref.startswith(beside)}


def _is_late(ledger: Ledger, backlog: Backlog) -> bool:
    """Tells whether anything is not newer than everything in the ledger."""
    oldest = backlog.points[-1].order[0] if backlog.points else None
    return oldest is not None and oldest <= ledger.highest_sequence()


def _gone(store: Store, ledger: Ledger, there: _Refs) -> dict[str, str]:
    """Returns the tips of refs that are gone, or whose file names an object that never existed."""
    return {
        ref: tip
        for ref, tip in ledger.tips().items()
        if ref not in there.tips
        or (tip != there.tips[ref] and not store.packs.has(bytes.fromhex(there.tips[ref])))
    }


def _replaced(ledger: Ledger, backlog: Backlog, before: dict[str, str]) -> dict[str, str]:
    """Returns the tips of refs that were lost and started over, without anything they led to.

    A chain that was rewritten by a prune still has earlier checkpoints, under their ids.
    """
    return {
        ref: before[ref]
        for ref, chain in backlog.rewritten.items()
        if chain and not any(ledger.has_point(waiting.id) for waiting in chain)
    }


def _forget_reached(store: Store, ledger: Ledger) -> None:
    """Forgets the missing places that a ref leads to again, and those that a prune took away.

    A ref may have led further when it was pruned than when somebody last looked.
    """
    missing = missing_refs(ledger)
    if not missing:
        return
    from takeback.store.history import all_trash  # nearly never

    refs = store.refs.list(EVERYTHING, damaged={})
    kept = [refs, *(trash.tips for trash in all_trash(store))]
    for ref, tip in missing:
        place = bytes.fromhex(tip)
        if any(ref in tips and _is_reached(store, ref, tips[ref], place) for tips in kept):
            forget_missing(ledger, ref, tip)


def _is_reached(store: Store, ref: str, tip: bytes, place: bytes) -> bool:
    """Tells whether a ref leads to a place where it was; a new name for a label replaces it."""
    return ref.startswith(LABELS) or leads_to(store, tip, place)


def _finish(store: Store, ledger: Ledger, wanted: dict[str, str]) -> None:
    """Writes what is not in the line of checkpoints: the labels, and that all of it is done."""
    known = ledger.tips()
    labels = [{r: t for r, t in tips.items() if r.startswith(LABELS)} for tips in (known, wanted)]
    if labels[0] != labels[1]:
        given = read_labels(store)
        ledger.set_labels((one, label.name, label.agent) for one, label in given.items())
    for ref in known:
        if ref not in wanted:
            ledger.forget_tip(ref)
    ledger.set_tips(wanted)
    ledger.set_whole(whole=True)


# -- the index of a store: its ledger, as one who asks has it open


_TRIED_EVERY = 1.0
"""Seconds between two attempts to read what could not be read."""


class Index:
    """The ledger of a store, opened and caught up on use.

    ``patience`` says for how many seconds another process may write it before we do without.
    """

    def __init__(
        self,
        store: Store,
        reporter: Reporter,
        *,
        rebuild: bool = False,
        patience: float | None = None,
    ) -> None:
        self._store = store
        self._reporter = reporter
        self._patience = patience
        self._ledger = rebuild_ledger(store, reporter) if rebuild else None
        self._is_steady = False
        self._tried = time.monotonic()

    def steady(self, locked: Locked) -> Steady:
        """Returns a context manager for questions that one look at the refs is enough for.

        Only while this process holds the lock and writes nothing itself: then nobody else does.
        """
        locked.check()
        return Steady(self)

    def keep(self, *, steady: bool) -> None:
        """Catches up now and not again, or at each question; see ``steady``."""
        self._is_steady = False
        if steady:
            self.ask(lambda ledger: None)
        self._is_steady = steady

    def ask(self, question: Callable[[Ledger], T]) -> T:
        """Asks the ledger; if it turns out to be damaged, rebuilds it and asks once more."""
        try:
            return question(self._caught_up())
        except LedgerDamaged as error:
            self._reporter.note(f"The ledger was damaged ({error}) and is made anew.")
            self.close()
            self._ledger = anew_or_without(self._store, self._reporter)
        except LedgerUnwritable as error:  # since it was opened, such as a disk that is full now
            self.close()
            self._ledger = without(self._store, self._reporter, error)
        return question(self._ledger)

    def _caught_up(self) -> Ledger:
        if self._is_outdated():
            self.close()
        if self._ledger is None:
            self._ledger = self._opened()
        elif not self._is_steady:
            try:
                catch_up(self._store, self._ledger, self._reporter)
                self._try_again()
            except LedgerUnwritable:  # no longer writable: opening it says so and does without
                self.close()
                self._ledger = self._opened()
        return self._ledger

    def _is_outdated(self) -> bool:
        """Tells whether the ledger that is open is no longer the one that others use."""
        if self._ledger is None or self._is_steady:
            return False
        if self._ledger.is_stopgap:
            return not is_busy(self._store.path("ledger.db"))
        return self._ledger.is_replaced

    def _try_again(self) -> None:
        """Looks, now and then, whether what could not be read can be read: we may stay for long."""
        now = time.monotonic()
        if self._ledger is not None and now - self._tried >= _TRIED_EVERY:
            self._tried = now
            read_again(self._store, self._ledger, self._reporter)

    def _opened(self) -> Ledger:
        return open_ledger(self._store, self._reporter, patience=self._patience)

    def close(self) -> None:
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None


class Steady:
    """Keeps an index steady for the length of a ``with``."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def __enter__(self) -> None:
        self._index.keep(steady=True)

    def __exit__(self, *exc: object) -> None:
        self._index.keep(steady=False)


# -- the index of one who only looks: it never catches up itself, and never waits long for it
#
#         refs      a1 ── a2 ── a3 ── a4
#         ledger    a1 ── a2                another is at it: the answer is that of a2
#
# What is new is left to whoever has the workspace open to work in it. That takes a moment after a
# turn, and is waited for; after a prune of thousands of turns it takes long, and the answer is that
# of the state before.


_PATIENCE = 0.1
"""Seconds that another may write before a count of lines is not kept."""


class LaggingIndex:
    """The ledger of a store, opened by one who leaves catching up to another."""

    def __init__(self, store: Store, bring_up: BringUp) -> None:
        self._store = store
        self._bring_up = bring_up
        self._ledger: Ledger | None = None
        self._is_current: bool | None = None
        """Whether all was there at this look; None if nobody has looked yet."""

    def look_again(self) -> None:
        """Looks at the refs at the next question; until then one look is enough for all."""
        self._is_current = None

    def ask(self, question: Callable[[Ledger], T]) -> T:
        """Asks the ledger as it is; raises LedgerDamaged or LedgerUnwritable if it is of no use."""
        try:
            return self._ask(question)
        except (LedgerDamaged, LedgerUnwritable):
            self.close()
            raise

    def _ask(self, question: Callable[[Ledger], T]) -> T:
        ledger = self._looked_at()
        if ledger.is_held:  # it is part of another question
            return question(ledger)
        if self._is_current:
            try:
                answer = question(ledger)
            except TakebackError:
                if ledger.is_whole:
                    raise
            else:
                if ledger.is_whole:
                    return answer
            ledger = self._whole()
        ledger.hold()
        try:
            if not ledger.is_whole:
                raise LedgerUnwritable("it is being made anew")
            return question(ledger)
        finally:
            ledger.let_go()

    def _looked_at(self) -> Ledger:
        """Returns the ledger, open, after one look at the refs."""
        if self._ledger is not None and self._is_current is not None:
            return self._ledger
        ledger = self._opened()
        self._is_current = is_current(self._store, ledger)
        if not self._is_current and self._bring_up(long=False):
            ledger = self._opened_again()
        if self._is_current or (ledger.is_whole and ledger.tips()):
            return ledger
        return self._whole()

    def _whole(self) -> Ledger:
        """Returns the ledger when all is in it."""
        if not self._bring_up(long=True):
            raise LedgerUnwritable("nobody can catch up")
        ledger = self._opened_again()
        if not self._is_current and not ledger.tips():
            raise LedgerUnwritable("it is kept in memory alone")
        return ledger

    def _opened_again(self) -> Ledger:
        """Looks again, and if that is not enough, at the file: another may be the ledger now."""
        ledger = self._opened()
        self._is_current = is_current(self._store, ledger)
        if not self._is_current:
            self.close()
            ledger = self._opened()
            self._is_current = is_current(self._store, ledger)
        return ledger

    def _opened(self) -> Ledger:
        if self._ledger is None:
            path = self._store.path("ledger.db")
            if not os.path.exists(path) and not self._bring_up(long=True):
                raise LedgerUnwritable("nobody can make it")
            self._ledger = Ledger(path, patience=_PATIENCE)
        return self._ledger

    def close(self) -> None:
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None
        self._is_current = None
