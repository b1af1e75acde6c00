"""``Takeback``: the Python API, one class; docs/python.md has all of it on one page.

from takeback import Takeback

with Takeback.open(".") as tb:
    with tb.session(agent="mine").turn("fix the login bug") as turn:
        run_my_agent(turn)
    plan = tb.plan(turn.before)
    done = tb.rewind(turn.before)
    tb.undo()

Only errors of ``takeback.errors`` are raised. ``AsyncTakeback`` is the same for programs with an
event loop. A path is absolute, or starts where the workspace was
opened. What only faces need is in ``app/engine.py``.
"""

from __future__ import annotations

from takeback.app.engine import Engine
from takeback.app.given import checked, one_at_a_time
from takeback.app.public.keeping import PublicKeeping
from takeback.app.public.looking import PublicLooking
from takeback.app.public.moving import PublicMoving
from takeback.app.public.upkeep import PublicUpkeep

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import Self

    from takeback.app.session import AgentSession
    from takeback.model.operation import Outcome
    from takeback.ports import Clock, Reporter

    Where = str | os.PathLike[str]


@one_at_a_time
@checked
class Takeback(PublicKeeping, PublicLooking, PublicMoving, PublicUpkeep):
    """One workspace and everything that can be done with it. Close it, or use ``with``.

    Threads may share it, with its sessions and turns: one at a time is at it, the others wait.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        """What the faces of takeback use; it may change with any version."""
        self._alone = engine.alone

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
        """Opens the workspace that ``path`` is in; raises NotAWorkspace.

        Its store is created if there is none, unless ``create`` is false.
        """
        return cls(
            Engine.open(path, create=create, environ=environ, clock=clock, reporter=reporter)
        )

    def close(self) -> None:
        """Closes files and descriptors."""
        self._alone.close(self.engine.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def root(self) -> bytes:
        """The root of the workspace."""
        return self.engine.root

    @property
    def store_directory(self) -> str:
        """Where this workspace's store is."""
        return self.engine.store_directory

    # -- keeping

    def session(self, agent: str, native: str | None = None) -> AgentSession:
        """Returns a session of your own agent, a new one unless ``native`` names one."""
        return self.engine.session(agent, native)

    def resume(self, session: str | Outcome) -> AgentSession:
        """Returns a session to go on with, and in its ``conversation`` what was said in it.

        It is given by name, or as what an operation returned: the one that it went to. Raises
        Refused if that left the conversation where it was, and NoSuchCheckpoint.
        """
        return self.engine.resume(session)
