"""One attempt at something that a single bad checkpoint or object may spoil."""

from __future__ import annotations

from takeback.errors import LedgerDamaged, LedgerUnwritable, TakebackError, TimedOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")


class Spoilt(Exception):
    """What was tried failed; the text says why, in words for a person."""


def attempt(action: Callable[[], T]) -> T:
    """Returns what ``action`` returns; raises Spoilt for anything that goes wrong in it.

    The one place in the core that catches any exception. The action concerns one checkpoint among
    thousands, whose bytes may come from anywhere; none of them, and no bug of ours that only one of
    them triggers, may make every command fail from then on. Errors that do not concern that
    checkpoint are passed on: a damaged or full ledger, a time limit from outside, an interrupt.
    """
    try:
        return action()
    except (LedgerDamaged, LedgerUnwritable, TimedOut):
        raise
    except TakebackError as error:
        raise Spoilt(error.message) from error
    except Exception as error:
        raise Spoilt(f"{type(error).__name__}: {error}") from error
