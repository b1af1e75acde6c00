"""``Takeback``: the Python API, on one page.

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
from takeback.model.keeping import KEEP_NOTHING
from takeback.model.merge import NOTHING_CHOSEN
from takeback.model.policy import NO_OVERRIDES

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from typing import Self

    from takeback.app.connect import AgentState
    from takeback.app.session import AgentSession
    from takeback.app.workspace import CheckpointLike
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.event import AgentEvent
    from takeback.model.keeping import Keeping
    from takeback.model.merge import ConflictChoices
    from takeback.model.operation import Operation, ScopeKind
    from takeback.model.plan import Outcome, Plan
    from takeback.model.policy import Overrides
    from takeback.ops.blame import Blame
    from takeback.ops.checkpoint import Made
    from takeback.ops.finding import Finding
    from takeback.ops.prune import Prune, Pruning
    from takeback.ops.purge import Purge, Purging
    from takeback.ops.receive import Received
    from takeback.ops.recover import Recovered
    from takeback.ops.restore import Restored
    from takeback.ops.search import Found
    from takeback.ops.sessions import Node, SessionEntry
    from takeback.ops.status import Status
    from takeback.ops.timeline import Shown, TimelineEntry
    from takeback.ops.verify import Verified
    from takeback.ops.workspaces import KnownWorkspace
    from takeback.ports import Clock, Reporter
    from takeback.store.expiry import Trash

    Paths = Iterable[str | bytes]
    Where = str | os.PathLike[str]


class Takeback:
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

    # -- looking

    def find(self, name: CheckpointLike, *, session: str | None = None) -> Checkpoint:
        """Returns the checkpoint that a name means; raises NoSuchCheckpoint or WhichSession.

        ``session`` says whose turns are meant by ``turn:3`` and ``@``.
        """
        return self.engine.find(name, session=session)

    def checkpoints(
        self,
        *,
        session: str | None = None,
        everything: bool = False,
        limit: int = -1,
        paths: Paths = (),
        before: CheckpointLike | None = None,
    ) -> list[TimelineEntry]:
        """Returns checkpoints with what changed in each, newest first.

        Rounds, ends of turns and undo snapshots are included only with ``everything``. With
        ``paths``, only what changed one of them, and nothing else of it; a renamed file is followed
        to its earlier names. With ``before``, only what is older than that checkpoint.
        """
        return self.engine.checkpoints(
            session=session, everything=everything, limit=limit, paths=paths, before=before
        )

    def blame(self, path: str | bytes, checkpoint: CheckpointLike | None = None) -> Blame:
        """Returns who wrote each line of a file, as it is now or at a checkpoint."""
        return self.engine.blame(path, checkpoint)

    def show(self, checkpoint: CheckpointLike) -> Shown:
        """Returns one checkpoint in full, with what it does not hold."""
        return self.engine.show(checkpoint)

    def diff(
        self, old: CheckpointLike, new: CheckpointLike | None = None, paths: Paths = ()
    ) -> bytes:
        """Returns a unified diff from ``old`` to ``new``, or to the files as they are now."""
        return self.engine.diff(old, new, paths)

    def cat(self, checkpoint: CheckpointLike, path: str | bytes) -> bytes:
        """Returns the bytes of one file as a checkpoint has them."""
        return self.engine.cat(checkpoint, path)

    def conversation(self, checkpoint: CheckpointLike) -> bytes:
        """Returns the conversation at a checkpoint, in the agent's own format."""
        return self.engine.conversation(checkpoint)

    def search(self, *words: str, limit: int = -1, content: bool = False) -> list[Found]:
        """Returns the prompts and changed paths that hold all words, newest first.

        With ``content``, searches the lines of the files in all snapshots instead.
        """
        return self.engine.search(*words, limit=limit, content=content)

    def sessions(self) -> list[SessionEntry]:
        """Returns the agents' sessions, the one that was last active first."""
        return self.engine.sessions()

    def tree(self) -> list[Node]:
        """Returns the sessions as a tree, with their turns and what was forked from where."""
        return self.engine.tree()

    def operations(self) -> list[Operation]:
        """Returns the operation log, oldest first, of all machines whose work is in the store."""
        return self.engine.operations()

    def status(self, *, look: bool = False) -> Status:
        """Returns where the files are, what is kept, how large, and what went wrong.

        With ``look`` the files are checked too, to say what changed by hand since.
        """
        return self.engine.status(look=look)

    def agents(self) -> list[AgentState]:
        """Returns the agents here, connected or not, and whether one worked without takeback."""
        return self.engine.agents()

    # -- going back and forth

    def plan(
        self,
        checkpoint: CheckpointLike,
        paths: Paths = (),
        *,
        scope: ScopeKind | None = None,
        ignored: bool = False,
        overrides: Overrides = NO_OVERRIDES,
        keeping: Keeping = KEEP_NOTHING,
    ) -> Plan:
        """Returns what a rewind would change; changes nothing."""
        return self.engine.plan(
            checkpoint, paths, scope=scope, ignored=ignored, overrides=overrides, keeping=keeping
        )

    def rewind(
        self,
        checkpoint: CheckpointLike,
        paths: Paths = (),
        *,
        scope: ScopeKind | None = None,
        ignored: bool = False,
        overrides: Overrides = NO_OVERRIDES,
        keeping: Keeping = KEEP_NOTHING,
        shown: Plan | None = None,
    ) -> Outcome:
        """Goes to a checkpoint. ``shown`` is the plan a person agreed to.

        ``keeping`` says what of the time since is kept, merged into it: a person's edits, or all
        but what the checkpoint's session changed.
        """
        return self.engine.rewind(
            checkpoint,
            paths,
            scope=scope,
            ignored=ignored,
            overrides=overrides,
            keeping=keeping,
            shown=shown,
        )

    def plan_revert(
        self,
        turns: Iterable[str],
        paths: Paths = (),
        *,
        choices: ConflictChoices = NOTHING_CHOSEN,
        overrides: Overrides = NO_OVERRIDES,
    ) -> Plan:
        """Returns what ``revert`` would change; changes nothing. Its ``conflicts`` need choices."""
        return self.engine.plan_revert(turns, paths, choices=choices, overrides=overrides)

    def revert(
        self,
        turns: Iterable[str],
        paths: Paths = (),
        *,
        choices: ConflictChoices = NOTHING_CHOSEN,
        overrides: Overrides = NO_OVERRIDES,
        shown: Plan | None = None,
    ) -> Outcome:
        """Takes some turns out of the files, and leaves what came after them.

        A turn is ``turn:3``, one of its steps ``turn:3.2``, or any checkpoint within it.
        """
        return self.engine.revert(turns, paths, choices=choices, overrides=overrides, shown=shown)

    def plan_fork(
        self,
        checkpoint: CheckpointLike,
        *,
        files: bool = True,
        worktree: str | None = None,
        git: bool = False,
        overrides: Overrides = NO_OVERRIDES,
    ) -> Plan:
        """Returns what a fork would change; changes nothing. ``worktree`` is checked, too."""
        return self.engine.plan_fork(
            checkpoint, files=files, worktree=worktree, git=git, overrides=overrides
        )

    def fork(
        self,
        checkpoint: CheckpointLike,
        *,
        files: bool = False,
        worktree: str | None = None,
        git: bool = False,
        overrides: Overrides = NO_OVERRIDES,
        shown: Plan | None = None,
    ) -> Outcome:
        """Begins a new session from a checkpoint: its conversation and, if asked, its files.

        With ``worktree`` the files go into a new directory, and those here stay; with ``git`` it
        becomes a worktree of the project's git repository.
        """
        return self.engine.fork(
            checkpoint, files=files, worktree=worktree, git=git, overrides=overrides, shown=shown
        )

    def plan_undo(self, *, overrides: Overrides = NO_OVERRIDES) -> Plan:
        """Returns what ``undo`` would change; changes nothing."""
        return self.engine.plan_undo(overrides=overrides)

    def undo(self, *, overrides: Overrides = NO_OVERRIDES, shown: Plan | None = None) -> Outcome:
        """Takes back the newest operation that has not been taken back."""
        return self.engine.undo(overrides=overrides, shown=shown)

    def plan_redo(self, *, overrides: Overrides = NO_OVERRIDES) -> Plan:
        """Returns what ``redo`` would change; changes nothing."""
        return self.engine.plan_redo(overrides=overrides)

    def redo(self, *, overrides: Overrides = NO_OVERRIDES, shown: Plan | None = None) -> Outcome:
        """Does again what the last undo took back."""
        return self.engine.redo(overrides=overrides, shown=shown)

    @property
    def interrupted(self) -> bool:
        """True if an operation was interrupted and not yet recovered."""
        return self.engine.interrupted

    def recover(self) -> Recovered | None:
        """Finishes or rolls back an interrupted operation; None if there is none."""
        return self.engine.recover()

    # -- keeping house

    @staticmethod
    def workspaces(*, environ: Mapping[str, str] | None = None) -> list[KnownWorkspace]:
        """Returns every workspace that something is kept of, by path; opens none of them."""
        return Engine.workspaces(environ=environ)

    def verify(self, *, read_data: bool = False) -> Verified:
        """Checks that everything kept can be read back."""
        return self.engine.verify(read_data=read_data)

    def doctor(self, *, rebuild: bool = False, fix: bool = False) -> list[Finding]:
        """Reports what is wrong; with ``fix`` it mends what can safely be mended."""
        return self.engine.doctor(rebuild=rebuild, fix=fix)

    def plan_prune(
        self,
        checkpoints: Iterable[CheckpointLike] = (),
        *,
        session: str | None = None,
        everything: bool = False,
    ) -> Prune:
        """Returns a prune that is decided and not carried out: its ``outlook`` says what it does.

        By the settings, or of the checkpoints that are named; of one session only, or with
        ``everything`` all of that session.
        """
        return self.engine.plan_prune(checkpoints, session=session, everything=everything)

    def prune(self, planned: Prune) -> Pruning:
        """Carries out a prune, and empties the trash of what was there long enough."""
        return self.engine.prune(planned)

    def restore(self, name: str | None = None) -> Restored:
        """Brings back what was pruned: the newest, or what the id of a prune or a checkpoint means.

        Of a checkpoint its turn comes back. Raises Refused if the trash is empty.
        """
        return self.engine.restore(name)

    def trash(self) -> list[Trash]:
        """Returns what was dropped and can be brought back, the oldest first."""
        return self.engine.trash()

    def plan_purge(self, *names: str) -> Purge:
        """Returns a purge that is not carried out: its ``outlook`` says what it would remove.

        A name is a path, which starts where the workspace was opened, or a pattern, which starts
        at its root and matches at any depth if it has no slash.
        """
        return self.engine.plan_purge(*names)

    def purge(self, planned: Purge) -> Purging:
        """Removes what it is about from everything that is kept, for good; proves it."""
        return self.engine.purge(planned)

    def forget(self) -> None:
        """Deletes every checkpoint of this workspace for good; its files are not touched."""
        self.engine.forget()
