"""What a person reads of a Claude Code transcript, which was cut to one line of entries."""

from __future__ import annotations

from takeback.adapters import fields
from takeback.adapters.claude.lines import LineReader, TranscriptLine, as_line
from takeback.adapters.telling import Telling, input_text, left_out, moment, records
from takeback.model.agent import ASSISTANT, SYSTEM, TOOL, USER, Message, ToolUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.model.agent import Role

_COMMAND = ("<command-name>", "</command-name>")
_ARGUMENTS = ("<command-args>", "</command-args>")
_NOISE = ("<local-command-", "<bash-stdout>", "<command-message>")
_NOTIFIED = "<task-notification>"


def messages(history: bytes) -> Iterator[Message]:
    """Returns the messages of a history, in order; see ``ports.MessageReader``."""
    return told(history, as_line)


def told(history: bytes, as_line: LineReader) -> Iterator[Message]:
    """Returns the messages of a history whose lines are read in a way of their own."""
    telling = Telling()
    for record in records(history):
        unread = left_out(record)
        if unread is not None:
            telling.say(unread)
        line = as_line(b"", record)
        if line.is_taken_in:
            telling.say(_about(line, USER, line.prompt or ""))
        elif line.record.get("isCompactSummary") is True:
            telling.say(_about(line, SYSTEM, line.prompt or ""))
        elif line.speaks and line.record.get("isMeta") is not True:
            _take_in(telling, line)
        yield from telling.ready()
    yield from telling.ready(end=True)


def _take_in(telling: Telling, line: TranscriptLine) -> None:
    if line.record.get("type") == "assistant":
        for block in line.blocks:
            if block.get("type") == "text":
                telling.say(_about(line, ASSISTANT, fields.text(block, "text") or ""))
            elif block.get("type") == "tool_use":
                called = ToolUse(fields.text(block, "name") or "", input_text(block.get("input")))
                telling.call(fields.text(block, "id"), _about(line, TOOL, "", called))
        return
    for block in line.blocks:
        if block.get("type") == "tool_result":
            failed = block.get("is_error") is True
            telling.answer(fields.text(block, "tool_use_id"), failed=failed)
    if line.is_interruption:
        telling.say(_about(line, SYSTEM, "Interrupted by the person."))
    elif line.is_shell:
        telling.say(_about(line, USER, f"!{line.shell_words}"))
    elif line.is_prompt:
        _take_in_prompt(telling, line, line.prompt or "")


def _take_in_prompt(telling: Telling, line: TranscriptLine, words: str) -> None:
    if words.startswith(_COMMAND[0]):
        typed = f"{_between(words, _COMMAND)} {_between(words, _ARGUMENTS)}"
        telling.say(_about(line, USER, typed.strip()))
    elif words.startswith(_NOTIFIED):
        telling.say(_about(line, SYSTEM, words))
    elif not words.startswith(_NOISE):
        telling.say(_about(line, USER, words))


def _between(words: str, marks: tuple[str, str]) -> str:
    return words.partition(marks[0])[2].partition(marks[1])[0].strip()


def _about(line: TranscriptLine, role: Role, text: str, tool: ToolUse | None = None) -> Message:
    return Message(
        role,
        text,
        moment(line.record.get("timestamp")),
        tool,
        entry=line.id,
        turn=fields.text(line.record, "promptId"),
    )
