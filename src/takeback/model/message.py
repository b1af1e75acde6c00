"""What was said in a conversation, as a person reads it, whatever agent kept it."""

from __future__ import annotations

from takeback.model.ids import CheckpointId
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, Literal

    Role = Literal["user", "assistant", "tool", "system"]

USER: Final = "user"
ASSISTANT: Final = "assistant"
TOOL: Final = "tool"
SYSTEM: Final = "system"
ROLES = (USER, ASSISTANT, TOOL, SYSTEM)

LONGEST_TEXT = 1 << 16
"""Characters of a text that are kept; a longer one is marked as cut."""
LONGEST_INPUT = 400
"""Characters of a tool's input that are kept: enough to recognise the call."""


class ToolUse(Value):
    """A call of a tool: its name, its input on one line, and whether it failed."""

    name: str
    input: str
    failed: bool = False


class Message(Value):
    """One thing that a person, the model, a tool or the agent itself said.

    ``time`` is in seconds since the epoch, if the agent noted it. ``entry`` is the agent's own id
    of the message, ``turn`` that of its turn, ``after`` the entry that the agent was at when a
    prompt came: what checkpoints are found by. ``cut`` says that the text was longer.
    """

    role: Role
    text: str
    time: float | None = None
    tool: ToolUse | None = None
    entry: str | None = None
    turn: str | None = None
    after: str | None = None
    cut: bool = False


class PlacedMessage(Value):
    """A message with its number, and the checkpoint before it if it is the prompt of a turn.

    ``turn`` is the number of that turn.
    """

    number: int
    message: Message
    checkpoint: CheckpointId | None = None
    turn: int | None = None


class MessagePage(Value):
    """Some messages of a conversation, how many there are in all, and where the next page begins.

    ``next`` is None at the end.
    """

    messages: tuple[PlacedMessage, ...]
    total: int
    next: int | None
