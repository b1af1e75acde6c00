"""What can be done at an entry of the timeline, and why not: as data, for every face.

The words are in ``words/choices.py``, the keys are the picker's. A new operation is one more name
here.
"""

from __future__ import annotations

from takeback.app import proposal as proposals
from takeback.model.agent import FROM, UP_TO
from takeback.model.operation import BOTH, CONVERSATION, FILES, FORK, REDO, REVERT, UNDO, Move
from takeback.model.path_text import FromRoot
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Final, Literal

    from takeback.app.proposal import Proposal, Ticked
    from takeback.fork.fork import Choices
    from takeback.model.operation import StepKind
    from takeback.timeline.names import NamedTurn
    from takeback.timeline.timeline import TimelineEntry

    Doing = Literal[
        "both",
        "conversation",
        "files",
        "ticked",
        "revert",
        "fork",
        "fork files",
        "fork directory",
        "summarise from",
        "summarise up to",
        "undo",
        "redo",
    ]
    """Actions that are operations: each has a proposal."""
    ActionName = Doing | Literal["end", "before", "label", "copy", "cancel"]
    Obstacle = Literal[
        "no_conversation",
        "no_files",
        "no_tick",
        "other_end",
        "no_turn",
        "no_end",
        "nothing_to_undo",
        "nothing_to_redo",
    ]

TICKED: Final = "ticked"
END: Final = "end"
BEFORE: Final = "before"
FORK_FILES: Final = "fork files"
FORK_DIRECTORY: Final = "fork directory"
SUMMARISE_FROM: Final = "summarise from"
SUMMARISE_UP_TO: Final = "summarise up to"
LABEL: Final = "label"
COPY: Final = "copy"
CANCEL: Final = "cancel"

NO_CONVERSATION: Final = "no_conversation"
NO_FILES: Final = "no_files"
NO_TICK: Final = "no_tick"
OTHER_END: Final = "other_end"
NO_TURN: Final = "no_turn"
NO_END: Final = "no_end"
NOTHING_TO_UNDO: Final = "nothing_to_undo"
NOTHING_TO_REDO: Final = "nothing_to_redo"

GROUPS: tuple[tuple[ActionName, ...], ...] = (
    (BOTH, CONVERSATION, FILES, TICKED, REVERT),
    (END, BEFORE, FORK, FORK_FILES, FORK_DIRECTORY, SUMMARISE_FROM, SUMMARISE_UP_TO),
    (LABEL, COPY, UNDO, REDO, CANCEL),
)
"""What is grouped together in a list."""


class Action(Value):
    """One thing that a person may want at an entry.

    ``obstacle`` is why it is not possible, ``detail`` what is known about that, in words. ``of`` is
    the operation that an undo or redo is about, ``ticked`` how many files are ticked as a whole,
    and ``hunks`` how many hunks of others.
    """

    name: ActionName
    obstacle: Obstacle | None = None
    detail: str = ""
    of: Move | None = None
    ticked: int = 0
    hunks: int = 0

    @property
    def is_possible(self) -> bool:
        return self.obstacle is None


class EntryDestination(Value):
    """Where an entry leads: to before its turn, or to the end of it (``at_end``)."""

    checkpoint: str
    other: str | None
    at_end: bool = False

    def turned(self) -> EntryDestination:
        """Returns the other end of the turn."""
        assert self.other is not None
        return EntryDestination(self.other, self.checkpoint, not self.at_end)


def destination_of(entry: TimelineEntry) -> EntryDestination:
    """Returns the destination that an entry means: for a turn, the checkpoint before it."""
    turn = entry.turn
    if turn is None:
        return EntryDestination(entry.checkpoint.id, None)
    return EntryDestination(turn.before, turn.after if turn.after != turn.before else None)


def actions(
    found: Choices,
    entry: TimelineEntry,
    destination: EntryDestination,
    ticked: Ticked | None,
) -> tuple[Action, ...]:
    """Returns every action at a destination; ``ticked`` is None if nothing can be ticked."""
    made = [_talk(BOTH, found), _talk(CONVERSATION, found), _files(FILES, found)]
    if ticked is not None:
        made.append(_only_ticked(found, ticked, destination))
    made.append(_revert(found.turn))
    if entry.turn is not None:
        way: Obstacle | None = NO_END if destination.other is None else None
        made.append(Action(BEFORE, way) if destination.at_end else Action(END, way))
    return (
        *made,
        *(_talk(name, found) for name in _NEW_SESSIONS),
        Action(LABEL),
        Action(COPY),
        Action(UNDO, NOTHING_TO_UNDO if found.undo is None else None, of=found.undo),
        Action(REDO, NOTHING_TO_REDO if found.redo is None else None, of=found.redo),
        Action(CANCEL),
    )


def _talk(name: ActionName, found: Choices) -> Action:
    """Returns an action that moves the conversation."""
    if found.no_conversation is not None:
        return Action(name, NO_CONVERSATION, found.no_conversation)
    return _files(name, found) if name in _WITH_FILES else Action(name)


_NEW_SESSIONS: tuple[ActionName, ...] = (
    FORK,
    FORK_FILES,
    FORK_DIRECTORY,
    SUMMARISE_FROM,
    SUMMARISE_UP_TO,
)
_WITH_FILES = (BOTH, FILES, TICKED, FORK_FILES, FORK_DIRECTORY)


def _files(name: ActionName, found: Choices) -> Action:
    """Returns an action that needs the files of the checkpoint."""
    return Action(name, None if found.checkpoint.expired is None else NO_FILES)


def _only_ticked(found: Choices, ticked: Ticked, destination: EntryDestination) -> Action:
    """Returns the action for what is ticked; hunks are those of going to the entry itself."""
    counts = {"ticked": len(ticked.files), "hunks": ticked.hunk_count}
    action = _files(TICKED, found).replace(**counts)
    if not ticked.paths:
        return action.replace(obstacle=NO_TICK)
    return action.replace(obstacle=OTHER_END) if ticked.hunks and destination.at_end else action


def _revert(turn: NamedTurn | None) -> Action:
    """Returns the action that takes one turn out of the files and leaves the later ones."""
    if turn is None:
        return Action(REVERT, NO_TURN)
    kept = turn.before.expired is None and turn.after.expired is None
    return Action(REVERT, None if kept else NO_FILES)


def proposal_of(
    name: Doing,
    found: Choices,
    *,
    ticked: Collection[bytes] = (),
    directory: str | None = None,
) -> Proposal:
    """Returns the proposal for an action."""
    target = found.checkpoint
    if name == UNDO:
        return _step(name, found.undo)
    if name == REDO:
        return _step(name, found.redo)
    if name == FORK:
        return proposals.fork(target)
    if name == FORK_FILES:
        return proposals.fork(target, files=True)
    if name == FORK_DIRECTORY:
        return proposals.fork(target, worktree=directory)
    if name == SUMMARISE_FROM:
        return proposals.summarise(target, FROM)
    if name == SUMMARISE_UP_TO:
        return proposals.summarise(target, UP_TO)
    if name == REVERT:
        assert found.turn is not None, "impossible actions cannot be chosen"
        return proposals.revert([found.turn])
    if name == TICKED:
        return proposals.rewind(target, map(FromRoot, sorted(ticked)), scope=FILES)
    return proposals.rewind(target, scope=name)


def _step(kind: StepKind, of: Move | None) -> Proposal:
    assert of is not None, "impossible actions cannot be chosen"
    return proposals.step(kind, of)
