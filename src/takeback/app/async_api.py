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

import os
from typing import overload

from takeback.app.asking import Asking
from takeback.app.async_session import AsyncAgentSession
from takeback.app.awaited.keeping import AwaitedKeeping
from takeback.app.awaited.looking import AwaitedLooking
from takeback.app.awaited.moving import AwaitedMoving
from takeback.app.awaited.upkeep import AwaitedUpkeep
from takeback.app.engine import Engine
from takeback.app.given import checked
from takeback.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from typing import Any, Self

    from takeback.model.operation import Outcome
    from takeback.ports import Clock, Reporter
    from takeback.purge.purge import Purge, Purging
    from takeback.retention.prune import Prune, Pruning

    Where = str | os.PathLike[str]


@checked
class AsyncTakeback(AwaitedKeeping, AwaitedLooking, AwaitedMoving, AwaitedUpkeep):
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

    @overload
    async def outlook(self, planned: Prune) -> Pruning: ...
    @overload
    async def outlook(self, planned: Purge) -> Purging: ...
    async def outlook(self, planned: Prune | Purge) -> Pruning | Purging:
        """Returns what a prune or a purge would do: its own ``outlook``, which reads all there is.

        Only here: who has no event loop asks the plan itself.
        """
        return await self._asking.work(lambda tb: planned.outlook())
