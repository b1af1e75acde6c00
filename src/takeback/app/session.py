"""Sessions for agents written in Python: a turn is a ``with`` block."""

from __future__ import annotations

import os

from takeback.app.border import guarded
from takeback.errors import CaptureFailed, Command, TakebackError
from takeback.model import event as events
from takeback.model.event import AgentEvent, ToolCall
from takeback.model.json_text import dumps
from takeback.store.namespace import session_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType
    from typing import Any

    from takeback.app.engine import Engine
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import SessionId
    from takeback.ops.receive import Received

    Conversation = bytes | Sequence[Mapping[str, Any]]


_NONE = "there is no checkpoint %s this turn"
_LATE = ("the turn has not come to it, or the workspace was in use: ", Command("status"))


@guarded
class AgentSession:
    """One conversation of your agent. Make it with ``Takeback.session``."""

    def __init__(self, takeback: Engine, agent: str, native: str | None = None) -> None:
        self._takeback = takeback
        self.agent = agent
        self.native = native or os.urandom(8).hex()
        self._started = native is not None

    @property
    def id(self) -> SessionId:
        """takeback's own name for it."""
        return session_id(self.agent, self.native)

    def turn(
        self, prompt: str, *, id: str | None = None, conversation: Conversation | None = None
    ) -> AgentTurn:
        """Returns a turn, to be used in ``with``: a checkpoint before it and one after it.

        ``conversation`` is the history before the prompt, as bytes or as a list of messages.
        """
        return AgentTurn(self, prompt, id or os.urandom(8).hex(), conversation)

    def tell(self, kind: events.EventKind, **fields: Any) -> Received:
        """Reports an event to takeback; ``kind`` and the fields are those of ``AgentEvent``."""
        if not self._started:
            self._started = True
            self._send(events.SESSION_START)
        return self._send(kind, **fields)

    def _send(self, kind: events.EventKind, **fields: Any) -> Received:
        event = AgentEvent(
            kind=kind,
            agent=self.agent,
            session=self.native,
            directory=os.fsdecode(self._takeback.root),
            process=os.getpid(),
        )
        return self._takeback.receive(event.replace(**fields))


@guarded
class AgentTurn:
    """One prompt and what it causes. ``before`` and ``after`` are its checkpoints."""

    def __init__(
        self, session: AgentSession, prompt: str, id: str, conversation: Conversation | None
    ) -> None:
        self.session = session
        self.prompt = prompt
        self.id = id
        self._conversation = conversation
        self._before: Checkpoint | None = None
        self._after: Checkpoint | None = None
        self.note: str | None = None
        """What the model should be told: files that takeback changed under its conversation."""
        self.warning: str | None = None
        """What the person should be told: what the checkpoint before the turn newly lacks."""

    @property
    def before(self) -> Checkpoint:
        """The checkpoint before the turn; raises CaptureFailed if there is none."""
        if self._before is None:
            raise CaptureFailed(_NONE % "before", hint=_LATE)
        return self._before

    @property
    def after(self) -> Checkpoint:
        """The checkpoint after the turn; raises CaptureFailed if there is none."""
        if self._after is None:
            raise CaptureFailed(_NONE % "after", hint=_LATE)
        return self._after

    def round(
        self,
        tools: Iterable[ToolCall] = (),
        *,
        conversation: Conversation | None = None,
    ) -> Checkpoint | None:
        """Makes a checkpoint within the turn, after the agent's tools have run."""
        return self._tell(events.ROUND_END, tools=tuple(tools), conversation=conversation)

    def end(self, *, conversation: Conversation | None = None) -> None:
        """Ends the turn; ``with`` does this by itself, without the conversation."""
        if self._after is None:
            self._after = self._tell(events.TURN_END, conversation=conversation)

    def __enter__(self) -> AgentTurn:
        """Makes the checkpoint before the turn; raises TakebackError if none can be made.

        Then the block is not run: whether to work without protection is the host's decision.
        """
        received = self.session.tell(
            events.PROMPT,
            turn=self.id,
            prompt=self.prompt,
            messages=_bytes(self._conversation),
        )
        self._before, self.note = received.checkpoint, received.note
        self.warning = received.warning
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Makes the checkpoint after the turn; one that failed is kept as interrupted.

        Raises TakebackError if none can be made, but never in place of what ended the block.
        """
        if error is None:
            self.end()
            return
        try:
            self._after = self._tell(events.INTERRUPTED)
        except TakebackError:  # the next event finds the turn without an end, and says so
            return

    def _tell(
        self,
        kind: events.EventKind,
        *,
        tools: tuple[ToolCall, ...] = (),
        conversation: Conversation | None = None,
    ) -> Checkpoint | None:
        given = _bytes(conversation)
        received = self.session.tell(kind, turn=self.id, tools=tools, messages=given)
        return received.checkpoint


def _bytes(conversation: Conversation | None) -> bytes | None:
    """Returns messages as JSON lines, so that each new message is one more line."""
    if conversation is None or isinstance(conversation, bytes):
        return conversation
    return b"".join(dumps(dict(message)).encode() + b"\n" for message in conversation)
