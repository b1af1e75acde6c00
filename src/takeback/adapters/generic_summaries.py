"""Summaries in a conversation of any program that keeps messages as JSON lines with a role."""

from __future__ import annotations

from takeback.adapters import json_lines
from takeback.adapters.json_lines import JsonLine


class GenericSummaries:
    """Implements ``ports.Summaries``; nobody knows how such a program is asked."""

    headless = None

    def rest(self, whole: bytes, head: bytes) -> bytes:
        if not whole.startswith(head):
            raise ValueError("it does not go on from there")
        return whole[len(head) :]

    def put(self, kept: bytes, summary: str, *, first: bool, whole: bytes, now: float) -> bytes:
        lines = json_lines.read(whole, JsonLine)
        if not whole.endswith(b"\n") or not all("role" in line.record for line in lines):
            raise ValueError("its transcript is not one message with a role a line")
        words = "text" if all("text" in line.record for line in lines) else "content"
        entry = json_lines.written({"role": "user", words: summary})
        return entry + kept if first else kept + entry


summaries = GenericSummaries()
