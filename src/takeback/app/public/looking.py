"""The part of the Python API that only looks."""

from __future__ import annotations

from takeback.app.given import aside, checked, one_at_a_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from takeback.app.connect import AgentState
    from takeback.app.engine import Engine
    from takeback.app.workspace import CheckpointLike
    from takeback.bisect.bisect import Bisected
    from takeback.blame import Blame
    from takeback.merge.revert import Branches
    from takeback.model.agent import MessagePage
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.operation import Operation
    from takeback.timeline.look import Found, Status
    from takeback.timeline.sessions import Node, SessionEntry
    from takeback.timeline.timeline import Shown, TimelineEntry

    Paths = Iterable[str | bytes]


@one_at_a_time
@checked
class PublicLooking:
    """Everything that looks at what is kept, and leaves the files as they are."""

    engine: Engine

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

    def compare(self, a: str, b: str, *, session: str | None = None) -> Branches:
        """Compares two branches with the place where they parted.

        Each is a session, a checkpoint, a directory that was forked from here, or ``.`` for the
        files as they are now.
        """
        return self.engine.compare(a, b, session=session)

    @aside
    def bisect(
        self,
        good: CheckpointLike,
        bad: CheckpointLike,
        command: Sequence[str],
        *,
        copies: Paths = (),
        timeout: float | None = None,
    ) -> Bisected:
        """Finds what broke a command between two checkpoints: runs it on the states in between.

        It runs in a scratch directory, with ``copies`` of paths that no checkpoint holds, such as
        ``.venv``; a run of more than ``timeout`` seconds is bad. Each verdict is kept, so a search
        that was broken off carries on if it is called again. Raises UsageError if ``good`` is not
        good or ``bad`` not bad, BrokenOff, and Refused if another search is under way.
        """
        return self.engine.bisect(good, bad, command, copies=copies, timeout=timeout)

    def reset_bisection(self) -> bool:
        """Gives up the search that was begun and not finished; False if there is none."""
        return self.engine.reset_bisection()

    def blame(self, path: str | bytes, checkpoint: CheckpointLike | None = None) -> Blame:
        """Returns who wrote each line of a file, as it is now or at a checkpoint."""
        return self.engine.blame(path, checkpoint)

    def show(self, checkpoint: CheckpointLike) -> Shown:
        """Returns one checkpoint in full, with what it does not hold."""
        return self.engine.show(checkpoint)

    def diff(
        self, old: CheckpointLike, new: CheckpointLike | None = None, paths: Paths = ()
    ) -> bytes:
        """Returns a unified diff from ``old`` to ``new``, or to the files as they are now.

        From ``turn:3`` to ``turn:3.end`` it is what the turn did, not what others did meanwhile.
        """
        return self.engine.diff(old, new, paths)

    def cat(self, checkpoint: CheckpointLike, path: str | bytes) -> bytes:
        """Returns the bytes of one file as a checkpoint has them."""
        return self.engine.cat(checkpoint, path)

    def conversation(self, checkpoint: CheckpointLike) -> bytes:
        """Returns the conversation at a checkpoint, in the agent's own format."""
        return self.engine.conversation(checkpoint)

    def messages(
        self, checkpoint: CheckpointLike, *, offset: int = 0, limit: int | None = None
    ) -> MessagePage:
        """Returns what was said up to a checkpoint, with the place before each prompt.

        With ``offset`` and ``limit``, only some of it: numbers count from 0.
        """
        return self.engine.messages(checkpoint, offset=offset, limit=limit)

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
