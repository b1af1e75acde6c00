"""What a program gives to the Python API, looked at first, one call at a time."""

from __future__ import annotations

import os

from takeback.app.border import named_like
from takeback.c_modules import RLock
from takeback.errors import UsageError
from takeback.model.checkpoint import Checkpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from takeback.app.travel import TurnLike, Turns
    from takeback.app.workspace import CheckpointLike
    from takeback.timeline.names import NamedTurn

    C = TypeVar("C", bound=type)
    Given = Callable[[tuple[Any, ...], dict[str, Any]], list[Any]]
    """Returns the words of a call as they are meant, and puts the named ones right."""
    Taking = Callable[[object], object]
    """Returns what is taken for a value; raises TypeError with what would have fitted."""

# -- one at a time: what lets threads share a ``Takeback``, its sessions and its turns
#
#     thread 1   checkpoint ────────┐        rewind ──────
#     thread 2        turn begins   └─────┐
#     thread 3            cat             └───┐
#
# Whoever calls while another is at it waits; a call begins on what the one before it has left. The
# lock is the engine's, so that all that was made from one workspace takes turns with all the rest.


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


# -- given: what a program gives to the Python API, looked at before anything is done with it
#
# A program may give what a method returned where a checkpoint or a turn is meant: what was made, an
# entry of the log, a turn. What is of the wrong kind is the program's mistake, and no bug of ours:
# UsageError says what fits.


_MOST = 1 << 62
_LEADS = ("checkpoint", "entry", "before")
"""Where what methods return has its checkpoint: what was made, an entry, what shows one; a turn."""
_COROUTINE = 0x80
_VARARGS = 0x04


def place(value: CheckpointLike) -> str | Checkpoint:
    """Returns the name or the checkpoint that is meant by a value; raises UsageError."""
    found: str | Checkpoint = _taken("checkpoint", _place, value)
    return found


def turns(value: Turns) -> tuple[str | NamedTurn, ...]:
    """Returns the names of turns, or what they are; one may be given alone."""
    found: tuple[str | NamedTurn, ...] = _taken("turns", _turns, value)
    return found


def turn(value: TurnLike) -> str | NamedTurn:
    """Returns the name of a turn, or what it is."""
    found: str | NamedTurn = _taken("turn", _turn, value)
    return found


def checked(cls: C) -> C:
    """Makes every public method of a class look at what it is given, by what it is declared as."""
    for name, value in list(vars(cls).items()):
        if name.startswith("_"):
            continue
        if isinstance(value, classmethod):
            setattr(cls, name, classmethod(_checked(value.__func__)))
        elif hasattr(value, "__code__") and value.__code__.co_varnames[:1] == ("self",):
            setattr(cls, name, _checked(value))
    return cls


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    given = fitting(function)

    def call(self: Any, *args: Any, **options: Any) -> Any:
        return function(self, *given(args, options), **options)

    async def awaited(self: Any, *args: Any, **options: Any) -> Any:
        return await function(self, *given(args, options), **options)

    is_awaited = function.__code__.co_flags & _COROUTINE
    return named_like(awaited if is_awaited else call, function)


def fitting(method: Callable[..., Any]) -> Given:
    """Returns what looks at all that a method is given, by what it is declared as."""
    while hasattr(method, "__wrapped__"):
        method = method.__wrapped__
    code, declared = method.__code__, method.__annotations__
    number = code.co_argcount + code.co_kwonlyargcount
    takes = {name: _KINDS[declared[name]] for name in code.co_varnames[1:number]}
    in_order = [*takes.items()][: code.co_argcount - 1]
    if code.co_flags & _VARARGS:
        rest = code.co_varnames[number]
        in_order += [(rest, _KINDS[declared[rest]])] * 1000  # nobody types more words than that

    def given(args: tuple[Any, ...], options: dict[str, Any]) -> list[Any]:
        for name in options.keys() & takes.keys():
            options[name] = _taken(name, takes[name], options[name])
        found = [_taken(*one, value) for one, value in zip(in_order, args, strict=False)]
        return [*found, *args[len(found) :]]

    return given


def _taken(name: str, take: Taking, value: object) -> Any:
    try:
        return take(value)
    except TypeError as error:
        kind = "None" if value is None else f"of type {type(value).__name__}"
        raise UsageError(f"{name} cannot be {kind}", hint=f"give {error}") from None


def _a(what: str, *kinds: type) -> Taking:
    """Returns what takes a value of some kinds."""

    def take(value: object) -> object:
        if isinstance(value, kinds) and (type(value) is not bool or bool in kinds):
            return value
        raise TypeError(what)

    return take


def _one_of(what: str, *names: str) -> Taking:
    """Returns what takes a value of our own, of a class that need not be imported for that."""

    def take(value: object) -> object:
        if _is_our(value, *names):
            return value
        raise TypeError(what)

    return take


