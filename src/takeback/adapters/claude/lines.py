"""The lines of a transcript, and what each says.

A program wrote them, and another version of it may write them differently: whatever a line holds,
it is read without an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from takeback.adapters import json_lines
from takeback.model.value import Value

Record = Mapping[str, Any]

_SHELL = "<bash-input>"
_SHELL_END = "</bash-input>"
_INTERRUPTED = ("[Request interrupted by user]", "[Request interrupted by user for tool use]")


class TranscriptLine(Value):
    """One line: its bytes without the newline, what they say, which entry they are.

    ``record`` is empty for a line that is not a JSON object. ``id`` is None for a line that is not
    an entry of the conversation, such as a subagent's, which old versions wrote there too.
    """

    data: bytes
    record: Record
    id: str | None

    @property
    def damaged(self) -> bool:
        return not self.record

    @property
    def speaks(self) -> bool:
        """True for what a person, the model or a tool said; False for notes beside it."""
        return self.id is not None and self.record.get("type") in ("user", "assistant")

    @property
    def parent(self) -> str | None:
        """The entry before this one, also across a compaction, which begins without a parent."""
        return text(self.record, "parentUuid") or text(self.record, "logicalParentUuid")

    @property
    def message(self) -> str | None:
        """The id of the model's message that this is one block of."""
        message = self.record.get("message")
        if self.id is None or self.record.get("type") != "assistant":
            return None
        return text(message, "id") if isinstance(message, dict) else None

    @property
    def calls(self) -> list[str]:
        """The ids of the tool calls that the model makes here."""
        if self.record.get("type") != "assistant":
            return []
        return [text(b, "id") or "" for b in self.blocks if b.get("type") == "tool_use"]

    @property
    def results(self) -> list[str]:
        """The ids of the tool calls that are answered here."""
        if self.record.get("type") != "user":
            return []
        found = [b for b in self.blocks if b.get("type") == "tool_result"]
        return [text(block, "tool_use_id") or "" for block in found]

    @property
    def is_prompt(self) -> bool:
        """True for a message that is neither a tool's result nor the mark of an interruption."""
        if self.id is None or self.record.get("type") != "user":
            return False
        return not self.results and not self.is_interruption

    @property
    def is_shell(self) -> bool:
        """True for a ``!command`` that a person typed."""
        return self.is_prompt and _joined(self.blocks).startswith(_SHELL)

    @property
    def shell_words(self) -> str:
        """What the person typed after the exclamation mark."""
        return _joined(self.blocks).removeprefix(_SHELL).removesuffix(_SHELL_END).strip()

    @property
    def is_interruption(self) -> bool:
        """True for what Esc leaves behind."""
        return self.record.get("type") == "user" and _joined(self.blocks) in _INTERRUPTED

    @property
    def is_taken_in(self) -> bool:
        """True for the note that a running turn makes of a prompt typed into it."""
        attachment = self.record.get("attachment")
        return isinstance(attachment, dict) and attachment.get("type") == "queued_command"

    @property
    def is_boundary(self) -> bool:
        """True for the first entry after a compaction."""
        return self.record.get("subtype") == "compact_boundary"

    @property
    def prompt(self) -> str | None:
        """The words of a prompt, at its own entry or where a turn took it in."""
        if self.is_prompt:
            return _joined(self.blocks)
        if not self.is_taken_in:
            return None
        prompt = self.record["attachment"].get("prompt")
        return prompt.strip() if isinstance(prompt, str) else _joined(prompt)

    @property
    def carried_over(self) -> list[str]:
        """The entries that a compaction left unchanged."""
        about = self.record.get("compactMetadata")
        carried = about.get("preservedMessages") if isinstance(about, dict) else None
        found = carried.get("allUuids", carried.get("uuids")) if isinstance(carried, dict) else None
        return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []

    @property
    def blocks(self) -> list[Record]:
        message = self.record.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str):
            return [{"type": "text", "text": content}]
        return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


LineReader = Callable[[bytes, Record], TranscriptLine]
"""Makes a line of its bytes and what they say; an agent with words of its own translates them."""


def read(data: bytes, as_line: LineReader) -> list[TranscriptLine]:
    """Returns the complete lines of a file; only the newline of the last may be missing."""
    *whole, last = json_lines.read_all(data, as_line)
    found = [line for line in whole if line.data.strip()]
    return found if last.damaged else [*found, last]


def write(record: Record) -> bytes:
    """Returns a line as the agent writes it."""
    return json_lines.written(record).removesuffix(b"\n")


def text(record: Record, name: str) -> str | None:
    """Returns a field that is a string and not empty, else None."""
    value = record.get(name)
    return value if isinstance(value, str) and value else None


def as_line(raw: bytes, record: Record) -> TranscriptLine:
    is_entry = "parentUuid" in record and record.get("isSidechain") is not True
    return TranscriptLine(
        raw.removesuffix(b"\n"), record, text(record, "uuid") if is_entry else None
    )


def _joined(blocks: object) -> str:
    given = blocks if isinstance(blocks, list) else []
    return "\n".join(text(b, "text") or "" for b in given if isinstance(b, dict)).strip()
