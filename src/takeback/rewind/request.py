"""A request: what is asked for of a goal, in which scope, what is waived and what is kept."""

from __future__ import annotations

from takeback.errors import Option, UsageError
from takeback.model.conflicts import NOTHING_CHOSEN, ConflictChoices
from takeback.model.coverage import NO_OVERRIDES, Overrides
from takeback.model.operation import (
    BOTH,
    CONVERSATION,
    FILES,
    REWIND,
    Goal,
)
from takeback.model.path_text import covers
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Final, Literal

    from takeback.capture.capture import Captured
    from takeback.fork.fork import Cut
    from takeback.model.checkpoint import Change
    from takeback.model.conflicts import Conflict, ConflictChoice
    from takeback.model.entries import Turn
    from takeback.model.ids import SessionId, SnapshotId
    from takeback.model.operation import Move, OperationKind, ScopeKind
    from takeback.turns.running import RunningTurn

    Kept = Literal["nothing", "edits", "all others", "picked"]
    Asked = Callable[[Captured], "Request"]

# -- what a rewind keeps of the time since its target, merged into it


NOTHING: Final = "nothing"
EDITS: Final = "edits"
"""What the person changed by hand."""
ALL_OTHERS: Final = "all others"
"""Everything but what the target's own session changed."""
PICKED: Final = "picked"
"""Everything but the hunks that a person picked: ``ConflictChoices.picked``."""
KEPT: dict[str, Kept] = {NOTHING: NOTHING, EDITS: EDITS, "mine": ALL_OTHERS, ALL_OTHERS: ALL_OTHERS}
"""What programs ask for; ``mine`` is the word of the command line, which takes back only that."""


class Keeping(Value):
    """What is kept, and what is chosen where it is in conflict with what goes."""

    what: Kept = NOTHING
    choices: ConflictChoices = NOTHING_CHOSEN


KEEP_NOTHING = Keeping()


def keeping_of(what: Kept, conflicts: ConflictChoice | None) -> Keeping:
    """Returns what is kept, with one choice about all conflicts, if that is said.

    Raises UsageError for a choice about conflicts that there cannot be.
    """
    if conflicts is not None and what == NOTHING:
        raise UsageError(
            "there are no conflicts to choose about: nothing is merged",
            hint=("to keep what you typed since: ", Option("--keep-edits")),
        )
    return Keeping(what, ConflictChoices(otherwise=conflicts))


def kept_named(name: str) -> Kept:
    """Returns what is kept by that name; raises UsageError."""
    found = KEPT.get(name)
    if found is None:
        raise UsageError(f"{name!r} cannot be kept; there are: {', '.join(KEPT)}")
    return found


# -- scope: what is wanted of a goal


class Scope(Value):
    """What is wanted of the goal: all of it or some paths, with or without ignored files.

    ``also`` are paths of ignored files that are wanted whatever the rest says. ``touched`` is what
    the operation that is being undone or redone did, by path: each path goes back to what it was
    before, wherever it is, and what the operation made is removed if it is still exactly that. With
    ``files`` false no file is wanted, as for a conversation alone. ``asked`` if a person has just
    named the paths: one that is nowhere is then a typo.
    """

    paths: tuple[bytes, ...] = ()
    ignored: bool = False
    also: frozenset[bytes] = frozenset()
    touched: Mapping[bytes, Change] = {}
    files: bool = True
    asked: bool = True

    @property
    def asked_for(self) -> tuple[bytes, ...]:
        """Returns the paths that a person named."""
        return self.paths if self.asked else ()

    def holds(self, path: bytes) -> bool:
        return self.files and (covers(self.paths, path) or path in self.also)

    def puts_back(self, path: bytes) -> bool:
        """Tells whether this very ignored path goes back to what it was."""
        done = self.touched.get(path)
        return path in self.also or (done is not None and done.old is not None)

    def wants_ignored(self, path: bytes) -> bool:
        if not self.files:
            return False
        if path in self.paths or self.puts_back(path):
            return True
        if self.also and covers(tuple(self.also), path):
            return True
        return self.ignored and covers(self.paths, path)


class Facts(Value):
    """What is known about the time since the target.

    ``others`` maps paths to the other sessions that changed them, ``own`` are the paths that the
    person changed, ``turns`` are the turns that changed something, each with its paths.
    """

    last_seen: SnapshotId | None = None
    at_work: frozenset[str] = frozenset()
    """The sessions that have an open turn: what changed since the last look is theirs."""
    running: tuple[RunningTurn, ...] = ()
    inside: RunningTurn | None = None
    others: Mapping[bytes, str] = {}
    own: frozenset[bytes] = frozenset()
    turns: tuple[tuple[Turn, frozenset[bytes]], ...] = ()
    ignored: tuple[bytes, ...] = ()
    beyond: tuple[bytes, ...] = ()
    """Files outside the workspace that edit tools of those turns changed; absolute."""
    family: frozenset[str] = frozenset()
    """The target's session with its ancestors and all its descendants."""
    current: SessionId | None = None
    """The session that the conversation of the target's line is at."""


NO_FACTS = Facts()


# -- request: one rewind, fork, undo or redo that is asked for, from its plan to its end


class Request(Value):
    """Where it goes, what is wanted of that, what is waived, what is known about the time since.

    ``of`` is the operation that an undo or redo is about, ``cut`` what happens to the conversation
    (None: it stays). ``conflicts`` are those that nobody has chosen about, in the goal of a merge;
    ``keeping`` is what was merged into it, ``edits`` the paths of a person's edits among that.
    ``mentioned`` are paths that a merge has looked at, though neither side of it may hold them now.
    """

    goal: Goal
    scope: Scope = Scope()
    overrides: Overrides = NO_OVERRIDES
    facts: Facts = NO_FACTS
    kind: OperationKind = REWIND
    of: Move | None = None
    cut: Cut | None = None
    conflicts: tuple[Conflict, ...] = ()
    keeping: Kept = NOTHING
    edits: tuple[bytes, ...] = ()
    mentioned: frozenset[bytes] = frozenset()

    @property
    def moves(self) -> ScopeKind:
        """Returns what it moves: files, conversation or both."""
        if self.of is not None:
            return self.of.scope
        if self.cut is None:
            return FILES
        return BOTH if self.scope.files else CONVERSATION

    @property
    def wanted(self) -> Scope:
        """Returns the scope with the ignored files that a turn changed, unless paths are named."""
        if self.scope.paths:
            return self.scope
        return self.scope.replace(also=self.scope.also | frozenset(self.facts.ignored))

    @property
    def kept(self) -> dict[bytes, str]:
        """Returns the paths that are left alone because others changed them, and why."""
        if not self.overrides.keep_others:
            return {}
        return {
            path: f"changed by another session ({session}) and kept"
            for path, session in self.facts.others.items()
        }