def _event(value: object) -> object:
    from takeback.model.event import EVENTS

    if isinstance(value, str) and value in EVENTS:
        return value
    raise TypeError("the kind of an event, of takeback.model.event")


def _is_our(value: object, *names: str) -> bool:
    """Tells whether a value is of a class of this package, of one of some names."""
    classes = [one for one in type(value).__mro__ if one.__module__.startswith("takeback.")]
    return any(one.__name__ in names for one in classes) if names else bool(classes)


def _or_none(take: Taking) -> Taking:
    return lambda value: None if value is None else take(value)


def _each(take: Taking) -> Taking:
    """Returns what takes several, or one alone, which Python might take apart."""

    def taken(value: object) -> tuple[object, ...]:
        if isinstance(value, (str, bytes, os.PathLike)) or _is_our(value):
            return (take(value),)
        try:
            several = iter(value)  # type: ignore[call-overload]
        except TypeError:
            return (take(value),)  # which says what would have fitted
        return tuple(take(one) for one in several)

    return taken


def _place(value: object) -> str | Checkpoint:
    if isinstance(value, (str, Checkpoint)):
        return value
    lead = next((name for name in _LEADS if hasattr(type(value), name)), None)
    if lead is None or not _is_our(value):
        raise TypeError("a name (turn:3, @, a label, an id), a checkpoint, or a turn")
    return _place(getattr(value, lead))


def _turn(value: object) -> object:
    if _is_our(value, "NamedTurn"):
        return value
    found = _place(value)
    return found.id if isinstance(found, Checkpoint) else found


_turns = _each(_turn)


def _carried(value: object) -> object:
    return value if _is_our(value, "CarriedTurn") else _turn(value)


def _path(value: object) -> object:
    if isinstance(value, (str, bytes, os.PathLike)):
        return value if isinstance(value, (str, bytes)) else os.fspath(value)
    raise TypeError("a path: text or bytes")


def _whole(value: object) -> object:
    if isinstance(value, int) and type(value) is not bool and abs(value) < _MOST:
        return value
    raise TypeError("a whole number")


def _words(value: object) -> object:
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return value
    raise TypeError('a list of words: ["make", "test"]')


def _with(what: str, *names: str) -> Taking:
    """Returns what takes anything that has some methods."""

    def take(value: object) -> object:
        if all(callable(getattr(value, name, None)) for name in names):
            return value
        raise TypeError(what)

    return take


def _as_it_is(value: object) -> object:
    """Takes what is looked at where it is read."""
    return value


_text = _a("text", str)
_mapping = _with("a mapping", "get", "keys")
_KINDS: dict[str, Taking] = {
    "CheckpointLike": _place,
    "CheckpointLike | None": _or_none(_place),
    "Iterable[CheckpointLike]": _each(_place),
    "TurnLike": _turn,
    "Turns": _turns,
    "TurnLike | CarriedTurn": _carried,
    "Iterable[str | bytes]": _each(_path),
    "str | bytes": _path,
    "Where": _path,
    "str": _text,
    "str | None": _or_none(_text),
    "str | Outcome": lambda value: value if _is_our(value, "Outcome") else _text(value),
    "Sequence[str]": _words,
    "bool": _a("True or False", bool),
    "int": _whole,
    "int | None": _or_none(_whole),
    "float | None": _or_none(_a("seconds", int, float)),
    "ScopeKind | None": _or_none(_text),
    "SummaryWay": _text,
    "Maker | None": _or_none(_with("a function that returns the summary of a text", "__call__")),
    "Overrides": _one_of("Overrides, of takeback.model.coverage", "Overrides"),
    "Keeping": _one_of("Keeping, of takeback.rewind.request", "Keeping"),
    "ConflictChoices": _one_of("ConflictChoices, of takeback.model.conflicts", "ConflictChoices"),
    "Plan | None": _or_none(_one_of("a plan that was returned", "Plan")),
    "Prune": _one_of("what plan_prune returned", "Prune"),
    "Purge": _one_of("what plan_purge returned", "Purge"),
    "Prune | Purge": _one_of("what plan_prune or plan_purge returned", "Prune", "Purge"),
    "AgentEvent": _one_of("AgentEvent, of takeback.model.event", "AgentEvent"),
    "Iterable[ToolCall]": _each(_one_of("ToolCall, of takeback.model.event", "ToolCall")),
    "events.EventKind": _event,
    "Conversation | None": _as_it_is,
    "Mapping[str, Any]": _mapping,
    "Mapping[str, str] | None": _or_none(_mapping),
    "Clock | None": _or_none(_with("what has now()", "now")),
    "Reporter | None": _or_none(_with("what has note() and progress()", "note", "progress")),
}
"""What is taken where a parameter is declared so; what is not here cannot be declared."""
