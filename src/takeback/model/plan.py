"""The plan: every change that a rewind would make, before it is made."""

from __future__ import annotations

from takeback.model.change import Change
from takeback.model.goal import Goal
from takeback.model.ids import SessionId
from takeback.model.operation import FILES, REWIND
from takeback.model.session import Resume
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final, Literal

    from takeback.model.merge import Conflict, ConflictChoice
    from takeback.model.operation import OperationKind, ScopeKind
    from takeback.model.policy import Waiver
    from takeback.model.summary import Sending
    from takeback.model.timeline import Candidate, Turn

    RefusalCode = Literal[
        "inside_turn",
        "during_turn",
        "others",
        "mass_delete",
        "during_git",
        "other_branch",
        "colliding_names",
        "disk_space",
        "conflicts",
    ]


NOT_ASKED: Final = "ignored by git; restored only if asked"
"""Why an ignored file is left alone: to restore it has to be said."""

INSIDE_TURN: Final = "inside_turn"
DURING_TURN: Final = "during_turn"
OTHERS: Final = "others"
MASS_DELETE: Final = "mass_delete"
DURING_GIT: Final = "during_git"
OTHER_BRANCH: Final = "other_branch"
COLLIDING_NAMES: Final = "colliding_names"
DISK_SPACE: Final = "disk_space"
CONFLICTS: Final = "conflicts"


class LeftAlone(Value):
    """A path that differs from the target but is not touched, and why.

    ``by_rule`` if that is intended (an ignored file that nobody asked for, another session's change
    that is to be kept, a file that was not held then); else the operation is only partly done.
    """

    path: bytes
    reason: str
    by_rule: bool = False


class Refusal(Value):
    """A precondition that does not hold, and the ways past it: each a field of ``Overrides``.

    Without any, nothing waives it. The last one does all that was asked for. ``choices`` are those
    that can be made about all of the conflicts it is about.
    """

    code: RefusalCode
    message: str
    waivers: tuple[Waiver, ...] = ()
    choices: tuple[ConflictChoice, ...] = ()


IGNORED_STAY = "ignored files stay behind: a new directory has none of them"
"""What has to be known of a fork into a directory of its own."""


class Plan(Value):
    """What going to ``goal`` means now.

    ``writes`` and ``deletes`` are ordered by path. ``outside`` are those of them that the user has
    changed by hand since the target, ``others`` those that another session changed. ``saved`` are
    the paths outside the snapshot (ignored, oversized, unreadable to the scan) whose bytes must be
    saved before they are replaced. ``scope`` is what would move, ``prompt`` the prompt that would
    be taken back and ``session`` the one whose conversation is cut. ``turns`` are the turns since
    the target that changed any of the paths, ``lines`` how many lines each path would gain and
    lose, if counted, ``goes_on`` the session that the conversation goes back to by undo and redo.
    ``beyond`` are files outside the workspace that edit tools changed since, by absolute path: they
    are not taken back. ``kind`` is what would be done, ``conflicts`` are the paths about which
    somebody has to choose first, ``edits`` those of a person's edits that are kept. ``sending`` is
    what of the conversation would be sent to whom, to become a summary. ``whose`` is the session
    that it is about, if none was named and there are others.
    """

    goal: Goal
    writes: tuple[Change, ...]
    deletes: tuple[Change, ...]
    left_alone: tuple[LeftAlone, ...] = ()
    outside: tuple[bytes, ...] = ()
    others: tuple[bytes, ...] = ()
    warnings: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    saved: tuple[bytes, ...] = ()
    paths: tuple[bytes, ...] = ()
    ignored: bool = False
    scope: ScopeKind = FILES
    prompt: str | None = None
    session: SessionId | None = None
    turns: tuple[Turn, ...] = ()
    lines: Mapping[bytes, tuple[int, int]] = {}
    goes_on: SessionId | None = None
    beyond: tuple[bytes, ...] = ()
    kind: OperationKind = REWIND
    conflicts: tuple[Conflict, ...] = ()
    edits: tuple[bytes, ...] = ()
    sending: Sending | None = None
    whose: Candidate | None = None

    @property
    def files(self) -> int:
        """How many files would be written or deleted, directories not counted."""
        changes = (*self.writes, *self.deletes)
        entries = (change.new or change.old for change in changes)
        return sum(1 for entry in entries if entry is not None and not entry.is_directory)

    @property
    def is_empty(self) -> bool:
        """True if no file would change."""
        return not self.writes and not self.deletes

    @property
    def is_possible(self) -> bool:
        """True if nothing that should change has to be left alone."""
        return all(item.by_rule for item in self.left_alone)

    @property
    def does_nothing(self) -> bool:
        """True if there is neither something to do nor something to choose."""
        return self.is_empty and self.scope == FILES and not self.conflicts

    def same_changes(self, other: Plan) -> bool:
        """Tells whether both plans go to the same place and do the same to the files.

        Two undos may do the same to the files; a yes to one is not a yes to the other.
        """
        return (
            self.goal.id == other.goal.id
            and self.goal.tree == other.goal.tree
            and self.writes == other.writes
            and self.deletes == other.deletes
        )


class Outcome(Value):
    """What an operation did. ``undo`` is the checkpoint that brings back what it replaced."""

    operation: str | None
    kind: OperationKind
    goal: Goal
    undo: str | None
    written: tuple[bytes, ...]
    deleted: tuple[bytes, ...]
    left_alone: tuple[LeftAlone, ...]
    verified: bool
    """Every path in scope that the target knows was checked and is exactly as it says."""
    recovered: bool = False
    directories: tuple[bytes, ...] = ()
    """Those of ``written`` and ``deleted`` that are directories."""
    scope: ScopeKind = FILES
    session: SessionId | None = None
    """The session to continue with, if the conversation moved."""
    resume: Resume | None = None
    prompt: str | None = None
    """The prompt that was taken back, to be offered again."""
    conversation_error: str | None = None
    """Why the conversation was not moved although the files were."""
    directory: str | None = None
    """Where a fork put its files."""
    commit: str | None = None
    """The commit that the directory of a fork is at, if it is a git worktree."""
    beyond: tuple[bytes, ...] = ()
    """Files outside the workspace that edit tools changed since, and that stay as they are."""
    edits: tuple[bytes, ...] = ()
    """Those of a person's edits that were kept."""

    @property
    def files(self) -> int:
        """How many files were written or deleted."""
        return len(self.written) + len(self.deleted) - len(self.directories)

    @property
    def whole(self) -> bool:
        """True if all is as asked for: nothing was left alone except by the user's own choice."""
        return self.verified and self.conversation_error is None
