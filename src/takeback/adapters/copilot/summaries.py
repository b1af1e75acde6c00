"""Summaries in a Copilot session: one more message in the person's name."""

from __future__ import annotations

import uuid

from takeback.adapters import fields, json_lines
from takeback.adapters.copilot.conversation import lines_of, type_of
from takeback.adapters.json_lines import JsonLine
from takeback.model.agent import Headless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_START = "session.start"


class CopilotSummaries:
    """Implements ``ports.Summaries``."""

    headless = Headless(
        "copilot",
        (
            "--silent",
            "--available-tools=none",  # of that name there is none
            "--disable-builtin-mcps",
            "--no-custom-instructions",
            "--no-ask-user",
            "--no-auto-update",
            "--no-color",
            *("--stream", "off"),
        ),
    )

    def rest(self, whole: bytes, head: bytes) -> bytes:
        lines = lines_of(whole)
        known = {_id(line) for line in lines_of(head)}
        if not known <= {_id(line) for line in lines}:
            raise ValueError("it is on another branch")
        return _linked([one for one in lines if type_of(one) == _START or _id(one) not in known])

    def put(self, kept: bytes, summary: str, *, first: bool, whole: bytes, now: float) -> bytes:
        lines = lines_of(kept) or [one for one in lines_of(whole) if type_of(one) == _START]
        data = {
            "content": summary,
            "transformedContent": summary,
            "messageId": str(uuid.uuid4()),
            "interactionId": str(uuid.uuid4()),
            "supportedNativeDocumentMimeTypes": [],
            "delivery": "idle",
            "turnId": "0",
        }
        entry = {
            "type": "user.message",
            "data": data,
            "id": str(uuid.uuid4()),
            "timestamp": json_lines.timestamp(now),
            "parentId": None,
        }
        begun = sum(1 for line in lines if type_of(line) == _START)
        lines.insert(begun if first else len(lines), JsonLine(json_lines.written(entry), entry))
        return _linked(lines)


def _id(line: JsonLine) -> str | None:
    return fields.text(line.record, "id")


def _linked(lines: Sequence[JsonLine]) -> bytes:
    """Returns events, each of which follows the one before it."""
    found, before = [], None
    for line in lines:
        same = fields.text(line.record, "parentId") == before
        found.append(line.raw if same else json_lines.written({**line.record, "parentId": before}))
        before = _id(line)
    return b"".join(found)


summaries = CopilotSummaries()
