"""JSON without the ``json`` package.

``import json`` costs 10 ms because it compiles regular expressions, and a hook reads one
small document and writes another. The C scanner and the C string encoder that ``json``
itself uses are enough for both; where they are missing, ``json`` is used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Json = None | bool | int | float | str | list[Any] | tuple[Any, ...] | dict[str, Any]

_quote: Callable[[str], str]
_make_scanner: Callable[[Any], Callable[[str, int], tuple[Any, int]]] | None
try:
    from _json import encode_basestring_ascii as _quote
    from _json import make_scanner as _make_scanner
except ImportError:  # another Python than CPython
    from json import dumps as _quote

    _make_scanner = None

_WHITESPACE = " \t\n\r"


def dumps(value: Json) -> str:
    """Returns ``value`` as one line of ASCII JSON; keys keep their order."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, dict):
        return "{%s}" % ", ".join(f"{_quote(k)}: {dumps(v)}" for k, v in value.items())
    return "[%s]" % ", ".join(dumps(item) for item in value)


class _Settings:
    """What the C scanner wants to know of its decoder."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def loads(text: str) -> Json:
    """Returns the one JSON value in ``text``; raises ValueError on anything else."""
    if _make_scanner is None:
        from json import loads as decode

        return decode(text)  # type: ignore[no-any-return]
    start = len(text) - len(text.lstrip(_WHITESPACE))
    try:
        value, end = _make_scanner(_Settings)(text, start)
    except StopIteration as stop:
        raise ValueError(f"not JSON at character {stop.value}") from None
    except SystemError:  # the scanner wanted to raise json's own error, and json is not loaded
        raise ValueError("not JSON: a string or number is cut off") from None
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    if text[end:].strip(_WHITESPACE):
        raise ValueError(f"more than one JSON value, the second at character {end}")
    return value  # type: ignore[no-any-return]
