"""Codex rollouts: where a turn begins, a history cut there, and that history as a new thread.

One JSON object per line. ``task_started`` begins a turn and ``task_complete`` or ``turn_aborted``
ends it. When the prompt hook runs the turn has begun, but the prompt is not written yet:

    session_meta │ task_started … task_complete │ task_started turn_context ░ prompt …
                 └──────────── turn 1 ──────────┘             the prompt hook ┘
"""

from __future__ import annotations

import os
import time

from takeback.adapters import fields, json_lines
from takeback.adapters.json_lines import JsonLine
from takeback.model.checkpoint import Anchor, NewSession

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

META = "session_meta"
_STARTED = "task_started"
_ENDED = ("task_complete", "turn_aborted")
_QUIET_LINES = (META, "turn_context", "world_state", "token_usage_record")
_QUIET_EVENTS = (_STARTED, *_ENDED, "token_count", "thread_settings_applied")
_ID_FIELDS = ("thread_id", "session_id", "sender_thread_id")
_ELSEWHERE = ("history_base", "forked_from_id", "forked_from_ordinal_exclusive")
"""What a first line says of the file that it continues."""


class RolloutLine(JsonLine):
    """One line of a rollout: its bytes, and what they say if they can be read."""

    @property
    def kind(self) -> str | None:
        return fields.text(self.record, "type")

    @property
    def payload(self) -> Mapping[str, Any]:
        return fields.table(self.record, "payload")

    @property
    def event(self) -> str | None:
        """What an event line reports, such as ``task_started``."""
        return fields.text(self.payload, "type") if self.kind == "event_msg" else None

    @property
    def turn(self) -> str | None:
        passed = fields.table(self.payload, "internal_chat_message_metadata_passthrough")
        return fields.text(self.payload, "turn_id") or fields.text(passed, "turn_id")

    @property
    def is_message(self) -> bool:
        return self.kind == "response_item" and self.payload.get("type") == "message"

    @property
    def is_human(self) -> bool:
        """True for what a person typed; Codex itself also speaks as the user."""
        if not self.is_message or self.payload.get("role") != "user":
            return False
        passed = fields.table(self.payload, "internal_chat_message_metadata_passthrough")
        known = fields.tables(passed, "content_item_metadata")
        if known:
            return any(fields.table(one, "provenance").get("type") == "user" for one in known)
        return not any(text.lstrip().startswith("<") for text in self.texts)

    @property
    def texts(self) -> tuple[str, ...]:
        found = (fields.text(one, "text") for one in fields.tables(self.payload, "content"))
        return tuple(text for text in found if text is not None)

    @property
    def is_said(self) -> bool:
        """True for what somebody said or did, False for settings and context around it."""
        if self.is_message:
            return self.is_human or self.payload.get("role") == "assistant"
        if self.kind is None or self.kind in _QUIET_LINES:
            return False
        return self.event not in _QUIET_EVENTS


def cut(parts: Sequence[bytes], anchor: Anchor, later: Sequence[bytes]) -> bytes:
    """Returns the history up to a place; see the port."""
    lines = _joined(parts)
    kept = lines[: _place(lines, anchor, later)]
    started = _start(kept)
    if started is not None and not any(
        line.is_said or line.event in _ENDED for line in kept[started:]
    ):
        kept = kept[:started]  # a turn that has begun, but in which nothing was said yet
    if not any(line.is_said for line in kept):
        return b""
    return b"".join(line.raw for line in kept)


def _place(lines: Sequence[RolloutLine], anchor: Anchor, later: Sequence[bytes]) -> int:
    """Returns how many lines come before a place."""
    end = len(lines)
    if not anchor.before or anchor.turn is None:
        return end
    started = _start(lines, anchor.turn)
    if started is None:
        if any(_start(lines_of(part), anchor.turn) is not None for part in later):
            return end
        raise ValueError(f"turn {anchor.turn} is not in the transcript")
    prompts = [index for index in range(started, end) if lines[index].is_human]
    if not prompts:
        return started
    # The turn has its prompt, so this one was typed into it: it is yet to come, unless it is the
    # last thing that was said.
    own = prompts[-1]
    if anchor.prompt not in (*lines[own].texts, "\n".join(lines[own].texts)):
        return end
    if any(line.kind == "response_item" and line.is_said for line in lines[own + 1 :]):
        return end
    return own if len(prompts) > 1 else started


def _start(lines: Sequence[RolloutLine], turn: str | None = None) -> int | None:
    """Returns the line with which a turn begins, the newest turn if none is named."""
    for index in reversed(range(len(lines))):
        if lines[index].event == _STARTED and turn in (None, lines[index].turn):
            return index
    return None


