"""The goal: a state of the files that an operation goes to, whether or not a checkpoint has it."""

from __future__ import annotations

from takeback.model.coverage import Coverage
from takeback.model.ids import WORKSPACE_SESSION
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId, SessionId, SnapshotId


class Goal(Value):
    """What the files are to be.

    ``tree`` is the snapshot, ``coverage`` what it does not hold, ``saved`` the tree of the ignored
    files that are kept beside it (None: there are none). ``about`` says in words where it is.
    ``checkpoint`` is the one that it is the state of. A goal without one was made of the present
    state: what it does not hold is as it is now. Its trees are in the store all the same.
    """

    tree: SnapshotId
    coverage: Coverage = Coverage()
    saved: str | None = None
    about: str | None = None
    checkpoint: Checkpoint | None = None

    @property
    def id(self) -> CheckpointId | None:
        return None if self.checkpoint is None else self.checkpoint.id

    @property
    def name(self) -> str:
        """Returns what it is called in a sentence: its checkpoint, else what it is about."""
        return self.id or self.about or self.tree[:12]

    @property
    def session(self) -> SessionId:
        """Returns the session whose state it is; the workspace's own where it is no session's."""
        return WORKSPACE_SESSION if self.checkpoint is None else self.checkpoint.session

    @property
    def complete(self) -> bool:
        """True when it vouches for every path."""
        then = self.checkpoint
        return self.coverage.complete if then is None else then.complete

    @property
    def root_mode(self) -> int | None:
        """Returns the permission bits of the root; None where they stay as they are."""
        return None if self.checkpoint is None else self.checkpoint.root_mode

    @property
    def amid(self) -> str | None:
        """Returns the operation in the middle of which it was captured, if in any."""
        return None if self.checkpoint is None else self.checkpoint.amid
