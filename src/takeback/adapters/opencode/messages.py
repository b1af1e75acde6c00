"""What a person reads of an opencode conversation, of which each message is one line."""

from __future__ import annotations

from takeback.adapters import fields
from takeback.adapters.opencode.conversation import read
from takeback.adapters.telling import Telling, input_text, moment
from takeback.model.agent import ASSISTANT, SYSTEM, TOOL, USER, Message, ToolUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from takeback.model.agent import Role


def messages(history: bytes) -> Iterator[Message]:
    """Returns the messages of a history, in order; see ``ports.MessageReader``."""
    newest: dict[str, Mapping[str, Any]] = {}
    for _, message in read(history).messages:
        newest[message["info"]["id"]] = message
    telling = Telling()
    for message in newest.values():
        _take_in(telling, message)
        yield from telling.ready()
    yield from telling.ready(end=True)


def _take_in(telling: Telling, message: Mapping[str, Any]) -> None:
    info = fields.table(message, "info")
    role: Role = USER if info.get("role") == "user" else ASSISTANT
    if info.get("summary") is True:  # of a user's message it is an object
        role = SYSTEM
    about = Message(
        role,
        "",
        moment(fields.table(info, "time").get("created")),
        entry=fields.text(info, "id"),
        turn=fields.text(info, "id") if role == USER else fields.text(info, "parentID"),
    )
    for part in fields.tables(message, "parts"):
        kind, words = part.get("type"), fields.text(part, "text") or ""
        if kind == "text" and not (part.get("ignored") or part.get("synthetic")):
            telling.say(about.replace(text=words))
        elif kind == "tool":
            state = fields.table(part, "state")
            failed = state.get("status") == "error"
            name = fields.text(part, "tool") or ""
            called = ToolUse(name, input_text(state.get("input")), failed)
            telling.call(None, about.replace(role=TOOL, tool=called))
    error = fields.table(info, "error")
    if error:
        told = fields.text(fields.table(error, "data"), "message") or fields.text(error, "name")
        telling.say(about.replace(role=SYSTEM, text=told or ""))
