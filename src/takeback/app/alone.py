"""One at a time: what lets threads share a ``Takeback``, its sessions and its turns.

    thread 1   checkpoint ────────┐        rewind ──────
    thread 2        turn begins   └─────┐
    thread 3            cat             └───┐

Whoever calls while another is at it waits; a call begins on what the one before it has left. The
lock is the engine's, so that all that was made from one workspace takes turns with all the rest.

What waits for a program or a function of somebody else, for minutes perhaps, is done ``aside``: in
the same workspace, opened once more, as another process would do it.
"""

from __future__ import annotations

from takeback.c_modules import RLock
from takeback.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    C = TypeVar("C", bound=type)
    F = TypeVar("F", bound=Callable[..., Any])


class Alone:
    """Held by one thread at a time, which may take it again; UsageError once it is closed."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._is_closed = False

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._is_closed:
            self._lock.release()
            raise UsageError("the workspace was closed", hint="open it again: Takeback.open")

    def __exit__(self, *exc: object) -> None:
        self._lock.release()

    def close(self, close: Callable[[], None]) -> None:
        """Waits for who is at it, closes the workspace, and lets nobody in any more."""
        with self._lock:
            self._is_closed = True
            close()


def aside(function: F) -> F:
    """Marks a method of a ``one_at_a_time`` class that keeps nobody waiting."""
    function.is_aside = True  # type: ignore[attr-defined]
    return function


def one_at_a_time(cls: C) -> C:
    """Makes every public method of a class, but ``close``, hold the lock that is its ``_alone``."""
    for name, value in list(vars(cls).items()):
        is_method = callable(value) and not isinstance(value, (staticmethod, type))
        if is_method and name != "close" and not name.startswith("_"):
            kept = _aside(value) if hasattr(value, "is_aside") else _alone(value)
            # By hand, as in ``border``: functools is slow to import.
            for word in ("__name__", "__qualname__", "__doc__", "__module__"):
                setattr(kept, word, getattr(value, word))
            kept.__wrapped__ = value  # type: ignore[attr-defined]
            setattr(cls, name, kept)
    return cls


def _alone(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **options: Any) -> Any:
        with self._alone:
            return function(self, *args, **options)

    return call


def _aside(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **options: Any) -> Any:
        with self._alone:
            own = type(self)(self.engine.opened_again())
        with own:
            return function(own, *args, **options)

    return call
