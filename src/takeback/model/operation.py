"""Operations: what takeback did, where one goes, what it plans, and what undo and redo walk."""

from __future__ import annotations

from takeback.errors import UsageError
from takeback.model import codec
from takeback.model.checkpoint import Change, CountedChange, Resume
from takeback.model.coverage import Coverage
from takeback.model.ids import (
    WORKSPACE_SESSION,
    CheckpointId,
    MachineId,
    OperationId,
    SessionId,
    SnapshotId,
)
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Final, Literal

    from takeback.model.agent import Sending
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.conflicts import Conflict, ConflictChoice
    from takeback.model.coverage import Waiver
    from takeback.model.entries import Candidate, Turn
    from takeback.model.ids import Order

    OperationKind = Literal[
        "rewind", "undo", "redo", "fork", "summarise", "revert", "apply", "prune", "purge"
    ]
    StepKind = Literal["undo", "redo"]
    ScopeKind = Literal["files", "conversation", "both"]
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

# -- the goal: the state of the files that an operation goes to, in a checkpoint or not


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


# -- operations


REWIND: Final = "rewind"
UNDO: Final = "undo"
REDO: Final = "redo"
REVERT: Final = "revert"
APPLY: Final = "apply"
FORK: Final = "fork"
SUMMARISE: Final = "summarise"
PRUNE: Final = "prune"
PURGE: Final = "purge"
"""Has no more than a head: what was purged is said nowhere, and it is not undone."""
FILES: Final = "files"
CONVERSATION: Final = "conversation"
BOTH: Final = "both"
STEPS: tuple[StepKind, ...] = (UNDO, REDO)
SCOPES: tuple[ScopeKind, ...] = (FILES, CONVERSATION, BOTH)
BEGINS = frozenset((FORK, SUMMARISE))
"""The kinds that begin a session beside the others, which goes nowhere by itself."""
UNDOABLE = frozenset((REWIND, REVERT, APPLY, *BEGINS))
GOES = frozenset((REWIND, REVERT, APPLY))
"""The kinds that do not count as an operation if there is nothing to do, and so to undo."""
MOVES = frozenset((*UNDOABLE, UNDO, REDO))
"""The kinds that have what a ``Move`` has."""


_WAYS: dict[OperationKind, str] = {
    FORK: "from",
    SUMMARISE: "at",
    REVERT: "of",
    APPLY: "of",
}


def way(kind: OperationKind) -> str:
    """Returns the word between an operation and where it went: a rewind *to*, a revert *of*."""
    return _WAYS.get(kind, "to")


def step_named(name: str) -> StepKind | None:
    """Returns undo or redo, if a word is one of them."""
    return next((step for step in STEPS if step == name), None)


def scope_named(name: str) -> ScopeKind:
    """Returns the scope of that name; raises UsageError."""
    found = next((scope for scope in SCOPES if scope == name), None)
    if found is None:
        raise UsageError(f"{name!r} is no scope; there are: {', '.join(SCOPES)}")
    return found


def changed_too(kind: OperationKind) -> str:
    """Says what is wrong with paths that are in conflict: what is brought in is not earlier."""
    return "changed here, too" if kind == APPLY else "changed again since"


class Operation(Value):
    """One line of the operation log: the part that every kind has.

    Of a kind that only a newer takeback knows, there is nothing else: it is shown, but neither
    undone nor changed.
    """

    id: OperationId
    kind: OperationKind
    time: float
    sequence: int
    machine: MachineId

    @property
    def order(self) -> Order:
        """Where it stands among all checkpoints and operations of a workspace."""
        return (self.sequence, self.machine, self.time, self.id)


class Move(Operation):
    """An operation that took the files or a conversation to another state.

    ``before`` is the undo snapshot: the checkpoint that holds everything the operation replaced,
    and ``was`` the files in it. ``target`` is the checkpoint it went to, None if it went to a state
    that no checkpoint has. ``paths`` is its scope (empty: the whole workspace), ``of`` the
    operation that an undo or redo was about. ``scope`` says what it moved. ``child`` is the session
    that a conversation was cut into; ``about`` says in words where it went ("before turn 3").
    ``directory`` is where a fork put its files instead of the workspace. ``touched`` is what it did
    to the files that the snapshots before and after it do not show within ``paths``: a file that
    was not named but displaced, directories that had to be made, ignored files. ``keeps`` if it
    left what the person had changed by hand since the target.
    """

    session: SessionId
    target: CheckpointId | None
    before: CheckpointId
    after: SnapshotId
    paths: tuple[bytes, ...] = ()
    of: OperationId | None = None
    written: int = 0
    deleted: int = 0
    left_alone: int = 0
    recovered: bool = False
    scope: ScopeKind = FILES
    child: SessionId | None = None
    about: str | None = None
    target_sequence: int = 0
    directory: str | None = None
    touched: tuple[Change, ...] = ()
    was: SnapshotId | None = None
    keeps: bool = False

    @property
    def moves_files(self) -> bool:
        """True if the files of the workspace were part of it."""
        return self.scope in (FILES, BOTH) and self.directory is None

    @property
    def can_be_undone(self) -> bool:
        """A fork that left the files alone removed nothing that could be brought back."""
        return self.kind not in BEGINS or self.moves_files

    @property
    def where(self) -> str:
        """Returns where it went, in words if there are any."""
        return self.about or self.target or "a state of its own"

    @property
    def moves_conversation(self) -> bool:
        return self.scope in (CONVERSATION, BOTH)


