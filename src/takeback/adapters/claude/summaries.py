"""Summaries in a Claude Code conversation: one more entry, as its own compaction writes one."""

from __future__ import annotations

import uuid

from takeback.adapters import json_lines
from takeback.adapters.claude.lines import LineReader, TranscriptLine, as_line, read, write
from takeback.model.agent import Headless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_SURROUNDINGS = ("userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug")
"""What an entry says of where it was written, in the fields of its neighbours."""


class ClaudeSummaries:
    """Implements ``ports.Summaries``."""

    headless = Headless(
        "claude",
        (
            "-p",
            *("--tools", ""),
            "--strict-mcp-config",  # and no server is named
            "--safe-mode",  # no hooks, plugins, instructions
            "--no-session-persistence",
            *("--output-format", "text"),
            *("--system-prompt", "You summarise conversations."),
        ),
    )

    def rest(self, whole: bytes, head: bytes) -> bytes:
        lines = later_lines(whole, head, as_line)
        known = {line.id for line in lines}
        return _joined(_after(line, known, None) for line in lines)

    def put(self, kept: bytes, summary: str, *, first: bool, whole: bytes, now: float) -> bytes:
        lines = read(kept, as_line)
        like = next((one for one in reversed(read(whole, as_line)) if one.id is not None), None)
        if like is None:
            raise ValueError("it has no entry")
        last = next((line.id for line in reversed(lines) if line.id is not None), None)
        own = str(uuid.uuid4())
        entry = write(
            {
                "parentUuid": None if first else last,
                "isSidechain": False,
                "type": "user",
                "message": {"role": "user", "content": summary},
                "isCompactSummary": True,
                "uuid": own,
                "timestamp": json_lines.timestamp(now),
                **{name: like.record[name] for name in _SURROUNDINGS if name in like.record},
            }
        )
        if not first:
            return _joined([*(line.data for line in lines), entry])
        known = {line.id for line in lines}
        return _joined([entry, *(_after(line, known, own) for line in lines)])


def later_lines(whole: bytes, head: bytes, as_line: LineReader) -> list[TranscriptLine]:
    """Returns the lines of a history after its beginning; raises ValueError if it is of another.

    What the lines without an id say of the session is known from the beginning as well.
    """
    before, lines = read(head, as_line), read(whole, as_line)
    known, facts = {line.id for line in before}, {line.data for line in before}
    if not known - {None} <= {line.id for line in lines}:
        raise ValueError("it is on another branch")
    return [
        one
        for one in lines
        if not one.damaged and (one.data not in facts if one.id is None else one.id not in known)
    ]


def _after(line: TranscriptLine, known: Iterable[str | None], before: str | None) -> bytes:
    """Returns a line; one whose parent is not among the known follows another entry."""
    if line.id is None or (line.parent is not None and line.parent in known):
        return line.data
    changed: Mapping[str, Any] = {**line.record, "parentUuid": before}
    if line.is_boundary:  # a compaction begins anew, and only says what it followed
        changed = {**line.record, "parentUuid": None, "logicalParentUuid": before}
    return write(changed)


def _joined(lines: Iterable[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


summaries = ClaudeSummaries()
