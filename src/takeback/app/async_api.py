"""``AsyncTakeback``: the Python API for programs with an event loop.

from takeback import AsyncTakeback

async with AsyncTakeback.open(".") as tb:
    async with tb.session(agent="mine").turn("fix the login bug") as turn:
        await run_my_agent(turn)
    plan = await tb.plan(turn.before)
    done = await tb.rewind(turn.before)
    await tb.undo()

It has all that ``Takeback`` has, awaited. Tasks may share it, with its sessions and turns.
"""

from __future__ import annotations

import asyncio
import os
from typing import overload

from takeback.app.border import named_like
from takeback.app.engine import Engine
from takeback.app.given import checked, fitting
from takeback.app.threads import Asking, beside
from takeback.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping, Sequence
    from types import TracebackType
    from typing import Any, Concatenate, ParamSpec, Self, TypeVar

    from takeback.app.session import AgentSession, AgentTurn, Conversation
    from takeback.model import event as events
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.event import ToolCall
    from takeback.model.ids import SessionId
    from takeback.model.operation import Outcome
    from takeback.ports import Clock, Reporter
    from takeback.purge.purge import Purge, Purging
    from takeback.retention.prune import Prune, Pruning
    from takeback.turns.receive import Received
    from takeback.workspaces import KnownWorkspace

    P = ParamSpec("P")
    T = TypeVar("T")
    Where = str | os.PathLike[str]
    Awaited = Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]

# -- sessions for agents with an event loop: a turn is an ``async with`` block
#
# Each is the session or turn of ``session.py``, asked in the thread that works.


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


# -- the API itself: the methods of the engine, each asked in the thread that it needs


def _asked(
    way: Callable[..., Coroutine[Any, Any, T]], method: Callable[Concatenate[Engine, P], T]
) -> Awaited[P, T]:
    given = fitting(method)

    async def call(page: AsyncTakeback, /, *args: Any, **options: Any) -> T:
        found = given(args, options)
        return await way(page._asking, lambda tb: method(tb, *found, **options))

    return named_like(call, method)


def work(method: Callable[Concatenate[Engine, P], T]) -> Awaited[P, T]:
    """Offers a method of the engine: it is done in its turn."""
    return _asked(Asking.work, method)


def look(method: Callable[Concatenate[Engine, P], T]) -> Awaited[P, T]:
    """Offers one that looks only at what is kept: beside an operation."""
    return _asked(Asking.look, method)


def aside(method: Callable[Concatenate[Engine, P], T]) -> Awaited[P, T]:
    """Offers one that waits for a program or a function of somebody else."""
    return _asked(Asking.aside, method)


