"""JSON without the ``json`` package.

``import json`` costs 10 ms because it compiles regular expressions, and a hook reads one
small document and writes another. The C scanner and the C string encoder that ``json``
itself uses are enough for both; where they are missing, ``json`` is used.
"""

from __future__ import annotations

from takeback.c_modules import json_scanner, json_string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Json = None | bool | int | float | str | list[Any] | tuple[Any, ...] | dict[str, Any]

_WHITESPACE = " \t\n\r"


def dumps(value: Json) -> str:
    """Returns ``value`` as one line of ASCII JSON; keys keep their order.

    Raises ValueError if it contains itself.
    """
    try:
        return _dumps(value)
    except RecursionError:  # as deep as an agent likes: slower, but without a limit
        return "".join(_pieces(value))


def _pieces(value: Any) -> list[str]:
    """Does what ``_dumps`` does, but not recursively; raises ValueError if it contains itself."""
    done: list[str] = []
    left: list[Any] = [value]
    around: set[int] = set()
    while left:
        one = left.pop()
        if type(one) is _Text:
            done.append(one)
        elif type(one) is _End:
            around.remove(one.of)
        elif isinstance(one, (dict, list, tuple)):
            if id(one) in around:
                raise ValueError("a value that holds itself is no JSON")
            around.add(id(one))
            pairs = one.items() if isinstance(one, dict) else ((None, item) for item in one)
            items: list[Any] = []
            for key, item in pairs:
                comma = ", " if items else ""
                items += [_Text(comma if key is None else f"{comma}{json_string(key)}: "), item]
            opening, closing = "{}" if isinstance(one, dict) else "[]"
            done.append(opening)
            left += reversed([*items, _Text(closing), _End(id(one))])
        else:
            done.append(_dumps(one))
    return done


class _Text(str):
    """Text that is JSON already."""


class _End:
    """The end of one dict or list."""

    def __init__(self, of: int) -> None:
        self.of = of


def _dumps(value: Json) -> str:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return json_string(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, dict):
        return "{%s}" % ", ".join([f"{json_string(k)}: {_dumps(v)}" for k, v in value.items()])
    return "[%s]" % ", ".join([_dumps(item) for item in value])


class _Settings:
    """What the C scanner reads from its decoder."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    array_hook = None  # from Python 3.15 on
    parse_float = float
    parse_int = int
    parse_constant = float


def _scanner() -> Callable[[str, int], tuple[Any, int]] | None:
    """Returns the C scanner; None if there is none, or if it needs more than we give."""
    if json_scanner is None:
        return None
    try:
        return json_scanner(_Settings)
    except (AttributeError, TypeError):  # a Python that is newer than this code
        return None


def loads(text: str) -> Json:
    """Returns the one JSON value in ``text``; raises ValueError on anything else."""
    scan = _scanner()
    if scan is None:
        from json import loads as decode

        return decode(text)  # type: ignore[no-any-return]
    start = len(text) - len(text.lstrip(_WHITESPACE))
    try:
        value, end = scan(text, start)
    except StopIteration as stop:
        raise ValueError(f"not JSON at character {stop.value}") from None
    except SystemError:  # the scanner wanted to raise json's own error, and json is not loaded
        raise ValueError("not JSON: a string or number is cut off") from None
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    if text[end:].strip(_WHITESPACE):
        raise ValueError(f"more than one JSON value, the second at character {end}")
    return value  # type: ignore[no-any-return]
