"""The index of one who only looks: it never catches up itself, and never waits long for it.

        refs      a1 ── a2 ── a3 ── a4
        ledger    a1 ── a2                another is at it: the answer is that of a2

What is new is left to whoever has the workspace open to work in it. That takes a moment after a
turn, and is waited for; after a prune of thousands of turns it takes long, and the answer is that
of the state before.
"""

from __future__ import annotations

import os

from takeback.errors import LedgerDamaged, LedgerUnwritable, TakebackError
from takeback.ledger.ledger import Ledger
from takeback.ops.catch_up import is_current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol, TypeVar

    from takeback.store.store import Store

    T = TypeVar("T")

    class BringUp(Protocol):
        """Has the ledger caught up; True once that is done, also if it takes ``long``."""

        def __call__(self, *, long: bool) -> bool: ...


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
