"""A conversation as Copilot CLI keeps it: one JSON line per event, in the order of time.

    session.start · user.message · assistant.message · tool.execution_complete · ...

What the person goes back over with Copilot's own commands is taken out of the file, so what the
file holds at a place is what was said by then. Around each prompt and each call there are events
about hooks, ours among them: a file that ends with those ends a moment before.
"""

from __future__ import annotations

import os
import uuid

from takeback.adapters import fields, json_lines
from takeback.adapters.copilot import EVENTS
from takeback.adapters.json_lines import JsonLine
from takeback.model.checkpoint import Anchor, NewSession

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_ASIDE = ("hook.start", "hook.end", "session.resume", "session.shutdown")
_BEGINS = ("assistant.turn_start", "user.message", "abort", "session.compaction_start")
"""What a round is followed by: it changes files, or is the next step."""
_SAID = ("user.message", "assistant.message", "tool.execution_complete", "abort")


def cut(held: bytes, anchor: Anchor, later: bytes) -> bytes:
    """Returns the events up to a place; empty if no person had said anything by then.

    A call's result is written after its hook: the rest of the round is looked up in what the file
    held ``later``.
    """
    lines = lines_of(held)
    if not anchor.before and later.startswith(held):
        whole = held.rfind(b"\n") + 1
        lines += _rest_of_round(lines_of(later[whole:]))
    while lines and type_of(lines[-1]) in _ASIDE:
        lines.pop()
    if not any(type_of(line) == "user.message" for line in lines):
        return b""
    return b"".join(line.raw for line in lines)


def new_session(history: bytes, *, transcript: str) -> NewSession:
    """Returns a history under a new id, in a directory beside the old one's.

    The id is in its first event; what hooks were once told stays as it was.
    """
    new = str(uuid.uuid4())
    root = os.path.dirname(os.path.dirname(transcript))
    data = b"".join(_renamed(line, new) for line in lines_of(history))
    return NewSession(new, os.path.join(root, new, EVENTS), data)


def is_aborted(tail: bytes) -> bool:
    """Tells whether the newest that was said is that the person stopped it (Esc)."""
    newest = next((line for line in reversed(lines_of(tail)) if type_of(line) in _SAID), None)
    return newest is not None and type_of(newest) == "abort"


def lines_of(data: bytes) -> list[JsonLine]:
    return [line for line in json_lines.read(data, JsonLine) if line.record]


def _rest_of_round(lines: Sequence[JsonLine]) -> list[JsonLine]:
    ends = (at for at, line in enumerate(lines) if type_of(line) in _BEGINS)
    return list(lines[: next(ends, len(lines))])


def type_of(line: JsonLine) -> str | None:
    return fields.text(line.record, "type")


def _renamed(line: JsonLine, new: str) -> bytes:
    data = fields.table(line.record, "data")
    if type_of(line) != "session.start" or "sessionId" not in data:
        return line.raw
    return json_lines.written({**line.record, "data": {**data, "sessionId": new}})
