"""``Takeback``: the Python API, one class; docs/python.md has all of it on one page.

from takeback import Takeback

with Takeback.open(".") as tb:
    with tb.session(agent="mine").turn("fix the login bug") as turn:
        run_my_agent(turn)
    plan = tb.plan(turn.before)
    done = tb.rewind(turn.before)
    tb.undo()

Only errors of ``takeback.errors`` are raised. A path is absolute, or starts where the workspace was
opened. What only faces need is in ``app/engine.py``.
"""

from __future__ import annotations

from takeback.app.engine import Engine
from takeback.app.public.looking import PublicLooking
from takeback.app.public.moving import PublicMoving
from takeback.app.public.upkeep import PublicUpkeep

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import Self

    from takeback.app.session import AgentSession
    from takeback.app.workspace import CheckpointLike
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.event import AgentEvent
    from takeback.ops.checkpoint import Made
    from takeback.ops.receive import Received
    from takeback.ports import Clock, Reporter

    Where = str | os.PathLike[str]


class Takeback(PublicLooking, PublicMoving, PublicUpkeep):
    """One workspace and everything that can be done with it. Close it, or use ``with``."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        """What the faces of takeback use; it may change with any version."""

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
        self.engine.close()

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

    def receive(self, event: AgentEvent) -> Received:
        """Records an agent's event; see ``takeback.model.event``."""
        return self.engine.receive(event)

    def checkpoint(
        self,
        label: str | None = None,
        *,
        message: str | None = None,
        session: str | None = None,
        allow_large: bool = False,
    ) -> Made:
        """Makes a checkpoint of the files as they are now, in ``session``."""
        return self.engine.checkpoint(
            label, message=message, session=session, allow_large=allow_large
        )

    def label(self, checkpoint: CheckpointLike, name: str | None) -> Checkpoint:
        """Gives a checkpoint a name, or removes it (None)."""
        return self.engine.label(checkpoint, name)
