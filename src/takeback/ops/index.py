"""The index of a store: its ledger, as one who asks has it open."""

from __future__ import annotations

import time

from takeback.errors import LedgerDamaged, LedgerUnwritable
from takeback.ledger.file import is_busy
from takeback.ops.catch_up import (
    anew_or_without,
    catch_up,
    open_ledger,
    read_again,
    rebuild_ledger,
    without,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from takeback.ledger.ledger import Ledger
    from takeback.ports import Reporter
    from takeback.store.locked import Locked
    from takeback.store.store import Store

    T = TypeVar("T")

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
