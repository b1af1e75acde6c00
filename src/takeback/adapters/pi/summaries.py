"""Summaries in a pi session: the entries in which pi itself keeps them.

A summary of what came last is what pi writes when a branch is left, one of what came first what it
writes when it compacts. What says how the model is set up comes before anything is said, and stays.
"""

from __future__ import annotations

import os

from takeback.adapters import fields, json_lines
from takeback.adapters.pi.conversation import PiEntry, last_entry, lines_of, written_line
from takeback.model.agent import Headless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class PiSummaries:
    """Implements ``ports.Summaries``."""

    headless = Headless(
        "pi",
        (
            "--no-tools",
            "--no-session",
            "--no-extensions",
            "--no-skills",
            "--no-prompt-templates",
            "--print",
        ),
    )

    def rest(self, whole: bytes, head: bytes) -> bytes:
        lines = lines_of(whole)
        known = {line.id for line in lines_of(head)} - {None}
        if not known <= {line.id for line in lines}:
            raise ValueError("it is on another branch")
        opening = _opening(lines)
        later = [line for line in lines[len(opening) :] if line.id not in known]
        return _linked([*opening, *later])

    def put(self, kept: bytes, summary: str, *, first: bool, whole: bytes, now: float) -> bytes:
        lines = lines_of(kept) or _opening(lines_of(whole))
        opening = _opening(lines)
        entry: dict[str, Any] = {
            "type": "branch_summary",
            "id": os.urandom(4).hex(),
            "parentId": last_entry(opening if first else lines),
            "timestamp": json_lines.timestamp(now),
            "summary": summary,
        }
        if not first:
            said = {**entry, "fromId": last_entry(lines_of(whole)) or "root"}
            return _linked([*lines, written_line(said)])
        later = lines[len(opening) :]
        begins = next((line.id for line in later if line.id is not None), entry["id"])
        said = {**entry, "type": "compaction", "firstKeptEntryId": begins, "tokensBefore": 0}
        return _linked([*opening, written_line(said), *later])


def _opening(lines: Sequence[PiEntry]) -> list[PiEntry]:
    """Returns the header and the entries before anything is said."""
    end = next((at for at, line in enumerate(lines) if line.speaks), len(lines))
    return list(lines[:end])


def _linked(lines: Sequence[PiEntry]) -> bytes:
    """Returns entries, each of which follows the one before it."""
    found, before = [], None
    for line in lines:
        if line.id is not None:
            if fields.text(line.record, "parentId") != before:
                line = line.with_fields(parentId=before)
            before = line.id
        found.append(line.raw)
    return b"".join(found)


summaries = PiSummaries()