class Pruned(Operation):
    """An operation that took the files off checkpoints, or brought them back from the trash.

    What was dropped is in the trash under the operation's own id, until its grace is over; it is
    not undone but restored. ``dropped`` and ``restored`` are checkpoints, ``sessions`` those that
    went or came back whole. ``swept`` says that nobody asked for it: the settings did. ``gone`` are
    the numbers of the agents' checkpoints that went altogether: what they changed is nobody's own
    edit, and nothing else is left to tell. ``forgotten`` counts those of sessions that stayed.
    """

    dropped: int = 0
    restored: tuple[CheckpointId, ...] = ()
    sessions: tuple[SessionId, ...] = ()
    swept: bool = False
    gone: tuple[int, ...] = ()
    forgotten: int = 0


def decode(record: Mapping[str, Any]) -> Operation:
    """Returns the operation that a record describes; raises ValueError naming what is wrong."""
    head = codec.decode(Operation, record)
    if head.kind == PRUNE:
        return codec.decode(Pruned, record)
    return codec.decode(Move, record) if head.kind in MOVES else head


def moves(log: Iterable[Operation]) -> list[Move]:
    """Returns the operations that went somewhere, in the order of the log."""
    return [one for one in log if isinstance(one, Move)]


class Step(Value):
    """One move that undo or redo can make: go to ``goes_to``, in the scope of ``operation``.

    ``last`` is the operation that it takes back: ``operation`` itself, or its latest undo or redo.
    """

    operation: Move
    last: Move

    @property
    def goes_to(self) -> CheckpointId:
        return self.last.before


class History(Value):
    """What can be undone and redone now, newest last.

    ``took`` maps each undo and redo in the log to the operation it took back.
    """

    undo: tuple[Step, ...]
    redo: tuple[Step, ...]
    took: Mapping[OperationId, Move] = {}


def history(log: Iterable[Operation]) -> History:
    """Folds the operation log, oldest first, into the two stacks.

        rewind A        undo: A           redo:
        rewind B        undo: A B         redo:
        undo (of B)     undo: A           redo: B'      B' goes to what the undo replaced
        undo (of A)     undo:             redo: B' A'
        redo (of A)     undo: A"          redo: B'      A" goes to what the redo replaced
        rewind C        undo: A" C        redo:

    Each move goes to the undo snapshot of the operation that it takes back, so whatever was in the
    workspace when an operation ran comes back, edits in between included. If the beginning of the
    log is lost, a move whose operation was in it is skipped.
    """
    undo: list[Step] = []
    redo: list[Step] = []
    took: dict[OperationId, Move] = {}
    for operation in moves(log):
        if operation.kind in UNDOABLE and operation.can_be_undone:
            undo.append(Step(operation, operation))
            redo.clear()
        elif operation.kind == UNDO and _is_of(operation, undo):
            took[operation.id] = undo[-1].last
            redo.append(Step(undo.pop().operation, operation))
        elif operation.kind == REDO and _is_of(operation, redo):
            took[operation.id] = redo[-1].last
            undo.append(Step(redo.pop().operation, operation))
    return History(tuple(undo), tuple(redo), took)


def _is_of(operation: Move, stack: list[Step]) -> bool:
    return bool(stack) and operation.of in (None, stack[-1].operation.id)


# -- the plan: every change that a rewind would make, before it is made


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


# -- two states side by side: which they are, and what each has at a path


class Portion(Value):
    """Two states of the workspace, of which some paths are to be compared."""

    old: SnapshotId
    new: SnapshotId
    paths: frozenset[bytes]


class Between(Value):
    """Two states of the workspace, to be compared; with ``parts``, only what these have of it.

    That is what a turn did, where it is not alone: a path may be in several, in their order.
    """

    old: SnapshotId
    new: SnapshotId
    parts: tuple[Portion, ...] | None = None

    @classmethod
    def of_trees(cls, old: bytes, new: bytes) -> Between:
        return cls(SnapshotId(old.hex()), SnapshotId(new.hex()))

    def of(self, path: bytes) -> tuple[tuple[SnapshotId, SnapshotId], ...]:
        """Returns the states to compare a path in: one pair, or one for each part that has it."""
        if self.parts is None:
            return ((self.old, self.new),)
        return tuple((part.old, part.new) for part in self.parts if path in part.paths)


class Side(Value):
    """What one state has at a path. ``target`` is where it leads if it is a link."""

    mode: int
    size: int
    target: bytes | None = None


class FileDiff(Value):
    """One path in two states; None stands for "not there".

    ``patch`` is git's unified diff of this path alone. It is None if there is nothing for git to
    compare (a directory), and for a file that is ``too_large``.
    """

    path: bytes
    old: Side | None
    new: Side | None
    patch: bytes | None = None
    too_large: bool = False


class Preview(Value):
    """What going to a checkpoint would change now.

    ``changes`` are the files that ``plan`` writes and deletes, with their lines counted;
    ``between`` leads from the present files to the target.
    """

    plan: Plan
    changes: tuple[CountedChange, ...]
    between: Between
