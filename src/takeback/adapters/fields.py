"""Reads fields of a payload from another program, which may have any shape."""

from __future__ import annotations

from takeback.model import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


_HEX = frozenset("0123456789abcdefABCDEF")
_LETTERS = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def is_uuid(text: str) -> bool:
    """Tells whether a text is a UUID: the only session ids allowed on most command lines.

    An id is whatever an event says. One that is an option of the command line would be obeyed.
    """
    groups = text.split("-")
    return [len(group) for group in groups] == [8, 4, 4, 4, 12] and _HEX.issuperset("".join(groups))


def is_prefixed(text: str, prefix: str) -> bool:
    """Tells whether a text is a prefix followed only by letters and digits."""
    rest = text.removeprefix(prefix)
    return text.startswith(prefix) and 0 < len(rest) <= 64 and _LETTERS.issuperset(rest)


def told(event: str, note: str, warning: str) -> str:
    """Returns what a hook prints, in the JSON that Claude Code, Codex and Gemini all read.

    ``note`` is for the model, at the event of a prompt; ``warning`` is shown to the person.
    """
    answer: dict[str, Any] = {}
    if warning:
        answer["systemMessage"] = warning
    if note:
        answer["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": note}
    return json_text.dumps(answer)


def text(payload: Mapping[str, Any], name: str) -> str | None:
    """Returns a field that is a string and not empty, else None."""
    value = payload.get(name)
    return value if isinstance(value, str) and value else None


def required(payload: Mapping[str, Any], name: str) -> str:
    """Returns a field that must be a string; raises ValueError naming it."""
    value = text(payload, name)
    if value is None:
        raise ValueError(f"the payload has no {name}")
    return value


def texts(payload: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Returns the strings of a field that is a list, else an empty tuple."""
    value = payload.get(name)
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()


def flag(payload: Mapping[str, Any], name: str, *, default: bool = False) -> bool:
    value = payload.get(name)
    return value if isinstance(value, bool) else default


def number(payload: Mapping[str, Any], name: str) -> int | None:
    value = payload.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def records_with(tail: bytes, word: str) -> Iterator[Mapping[str, Any]]:
    """Yields the JSON objects of the last lines that hold a string, the newest first.

    Of eight lines at most; a line that is torn or no object is passed over.
    """
    for _, record in lines_with(tail, word, most=8):
        yield record


def lines_with(
    data: bytes, word: str, *, before: int | None = None, first: bool = False, most: int = 64
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yields lines that hold a string: where each begins, what it says.

    The newest first, of those ``before`` a place; or, if asked, the ``first`` ones in their order.
    """
    wanted = json_text.dumps(word).encode()
    begin, end = len(data) if before is None else before, 0
    for _ in range(most):
        at = data.find(wanted, end) if first else data.rfind(wanted, 0, begin)
        if at < 0:
            return
        begin, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        end = end if end >= 0 else len(data)
        try:
            record = json_text.loads(data[begin:end].decode("utf-8", "surrogateescape"))
        except ValueError:
            continue
        if isinstance(record, dict):
            yield begin, record


def table(payload: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Returns a field that is an object, else an empty one."""
    value = payload.get(name)
    return value if isinstance(value, dict) else {}


def tables(payload: Mapping[str, Any], name: str) -> tuple[Mapping[str, Any], ...]:
    """Returns the objects of a field that is a list, else an empty tuple."""
    value = payload.get(name)
    return tuple(v for v in value if isinstance(v, dict)) if isinstance(value, list) else ()
