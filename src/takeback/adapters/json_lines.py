"""Files of one JSON object per line, as most agents keep their conversations.

A program wrote them, and another version of it may write them differently: whatever a line holds,
it is read without an error. No hook imports this.
"""

from __future__ import annotations

import json
import time

from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    Record = Mapping[str, Any]
    T = TypeVar("T")


class JsonLine(Value):
    """One line: its bytes with their newline, and what they say; empty if that is not an object."""

    raw: bytes
    record: Record


def read(data: bytes, line: Callable[[bytes, Record], T]) -> list[T]:
    """Returns the complete lines, each made by ``line``; a last one without its end is left out."""
    return [line(raw + b"\n", _record(raw)) for raw in data.split(b"\n")[:-1]]


def read_all(data: bytes, line: Callable[[bytes, Record], T]) -> list[T]:
    """Returns all lines; the last may lack its newline."""
    return read(data + b"\n", line)


def written(record: Record) -> bytes:
    """Returns a line as agents write it, with its newline."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    # Half of a surrogate pair has no UTF-8; JSON writes it as an escape.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def timestamp(now: float) -> str:
    """Returns a time as agents write it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"


def _record(raw: bytes) -> Record:
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}
