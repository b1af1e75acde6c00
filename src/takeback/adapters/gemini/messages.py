"""What a person reads of a Gemini chat file: the log replayed, each message as it was last."""

from __future__ import annotations

from takeback.adapters import fields
from takeback.adapters.gemini.conversation import ChatLine, is_said, said_in
from takeback.adapters.telling import Telling, input_text, left_out, moment, records
from takeback.model.agent import ASSISTANT, SYSTEM, TOOL, USER, Message, ToolUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from takeback.model.agent import Role

_FAILED = ("error", "cancelled")


def messages(history: bytes) -> Iterator[Message]:
    """Returns the messages of a history, in order; see ``ports.MessageReader``.

    The history is without what was rewound.
    """
    known: dict[str, Mapping[str, Any]] = {}
    telling = Telling()
    for record in records(history):
        unread = left_out(record)
        if unread is not None:
            telling.say(unread)
        line = ChatLine(b"", record)
        if line.resets:
            known.clear()
        for one in line.messages:
            known[one["id"]] = one
    for one in known.values():
        _take_in(telling, one)
        yield from telling.ready()
    yield from telling.ready(end=True)


def _take_in(telling: Telling, said: Mapping[str, Any]) -> None:
    kind = said.get("type")
    if kind in ("info", "error", "warning"):
        telling.say(_about(said, SYSTEM, said_in(said)))
    elif kind == "gemini":
        telling.say(_about(said, ASSISTANT, said_in(said)))
        for call in fields.tables(said, "toolCalls"):
            failed = fields.text(call, "status") in _FAILED
            name = fields.text(call, "name") or ""
            called = ToolUse(name, input_text(call.get("args")), failed)
            telling.call(None, _about(said, TOOL, "", called))
    elif is_said(said):
        telling.say(_about(said, USER, said_in(said)))


def _about(said: Mapping[str, Any], role: Role, text: str, tool: ToolUse | None = None) -> Message:
    return Message(
        role,
        text,
        moment(said.get("timestamp")),
        tool,
        entry=fields.text(said, "id"),
    )