def _joined(parts: Sequence[bytes]) -> list[RolloutLine]:
    """Returns the lines of a chain of files as those of one file."""
    newest = lines_of(parts[-1]) if parts else []
    pieces = [newest]
    older = list(parts[:-1])
    while (base := _base_in(pieces[-1])) is not None:
        if not older:
            raise ValueError("the file from which the conversation goes on is missing")
        pieces.append(_beginning(older.pop(), base))
    if len(pieces) == 1:
        return newest
    lines = [line for piece in reversed(pieces) for line in piece if line.kind != META]
    meta = {name: value for name, value in newest[0].payload.items() if name not in _ELSEWHERE}
    return numbered([written_line({**newest[0].record, "payload": meta}), *lines])


def _base_in(lines: Sequence[RolloutLine]) -> Mapping[str, Any] | None:
    """Returns what a file says of the one that it continues."""
    if not lines or lines[0].kind != META:
        return None
    return fields.table(lines[0].payload, "history_base") or None


def _beginning(older: bytes, base: Mapping[str, Any]) -> list[RolloutLine]:
    """Returns the lines of a file up to where another continues it."""
    end = fields.number(base, "end_byte_offset")
    lines = lines_of(older[:end]) if end is not None and 0 < end <= len(older) else []
    whole = sum(len(line.raw) for line in lines)
    last = fields.number(lines[-1].record, "ordinal") if lines else None
    if not lines or whole != end or last is None or last + 1 != base.get("end_ordinal_exclusive"):
        raise ValueError("the file from which the conversation goes on is another one")
    return lines


def numbered(lines: Iterable[RolloutLine]) -> list[RolloutLine]:
    """Returns lines with their ordinals from 0; unreadable ones have none."""
    numbered: list[RolloutLine] = []
    ordinal = 0
    for line in lines:
        if not line.record:
            numbered.append(line)
            continue
        if line.record.get("ordinal") != ordinal:
            line = written_line({**line.record, "ordinal": ordinal})
        numbered.append(line)
        ordinal += 1
    return numbered


def new_session(history: bytes, *, native: str, transcript: str, now: float) -> NewSession:
    """Returns a history as a new thread; its words stay as they are, even if they name the old one.

    A fork's lines that come from its parent have the parent's id.
    """
    new = _new_id(now)
    lines = lines_of(history)
    old = {native}
    for line in lines:
        if line.kind in ("event_msg", "token_usage_record"):
            old.add(fields.text(line.payload, "thread_id") or native)
    name = f"rollout-{time.strftime('%Y-%m-%dT%H-%M-%S', time.localtime(now))}-{new}.jsonl"
    data = b"".join(_renamed(line, old, new) for line in lines)
    return NewSession(new, os.path.join(os.path.dirname(transcript), name), data)


def _renamed(line: RolloutLine, old: set[str], new: str) -> bytes:
    if line.kind == META:
        payload = {**line.payload, "id": new, "session_id": new}
        return written_line({**line.record, "payload": payload}).raw
    if line.kind == "response_item" or not any(one.encode() in line.raw for one in old):
        return line.raw
    payload = _with_new_id(line.payload, old, new)
    if payload == line.payload:
        return line.raw
    return written_line({**line.record, "payload": payload}).raw


def _with_new_id(value: Any, old: set[str], new: str) -> Any:
    if isinstance(value, list):
        return [_with_new_id(one, old, new) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: new
        if name in _ID_FIELDS and isinstance(one, str) and one in old
        else _with_new_id(one, old, new)
        for name, one in value.items()
    }


def _new_id(now: float) -> str:
    """Returns a UUID of version 7, the form that Codex uses: the time, then random bits."""
    milliseconds = int(now * 1000) & ((1 << 48) - 1)
    chance = int.from_bytes(os.urandom(10), "big")
    number = milliseconds << 80 | 7 << 76 | (chance >> 64 & 0xFFF) << 64
    number |= 0b10 << 62 | chance & ((1 << 62) - 1)
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_over(tail: bytes, turn: str | None) -> bool:
    """Tells whether a turn, or the newest one, has ended; see the port."""
    for line in reversed(lines_of(tail)):
        if line.event in _ENDED and turn in (None, line.turn):
            return True
        if line.event == _STARTED and turn in (None, line.turn):
            return False
    return False


def lines_of(data: bytes) -> list[RolloutLine]:
    """Returns the complete lines; a last one without its end was being written."""
    return json_lines.read(data, RolloutLine)


def written_line(record: Mapping[str, Any]) -> RolloutLine:
    return RolloutLine(json_lines.written(record), record)
