"""The documents of a conversation's messages; docs/scripting.md is their contract."""

from __future__ import annotations

from takeback.visible import shown
from takeback.words.text import timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.model.agent import MessagePage, PlacedMessage

    Document = dict[str, Any]


def page(found: MessagePage) -> Document:
    """Returns some messages of a conversation, how many there are, and where to go on."""
    messages = [message(one) for one in found.messages]
    return {"messages": messages, "total": found.total, "next": found.next}


def message(placed: PlacedMessage) -> Document:
    said, tool = placed.message, placed.message.tool
    called = {"name": tool.name, "input": tool.input, "failed": tool.failed} if tool else None
    return {
        "number": placed.number,
        "role": said.role,
        "text": said.text,
        "cut": said.cut,
        "time": None if said.time is None else timestamp(said.time),
        "tool": called,
        "checkpoint": placed.checkpoint,
        "turn": placed.turn,
    }


def lines(placed: PlacedMessage) -> list[str]:
    """Returns a message for a terminal: who said it, before which checkpoint, and the words."""
    said, tool = placed.message, placed.message.tool
    if tool is not None:
        return [f"  {shown(tool.name)} {shown(tool.input)}{' (failed)' if tool.failed else ''}"]
    place = "" if placed.checkpoint is None else f" {placed.checkpoint}"
    turn = "" if placed.turn is None else f" turn {placed.turn}"
    words = [shown(line) for line in said.text.splitlines()]
    return ["", f"{said.role}{turn}{place}", *words, *(["..."] if said.cut else [])]
