"""Summaries in a Gemini chat: one more message in the person's name."""

from __future__ import annotations

import uuid

from takeback.adapters import json_lines
from takeback.adapters.gemini.conversation import ChatLine, lines_of, without, written_line
from takeback.model.agent import Headless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_NO_TOOL = '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 999\n'


class GeminiSummaries:
    """Implements ``ports.Summaries``."""

    headless = Headless(
        "gemini",
        (
            "--skip-trust",
            *("--policy", "{here}/no-tools.toml"),
            *("--extensions", "none"),
            *("--allowed-mcp-server-names", "none"),
            *("--output-format", "text"),
            *("--prompt", ""),  # what comes on the input is all of it
        ),
        files={"no-tools.toml": _NO_TOOL},
    )

    def rest(self, whole: bytes, head: bytes) -> bytes:
        lines = lines_of(whole)
        known = _ids(lines_of(head))
        if not known <= _ids(lines):
            raise ValueError("it is on another branch")
        found = (without(line, known if _ids([line]) & known else None) for line in lines)
        return b"".join(line.raw for line in found if line is not None)

    def put(self, kept: bytes, summary: str, *, first: bool, whole: bytes, now: float) -> bytes:
        lines = lines_of(kept) or [line for line in lines_of(whole) if line.is_header][:1]
        message = {
            "id": str(uuid.uuid4()),
            "timestamp": json_lines.timestamp(now),
            "type": "user",
            "content": [{"text": summary}],
        }
        if not first:
            return b"".join(line.raw for line in (*lines, written_line(message)))
        at = next((at for at, line in enumerate(lines) if line.resets), None)
        if at is not None:  # whatever comes before such a line is forgotten
            facts = lines[at].record["$set"]
            told = {**facts, "messages": [message, *facts["messages"]]}
            lines[at] = written_line({"$set": told})
        else:
            headers = [at for at, line in enumerate(lines) if line.is_header]
            if not headers:
                raise ValueError("the transcript has no header")
            lines.insert(headers[0] + 1, written_line(message))
        return b"".join(line.raw for line in lines)


def _ids(lines: Sequence[ChatLine]) -> set[str]:
    return {message["id"] for line in lines for message in line.messages}


summaries = GeminiSummaries()
