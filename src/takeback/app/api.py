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

from takeback.app.border import named_like
from takeback.app.engine import Engine
from takeback.app.given import checked, fitting

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping
    from typing import Any, Concatenate, ParamSpec, Self, TypeVar

    from takeback.ports import Clock, Reporter

    P = ParamSpec("P")
    T = TypeVar("T")
    Where = str | os.PathLike[str]
    Offered = Callable[Concatenate[Any, P], T]


def alone(method: Callable[Concatenate[Engine, P], T]) -> Offered[P, T]:
    """Offers a method of the engine: who shares the workspace waits until it is done."""
    given = fitting(method)

    def call(page: Takeback, /, *args: Any, **options: Any) -> T:
        with page.engine.alone:
            return method(page.engine, *given(args, options), **options)

    return named_like(call, method)


def aside(method: Callable[Concatenate[Engine, P], T]) -> Offered[P, T]:
    """Offers one that waits for a program or a function of somebody else, for minutes perhaps.

    It keeps nobody waiting: it is done in the same workspace, opened once more, as another process
    would do it.
    """
    given = fitting(method)

    def call(page: Takeback, /, *args: Any, **options: Any) -> T:
        found = given(args, options)
        with page.engine.alone:
            own = page.engine.opened_again()
        with own:
            return method(own, *found, **options)

    return named_like(call, method)


@checked
class Takeback:
    """One workspace and everything that can be done with it. Close it, or use ``with``.

    Threads may share it, with its sessions and turns: one at a time is at it, the others wait.
    """

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
        self.engine.alone.close(self.engine.close)

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

    session = alone(Engine.session)
    resume = alone(Engine.resume)
    receive = alone(Engine.receive)
    hear = alone(Engine.hear)
    checkpoint = alone(Engine.checkpoint)
    label = alone(Engine.label)

    # -- looking

    find = alone(Engine.find)
    checkpoints = alone(Engine.checkpoints)
    compare = alone(Engine.compare)
    bisect = aside(Engine.bisect)
    reset_bisection = alone(Engine.reset_bisection)
    blame = alone(Engine.blame)
    show = alone(Engine.show)
    diff = alone(Engine.diff)
    cat = alone(Engine.cat)
    conversation = alone(Engine.conversation)
    messages = alone(Engine.messages)
    search = alone(Engine.search)
    sessions = alone(Engine.sessions)
    tree = alone(Engine.tree)
    operations = alone(Engine.operations)
    status = alone(Engine.status)
    agents = alone(Engine.agents)

    # -- going back and forth

    plan = alone(Engine.plan)
    rewind = alone(Engine.rewind)
    plan_revert = alone(Engine.plan_revert)
    revert = alone(Engine.revert)
    plan_apply = alone(Engine.plan_apply)
    apply = alone(Engine.apply)
    brought = alone(Engine.brought)
    plan_fork = alone(Engine.plan_fork)
    fork = alone(Engine.fork)
    plan_summary = alone(Engine.plan_summary)
    summarise = aside(Engine.summarise)
    plan_undo = alone(Engine.plan_undo)
    undo = alone(Engine.undo)
    plan_redo = alone(Engine.plan_redo)
    redo = alone(Engine.redo)

    @property
    def interrupted(self) -> bool:
        """True if an operation was interrupted and not yet recovered."""
        return self.engine.interrupted

    recover = alone(Engine.recover)

    # -- keeping house

    workspaces = staticmethod(Engine.workspaces)
    verify = alone(Engine.verify)
    doctor = alone(Engine.doctor)
    plan_prune = alone(Engine.plan_prune)
    prune = alone(Engine.prune)
    restore = alone(Engine.restore)
    trash = alone(Engine.trash)
    plan_purge = alone(Engine.plan_purge)
    purge = alone(Engine.purge)
    forget = alone(Engine.forget)
