"""A conversation as pi keeps it: a tree of entries, one JSON object per line, in one file.

    {"type": "session", "id": ..., "cwd": ..., "parentSession": ...}      the header
    model ── system ── prompt 1 ── answer ┬─ prompt 2 ── answer           abandoned by /tree
                                          └─ prompt 3 ── answer ── label

The file only grows. The history at a place is the line of its ancestors. When pi resumes a file it
is at the last line; a label and a name are entries too, and apply wherever they are.
"""

from __future__ import annotations

import os
import uuid

from takeback.adapters import fields, json_lines
from takeback.adapters.json_lines import JsonLine
from takeback.adapters.pi import ROOT
from takeback.model.checkpoint import Anchor, NewSession

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_SPOKEN = ("user", "assistant", "toolResult", "custom", "bashExecution")
_OVER = ("stop", "length", "aborted")


class PiEntry(JsonLine):
    """One line of a session's file: its bytes, and what they say."""

    @property
    def kind(self) -> object:
        return self.record.get("type")

    @property
    def id(self) -> str | None:
        """The id of an entry; None for the header."""
        return None if self.kind == "session" else fields.text(self.record, "id")

    @property
    def message(self) -> Mapping[str, Any]:
        return fields.table(self.record, "message")

    @property
    def speaks(self) -> bool:
        """True for what is sent to the model besides pi's own words."""
        if self.kind == "message":
            return self.message.get("role") in _SPOKEN
        return self.kind in ("compaction", "branch_summary", "custom_message")

    def with_fields(self, **changes: Any) -> PiEntry:
        return written_line({**self.record, **changes})


def cut(held: bytes, anchor: Anchor, later: bytes) -> bytes:
    """Returns the header and the entries up to a place; empty if nothing was said before it.

    ``held`` is the file at the time of the place, ``later`` what it held afterwards. Raises
    ValueError if the anchor's leaf is in neither.
    """
    lines = lines_of(held)
    leaf = anchor.leaf or last_entry(lines)
    if not lines or leaf is None or leaf == ROOT:  # the file is created with the first answer
        return b""
    if leaf not in entries_of(lines):
        lines = lines_of(later)
    entries = entries_of(lines)
    if leaf not in entries:
        raise ValueError(f"the transcript has no entry {leaf}")
    path = _ancestors(entries, leaf)
    if not any(line.speaks for line in path):
        return b""
    header = next((line for line in lines if line.kind == "session"), None)
    if header is None:
        raise ValueError("the transcript has no header")
    return b"".join(line.raw for line in (header, *path, *_labels(lines, path)))


def new_session(history: bytes, *, transcript: str, title: str, now: float) -> NewSession:
    """Returns a history as a session of its own, beside the old file, with a title."""
    new = str(uuid.uuid4())
    moment = json_lines.timestamp(now)
    lines = lines_of(history)
    last = last_entry(lines)
    about = {"id": new, "timestamp": moment, "parentSession": transcript}
    lines = [line.with_fields(**about) if line.kind == "session" else line for line in lines]
    if lines and title:
        entry = {"id": os.urandom(4).hex(), "parentId": last, "timestamp": moment}
        lines.append(written_line({"type": "session_info", **entry, "name": title}))
    stamp = moment.replace(":", "-").replace(".", "-")
    path = os.path.join(os.path.dirname(transcript), f"{stamp}_{new}.jsonl")
    return NewSession(new, path, b"".join(line.raw for line in lines))


def is_over(tail: bytes) -> bool:
    """Tells whether the model has finished, or was stopped in the middle."""
    for line in reversed(lines_of(tail)):
        if line.message.get("role") in ("user", "toolResult"):
            return False
        if line.message.get("role") == "assistant":
            return line.message.get("stopReason") in _OVER
    return False


def lines_of(data: bytes) -> list[PiEntry]:
    """Returns the readable lines, as pi does: damaged and torn ones are skipped."""
    return [line for line in json_lines.read_all(data, PiEntry) if line.record]


def entries_of(lines: Sequence[PiEntry]) -> dict[str, PiEntry]:
    return {line.id: line for line in lines if line.id is not None}


def last_entry(lines: Sequence[PiEntry]) -> str | None:
    """Returns the entry that pi is at when it opens the file."""
    return next((line.id for line in reversed(lines) if line.id is not None), None)


def _ancestors(entries: Mapping[str, PiEntry], leaf: str) -> list[PiEntry]:
    """Returns an entry and all its ancestors, the oldest first."""
    found: dict[str, PiEntry] = {}
    at: str | None = leaf
    while at is not None and at in entries and at not in found:
        found[at] = entries[at]
        at = fields.text(entries[at].record, "parentId")
    return list(found.values())[::-1]


def _labels(lines: Sequence[PiEntry], path: Sequence[PiEntry]) -> list[PiEntry]:
    """Returns the labels of the path's entries that are not on it, to go to its end as in pi."""
    kept = {line.id for line in path}
    newest: dict[str, PiEntry] = {}
    for line in lines:
        target = fields.text(line.record, "targetId") or ""
        if line.kind == "label" and line.id is not None and target in kept:
            newest[target] = line
    found: list[PiEntry] = []
    for line in newest.values():
        if line.id not in kept:
            found.append(line.with_fields(parentId=(found or path)[-1].id))
    return found


def written_line(record: Mapping[str, Any]) -> PiEntry:
    return PiEntry(json_lines.written(record), record)
