"""Sessions for agents written in Python: a turn is a ``with`` block."""

from __future__ import annotations

import os

from takeback.app.border import guarded
from takeback.app.given import checked
from takeback.errors import CaptureFailed, Command, TakebackError, UsageError
from takeback.model import event as events
from takeback.model.event import AgentEvent, ToolCall
from takeback.model.json_text import dumps, loads
from takeback.store.namespace import session_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType
    from typing import Any

    from takeback.app.engine import Engine
    from takeback.app.given import Alone
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import SessionId
    from takeback.turns.receive import Received

    Conversation = bytes | Sequence[Any]


_NONE = "there is no checkpoint %s this turn"
_LATE = ("the turn has not come to it, or the workspace was in use: ", Command("status"))


@guarded
@checked
class AgentSession:
    """One conversation of your agent. Make it with ``Takeback.session``, or ``resume``."""

    def __init__(
        self,
        takeback: Engine,
        agent: str,
        native: str | None = None,
        conversation: bytes | None = None,
    ) -> None:
        self._takeback = takeback
        self.agent = agent
        self.native = native or os.urandom(8).hex()
        self.conversation = conversation
        """What was said so far, as its turns were given it: each begins with what the last left."""
        self._started = native is not None

    @property
    def id(self) -> SessionId:
        """takeback's own name for it."""
        return session_id(self.agent, self.native)

    @property
    def alone(self) -> Alone:
        """Held while it talks to takeback, and by nothing that a loop calls without waiting."""
        return self._takeback.alone

    def turn(
        self, prompt: str, *, id: str | None = None, conversation: Conversation | None = None
    ) -> AgentTurn:
        """Returns a turn, to be used in ``with``: a checkpoint before it and one after it.

        ``conversation`` is the history before the prompt, as bytes or as a list of messages;
        without it, what the turn before was left with.
        """
        given = self.conversation if conversation is None else _bytes(conversation)
        return AgentTurn(self, prompt, id or os.urandom(8).hex(), given)

    def tell(self, kind: events.EventKind, **fields: Any) -> Received:
        """Reports an event to takeback; ``kind`` and the fields are those of ``AgentEvent``."""
        with self.alone:
            if not self._started:
                self._started = True
                self._send(events.SESSION_START)
            return self._send(kind, **fields)

    def _send(self, kind: events.EventKind, **fields: Any) -> Received:
        return self._takeback.receive(self.event(kind, **fields))

    def event(self, kind: events.EventKind, **fields: Any) -> AgentEvent:
        """Returns an event of this session, to be recorded."""
        event = AgentEvent(
            kind=kind,
            agent=self.agent,
            session=self.native,
            directory=os.fsdecode(self._takeback.root),
            process=os.getpid(),
        )
        return event.replace(**fields)

    def _located(self, tool: ToolCall) -> ToolCall:
        """Returns a use of a tool; like all paths its start where the workspace was opened."""
        base = self._takeback.opened_at
        if base == os.fsdecode(self._takeback.root):
            return tool
        return tool.replace(paths=tuple(os.path.join(base, path) for path in tool.paths))

    def _begin(self, turn: AgentTurn) -> None:
        """Notes the turn that runs; raises UsageError if there is one: whose would a file be?"""
        running = self._takeback.running_turns.get(self.id)
        if running is not None:
            raise UsageError(
                f"a turn of session {self.id} is running",
                hint="end it first, or give each task a session of its own",
            )
        self._takeback.running_turns[self.id] = turn.id

    def _end(self, turn: AgentTurn) -> None:
        if self._runs(turn):
            del self._takeback.running_turns[self.id]

    def _runs(self, turn: AgentTurn) -> bool:
        return self._takeback.running_turns.get(self.id) == turn.id


@guarded
@checked
class AgentTurn:
    """One prompt and what it causes. ``before`` and ``after`` are its checkpoints."""

    def __init__(
        self, session: AgentSession, prompt: str, id: str, conversation: bytes | None
    ) -> None:
        self.session = session
        self.prompt = prompt
        self.id = id
        self._conversation = conversation
        self._before: Checkpoint | None = None
        self._after: Checkpoint | None = None
        self._said: bytes | None = None
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

    @property
    def conversation(self) -> bytes:
        """What was said: before the prompt, until you set it to what is said after it."""
        return self._conversation or b""

    @conversation.setter
    def conversation(self, said: bytes) -> None:
        self._conversation = self._said = _bytes(said)

    @property
    def messages(self) -> list[Any]:
        """The conversation as a list, for agents that keep one: one JSON value each line."""
        try:
            return [loads(line.decode()) for line in self.conversation.split(b"\n") if line]
        except ValueError as error:
            raise UsageError(
                f"the conversation is no list of messages: {error}",
                hint="read it as it was given: turn.conversation",
            ) from None

    @messages.setter
    def messages(self, said: Sequence[Any]) -> None:
        self.conversation = _lines(said)

    def round(
        self,
        tools: Iterable[ToolCall] = (),
        *,
        conversation: Conversation | None = None,
    ) -> Checkpoint | None:
        """Makes a checkpoint within the turn, after the agent's tools have run."""
        ran = tuple(self.session._located(tool) for tool in tools)
        return self._tell(events.ROUND_END, tools=ran, conversation=conversation)

    def end(self, *, conversation: Conversation | None = None) -> None:
        """Ends the turn; ``with`` does this by itself, with what ``conversation`` was set to."""
        with self.session.alone:
            if self._after is None:
                self._after = self._end(events.TURN_END, conversation)

    def __enter__(self) -> AgentTurn:
        """Makes the checkpoint before the turn; raises TakebackError if none can be made.

        Then the block is not run: whether to work without protection is the host's decision. Raises
        UsageError if another turn of the session is running.
        """
        with self.session.alone:
            self.session._begin(self)
            try:
                received = self.session.tell(
                    events.PROMPT, turn=self.id, prompt=self.prompt, messages=self._conversation
                )
            except BaseException:
                self.session._end(self)
                raise
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
        else:
            self._interrupt()

    def give_up(self) -> None:
        """Ends a turn, if it has begun, whose block is never run."""
        if self.session._runs(self):
            self._interrupt()

    def _interrupt(self) -> None:
        try:
            self._after = self._end(events.INTERRUPTED)
        except TakebackError:  # the next event finds the turn without an end, and says so
            return

    def _end(
        self, kind: events.EventKind, conversation: Conversation | None = None
    ) -> Checkpoint | None:
        try:
            return self._tell(kind, conversation=conversation)
        finally:
            self.session._end(self)

    def _tell(
        self,
        kind: events.EventKind,
        *,
        tools: tuple[ToolCall, ...] = (),
        conversation: Conversation | None = None,
    ) -> Checkpoint | None:
        if conversation is not None:
            self.conversation = _bytes(conversation)
        if self._said is not None:
            self.session.conversation = self._said
        received = self.session.tell(kind, turn=self.id, tools=tools, messages=self._said)
        return received.checkpoint


def _bytes(conversation: Conversation) -> bytes:
    if isinstance(conversation, str):
        raise UsageError("a conversation is bytes or a list of messages", hint="encode the text")
    return conversation if isinstance(conversation, bytes) else _lines(conversation)


def _lines(messages: Sequence[Any]) -> bytes:
    """Returns messages as JSON lines, so that each new message is one more line."""
    try:
        plain = (dict(one) if hasattr(one, "keys") else one for one in messages)
        return b"".join(dumps(one).encode() + b"\n" for one in plain)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"a message is no JSON: {error}",
            hint="give what your framework serialises to: lists, dictionaries, texts, numbers",
        ) from None