@checked
class AsyncTakeback:
    """One workspace and everything that can be done with it: ``async with``, or await and close."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._engine: Engine | None = None

    # -- opening

    @classmethod
    def open(
        cls,
        path: Where = ".",
        *,
        create: bool = True,
        environ: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        reporter: Reporter | None = None,
    ) -> Self:
        """Opens the workspace that ``path`` is in, when it is awaited; raises NotAWorkspace then.

        Its store is created if there is none, unless ``create`` is false. The reporter is called in
        the thread that works.
        """
        # A thread opens it later, when the program may be in another directory.
        where = os.path.join(os.getcwd(), path)

        def to_work() -> Engine:
            return Engine.open(
                where, create=create, environ=environ, clock=clock, reporter=reporter
            )

        def to_look() -> Engine:
            return Engine.open(where, create=False, environ=environ, clock=clock)

        return cls(Asking(to_work, to_look))

    async def close(self) -> None:
        """Closes files and descriptors, once all that was asked is done."""
        await self._asking.close()

    async def _opened(self) -> Self:
        try:
            self._engine = await self._asking.work(lambda tb: tb)
        except BaseException:
            await self.close()  # nobody else will
            raise
        return self

    async def __aenter__(self) -> Self:
        return await self._opened()

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __await__(self) -> Generator[Any, None, Self]:
        return self._opened().__await__()

    def _open(self) -> Engine:
        if self._engine is None:
            raise UsageError(
                "the workspace is not open yet", hint="async with AsyncTakeback.open(...) as tb"
            )
        return self._engine

    @property
    def root(self) -> bytes:
        """The root of the workspace."""
        return self._open().root

    @property
    def store_directory(self) -> str:
        """Where this workspace's store is."""
        return self._open().store_directory

    # -- keeping

    def session(self, agent: str, native: str | None = None) -> AsyncAgentSession:
        """Returns a session of your own agent, a new one unless ``native`` names one."""
        return AsyncAgentSession(self._asking, self._open().session(agent, native))

    async def resume(self, session: str | Outcome) -> AsyncAgentSession:
        """Returns a session to go on with, and in its ``conversation`` what was said in it.

        It is given by name, or as what an operation returned: the one that it went to. Raises
        Refused if that left the conversation where it was, and NoSuchCheckpoint.
        """
        return AsyncAgentSession(
            self._asking, await self._asking.work(lambda tb: tb.resume(session))
        )

    receive = work(Engine.receive)
    hear = work(Engine.hear)
    checkpoint = work(Engine.checkpoint)
    label = work(Engine.label)

    # -- looking

    find = look(Engine.find)
    checkpoints = look(Engine.checkpoints)
    compare = work(Engine.compare)
    bisect = aside(Engine.bisect)
    reset_bisection = work(Engine.reset_bisection)
    blame = work(Engine.blame)
    show = look(Engine.show)
    diff = work(Engine.diff)
    cat = look(Engine.cat)
    conversation = look(Engine.conversation)
    messages = look(Engine.messages)
    search = look(Engine.search)
    sessions = look(Engine.sessions)
    tree = look(Engine.tree)
    operations = look(Engine.operations)
    status = look(Engine.status)
    agents = look(Engine.agents)

    # -- going back and forth

    plan = work(Engine.plan)
    rewind = work(Engine.rewind)
    plan_revert = work(Engine.plan_revert)
    revert = work(Engine.revert)
    plan_apply = work(Engine.plan_apply)
    apply = work(Engine.apply)
    brought = work(Engine.brought)
    plan_fork = work(Engine.plan_fork)
    fork = work(Engine.fork)
    plan_summary = work(Engine.plan_summary)
    summarise = aside(Engine.summarise)
    plan_undo = work(Engine.plan_undo)
    undo = work(Engine.undo)
    plan_redo = work(Engine.plan_redo)
    redo = work(Engine.redo)

    async def interrupted(self) -> bool:
        """True if an operation was interrupted and not yet recovered."""
        return await self._asking.work(lambda tb: tb.interrupted)

    recover = work(Engine.recover)

    # -- keeping house

    @staticmethod
    async def workspaces(*, environ: Mapping[str, str] | None = None) -> list[KnownWorkspace]:
        """Returns every workspace that something is kept of, by path; opens none of them."""
        return await beside(lambda: Engine.workspaces(environ=environ))

    verify = work(Engine.verify)
    doctor = work(Engine.doctor)
    plan_prune = work(Engine.plan_prune)
    prune = work(Engine.prune)
    restore = work(Engine.restore)
    trash = look(Engine.trash)
    plan_purge = work(Engine.plan_purge)
    purge = work(Engine.purge)
    forget = work(Engine.forget)

    @overload
    async def outlook(self, planned: Prune) -> Pruning: ...
    @overload
    async def outlook(self, planned: Purge) -> Purging: ...
    async def outlook(self, planned: Prune | Purge) -> Pruning | Purging:
        """Returns what a prune or a purge would do: its own ``outlook``, which reads all there is.

        Only here: who has no event loop asks the plan itself.
        """
        return await self._asking.work(lambda tb: planned.outlook())
