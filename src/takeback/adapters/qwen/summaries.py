"""Summaries in a conversation of Qwen Code: one more entry in the person's name."""

from __future__ import annotations

import uuid

from takeback.adapters import json_lines
from takeback.adapters.claude.lines import read
from takeback.adapters.claude.summaries import later_lines
from takeback.adapters.json_lines import JsonLine
from takeback.adapters.qwen.lines import as_line
from takeback.model.agent import Headless

_SURROUNDINGS = ("sessionId", "cwd", "version", "gitBranch")
_TOOLS = (
    "edit",
    "get_goal",
    "notebook_edit",
    "read_file",
    "run_shell_command",
    "update_goal",
    "write_file",
)
"""Those that are left without whatever else it would discover."""


class QwenSummaries:
    """Implements ``ports.Summaries``. A new session links its entries anew."""

    headless = Headless(
        "qwen",
        (
            "--bare",
            *("--exclude-tools", ",".join(_TOOLS)),
            *("--max-tool-calls", "0"),
            "--chat-recording=false",
            *("--output-format", "text"),
            *("--system-prompt", "You summarise conversations."),
        ),
    )

    def rest(self, whole: bytes, head: bytes) -> bytes:
        return b"".join(line.data + b"\n" for line in later_lines(whole, head, as_line))

    def put(self, kept: bytes, summary: str, *, first: bool, whole: bytes, now: float) -> bytes:
        entries = [line.record for line in json_lines.read_all(whole, JsonLine) if line.record]
        if not entries:
            raise ValueError("it has no entry")
        like = entries[-1]
        last = next((line.id for line in reversed(read(kept, as_line)) if line.id), None)
        entry = {
            "uuid": str(uuid.uuid4()),
            "parentUuid": None if first else last,
            "timestamp": json_lines.timestamp(now),
            "type": "user",
            "provenance": "real_user",
            **{name: like[name] for name in _SURROUNDINGS if name in like},
            "message": {"role": "user", "parts": [{"text": summary}]},
        }
        made = json_lines.written(entry)
        return made + kept if first else kept + made


summaries = QwenSummaries()
