"""The goal: the state of the files that an operation goes to, in a checkpoint or not."""

from __future__ import annotations

from takeback.model.coverage import Coverage
from takeback.model.ids import WORKSPACE_SESSION
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId, SessionId, SnapshotId


class Goal(Value):
    """What the files should become.

    ``tree`` is the snapshot, ``coverage`` what it does not hold, ``saved`` the tree of the ignored
    files that are kept beside it (None: there are none). ``about`` says in words where it is.
    ``checkpoint`` is the one whose state it is. A goal without one was made from the present state:
    what it does not hold stays as it is now. Its trees are in the store all the same, and ``owner``
    is the session that it is about. One with ``own`` has a tree of its own, made from that of its
    checkpoint, of which it has everything else.
    """

    tree: SnapshotId
    coverage: Coverage = Coverage()
    saved: str | None = None
    about: str | None = None
    checkpoint: Checkpoint | None = None
    owner: SessionId = WORKSPACE_SESSION
    own: bool = False

    def merged(self, tree: SnapshotId, words: str) -> Goal:
        """Returns the goal with something kept in it; ``words`` say what."""
        then = self.checkpoint
        return self.replace(
            tree=tree,
            about=f"{self.about or self.name}, {words}",
            checkpoint=None if then is None else then.replace(snapshot=tree),
            own=True,
        )

    @property
    def id(self) -> CheckpointId | None:
        return None if self.checkpoint is None else self.checkpoint.id

    @property
    def name(self) -> str:
        """Returns what it is called in a sentence: its checkpoint, else what it is about."""
        return self.id or self.about or self.tree[:12]

    @property
    def session(self) -> SessionId:
        """Returns the session whose state it is; the workspace's own if it is no session's."""
        return self.owner if self.checkpoint is None else self.checkpoint.session

    @property
    def complete(self) -> bool:
        """True if it vouches for every path."""
        then = self.checkpoint
        return self.coverage.complete if then is None else then.complete

    @property
    def root_mode(self) -> int | None:
        """Returns the permission bits of the root; None if they stay as they are."""
        return None if self.checkpoint is None else self.checkpoint.root_mode

    @property
    def amid(self) -> str | None:
        """Returns the operation during which it was captured, if any."""
        return None if self.checkpoint is None else self.checkpoint.amid
