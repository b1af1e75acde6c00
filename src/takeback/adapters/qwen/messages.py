"""What a person reads of a Qwen Code transcript, which was cut to one line of entries."""

from __future__ import annotations

from takeback.adapters.claude.messages import told
from takeback.adapters.qwen.lines import as_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.model.agent import Message


def messages(history: bytes) -> Iterator[Message]:
    """Returns the messages of a history, in order; see ``ports.MessageReader``."""
    return told(history, as_line)
