"""Sessions for agents with an event loop: a turn is an ``async with`` block.

Each is the session or turn of ``session.py``, asked in the thread that works.
"""

from __future__ import annotations

import asyncio

from takeback.app.given import checked
from takeback.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType
    from typing import Any

    from takeback.app.asking import Asking
    from takeback.app.session import AgentSession, AgentTurn, Conversation
    from takeback.model import event as events
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.event import ToolCall
    from takeback.model.ids import SessionId
    from takeback.turns.receive import Received


@checked
class AsyncAgentSession:
    """One conversation of your agent. Make it with ``AsyncTakeback.session``, or ``resume``."""

    def __init__(self, asking: Asking, session: AgentSession) -> None:
        self._asking = asking
        self._session = session

    @property
    def agent(self) -> str:
        """The agent's name."""
        return self._session.agent

    @property
    def native(self) -> str:
        """The agent's own id of the session."""
        return self._session.native

    @property
    def id(self) -> SessionId:
        """takeback's own name for it."""
        return self._session.id

    @property
    def conversation(self) -> bytes | None:
        """What was said so far, as its turns were given it: each begins with what the last left."""
        return self._session.conversation

    def turn(
        self, prompt: str, *, id: str | None = None, conversation: Conversation | None = None
    ) -> AsyncAgentTurn:
        """Returns a turn, to be used in ``async with``: a checkpoint before and one after it.

        ``conversation`` is the history before the prompt, as bytes or as a list of messages;
        without it, what the turn before was left with.
        """
        turn = self._session.turn(prompt, id=id, conversation=conversation)
        return AsyncAgentTurn(self._asking, self, turn)

    async def tell(self, kind: events.EventKind, **fields: Any) -> Received:
        """Reports an event to takeback; ``kind`` and the fields are those of ``AgentEvent``."""
        return await self._asking.work(lambda tb: self._session.tell(kind, **fields))


@checked
class AsyncAgentTurn:
    """One prompt and what it causes. ``before`` and ``after`` are its checkpoints."""

    def __init__(self, asking: Asking, session: AsyncAgentSession, turn: AgentTurn) -> None:
        self._asking = asking
        self.session = session
        self._turn = turn

    @property
    def prompt(self) -> str:
        """The prompt, as it was given."""
        return self._turn.prompt

    @property
    def id(self) -> str:
        """The agent's own id of the turn."""
        return self._turn.id

    @property
    def before(self) -> Checkpoint:
        """The checkpoint before the turn; raises CaptureFailed if there is none."""
        return self._turn.before

    @property
    def after(self) -> Checkpoint:
        """The checkpoint after the turn; raises CaptureFailed if there is none."""
        return self._turn.after

    @property
    def note(self) -> str | None:
        """What the model should be told: files that takeback changed under its conversation."""
        return self._turn.note

    @property
    def warning(self) -> str | None:
        """What the person should be told: what the checkpoint before the turn newly lacks."""
        return self._turn.warning

    @property
    def conversation(self) -> bytes:
        """What was said: before the prompt, until you set it to what is said after it."""
        return self._turn.conversation

    @conversation.setter
    def conversation(self, said: bytes) -> None:
        self._turn.conversation = said

    @property
    def messages(self) -> list[Any]:
        """The conversation as a list, for agents that keep one: one JSON value each line."""
        return self._turn.messages

    @messages.setter
    def messages(self, said: Sequence[Any]) -> None:
        self._turn.messages = said

    async def round(
        self, tools: Iterable[ToolCall] = (), *, conversation: Conversation | None = None
    ) -> Checkpoint | None:
        """Makes a checkpoint within the turn, after the agent's tools have run."""
        ran = tuple(tools)
        return await self._asking.work(lambda tb: self._turn.round(ran, conversation=conversation))

    async def end(self, *, conversation: Conversation | None = None) -> None:
        """Ends the turn; ``async with`` does this by itself, with what ``conversation`` is then."""
        await self._asking.work(lambda tb: self._turn.end(conversation=conversation))

    async def __aenter__(self) -> AsyncAgentTurn:
        """Makes the checkpoint before the turn; raises TakebackError if none can be made.

        Then the block is not run: whether to work without protection is the host's decision. Raises
        UsageError if another turn of the session is running.
        """
        try:
            await self._asking.work(lambda tb: self._turn.__enter__())
        except asyncio.CancelledError:
            # The turn begins all the same, and nobody would end it: that is done behind it.
            self._asking.work_later(lambda tb: self._turn.give_up())
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Makes the checkpoint after the turn; one that failed is kept as interrupted.

        Raises TakebackError if none can be made, but never in place of what ended the block.
        """
        try:
            await self._asking.work(lambda tb: self._turn.__exit__(kind, error, trace))
        except UsageError:
            if error is None:
                raise
