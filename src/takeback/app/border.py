"""The border of the Python API: whatever goes wrong inside comes out as an error of ours.

An agent that uses takeback must not end because a disk is full, nor because of a bug of ours. It
catches ``TakebackError``, and nothing else can come. The faces have their own bugs told here, too:
one line for the person, and a file that says where it happened.
"""

from __future__ import annotations

from takeback.errors import Bug, TakebackError, WriteFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    C = TypeVar("C", bound=type)
    F = TypeVar("F", bound=Callable[..., Any])

_ALSO = ("__enter__", "__exit__")


def guarded(cls: C) -> C:
    """Makes every public method and property of a class raise only errors of ours."""
    for name, value in list(vars(cls).items()):
        if name.startswith("_") and name not in _ALSO:
            continue
        if isinstance(value, property):
            assert value.fget is not None
            setter = None if value.fset is None else _guarded(value.fset)
            setattr(cls, name, property(_guarded(value.fget), setter, doc=value.__doc__))
        elif isinstance(value, (classmethod, staticmethod)):
            setattr(cls, name, type(value)(_guarded(value.__func__)))
        elif callable(value):
            setattr(cls, name, _guarded(value))
    return cls


def bug(error: Exception) -> Bug:
    """Returns what is told of a bug: one line, which names the file that has the rest, if any."""
    if isinstance(error, Bug):
        return error
    try:
        from takeback.store.notes import keep_trace

        kept = keep_trace(error)
    except Exception:  # noqa: BLE001 - the bug may be in what writes; it is told all the same
        kept = ""
    return Bug(error, kept)


def keep_bugs_of_threads() -> None:
    """Has what nobody waits for, in threads and tasks, kept in that file and not printed."""
    import logging
    import threading

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            error = record.exc_info[1] if record.exc_info else None
            if isinstance(error, Exception):
                bug(error)

    def keep(args: threading.ExceptHookArgs) -> None:
        if isinstance(args.exc_value, Exception):
            bug(args.exc_value)

    threading.excepthook = keep
    log = logging.getLogger("asyncio")
    log.handlers, log.propagate = [Kept()], False


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except TakebackError:
            raise
        except OSError as error:
            raise WriteFailed.of(_words(function), error) from error
        except Exception as error:
            here = error.__traceback__
            if isinstance(error, TypeError) and here is not None and here.tb_next is None:
                raise  # the caller's own mistake: no such argument
            raise bug(error) from error

    return named_like(call, function)


def named_like(call: F, function: Callable[..., Any]) -> F:
    """Gives what stands for a function its name, its words and its signature."""
    # By hand, as functools would cost a hook a millisecond.
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(call, name, getattr(function, name))
    call.__wrapped__ = function  # type: ignore[attr-defined]
    return call


def _words(function: Callable[..., Any]) -> str:
    return function.__name__.replace("_", " ").strip()
