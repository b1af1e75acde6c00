"""What can be done at an entry of the timeline, and why not. Pure; a list of data.

A host that can summarise, or an operation that is new, is one more line here.
"""

from __future__ import annotations

from takeback.app import proposal as proposals
from takeback.model.path_text import FromRoot
from takeback.model.value import Value
from takeback.words import choices as words
from takeback.words.text import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from takeback.app.proposal import Proposal
    from takeback.model.operation import Move
    from takeback.ops.choices import Choices
    from takeback.ops.timeline import TimelineEntry

BOTH, CONVERSATION, FILES, TICKED = "both", "conversation", "files", "ticked"
END, BEFORE = "end", "before"
FORK, FORK_FILES, FORK_DIRECTORY = "fork", "fork files", "fork directory"
LABEL, COPY, UNDO, REDO, CANCEL = "label", "copy", "undo", "redo", "cancel"

_KEYS = {
    BOTH: "b",
    CONVERSATION: "c",
    FILES: "f",
    TICKED: "t",
    END: "e",
    BEFORE: "e",
    FORK: "n",
    FORK_FILES: "w",
    FORK_DIRECTORY: "d",
    LABEL: "l",
    COPY: "y",
    UNDO: "u",
    REDO: "r",
    CANCEL: "q",
}
GROUPS = (
    (BOTH, CONVERSATION, FILES, TICKED),
    (END, BEFORE, FORK, FORK_FILES, FORK_DIRECTORY),
    (LABEL, COPY, UNDO, REDO, CANCEL),
)
"""What stands together in a list."""


class Action(Value):
    """One line of the list: its key, its name, its words, and why it is not possible."""

    key: str
    name: str
    title: str
    reason: str | None = None


class Destination(Value):
    """Where an entry leads: to before its turn, or to the end of it (``at_end``)."""

    checkpoint: str
    other: str | None
    at_end: bool = False

    def turned(self) -> Destination:
        """Returns the other end of the turn."""
        assert self.other is not None
        return Destination(self.other, self.checkpoint, not self.at_end)


def destination_of(entry: TimelineEntry) -> Destination:
    """Returns the destination that an entry means: of a turn the checkpoint before it."""
    turn = entry.turn
    if turn is None:
        return Destination(entry.checkpoint.id, None)
    return Destination(turn.before, turn.after if turn.after != turn.before else None)


def actions(
    found: Choices, entry: TimelineEntry, destination: Destination, ticked: Collection[bytes] | None
) -> tuple[Action, ...]:
    """Returns every action at a destination; ``ticked`` is None where nothing can be ticked."""
    talk = found.no_conversation
    made = [
        _action(BOTH, talk),
        _action(CONVERSATION, talk),
        _action(FILES),
    ]
    if ticked is not None:
        made.append(_ticked(ticked))
    if entry.turn is not None:
        name = BEFORE if destination.at_end else END
        made.append(_action(name, words.NO_END if destination.other is None else None))
    made += [_action(FORK, talk), _action(FORK_FILES, talk), _action(FORK_DIRECTORY, talk)]
    return (
        *made,
        _action(LABEL),
        _action(COPY),
        _step(UNDO, found.undo),
        _step(REDO, found.redo),
        _action(CANCEL),
    )


def _action(name: str, reason: str | None = None) -> Action:
    return Action(_KEYS[name], name, words.TITLES[name], reason)


def _ticked(ticked: Collection[bytes]) -> Action:
    if not ticked:
        return _action(TICKED, words.NO_TICK)
    return _action(TICKED).replace(title=f"Only the {count(ticked, 'ticked file')}")


def _step(name: str, of: Move | None) -> Action:
    if of is None:
        return _action(name, f"nothing to {name}")
    return _action(name).replace(title=words.step_title(name, of))


def proposal_of(
    name: str,
    found: Choices,
    *,
    ticked: Collection[bytes] = (),
    directory: str | None = None,
) -> Proposal:
    """Returns the proposal that an action is about; the other actions change no file."""
    target = found.checkpoint
    if name in (UNDO, REDO):
        of = found.undo if name == UNDO else found.redo
        assert of is not None, "impossible actions cannot be chosen"
        return proposals.step(name, of)
    if name in (FORK, FORK_FILES, FORK_DIRECTORY):
        return proposals.fork(target, files=name == FORK_FILES, worktree=directory)
    if name == TICKED:
        return proposals.rewind(target, map(FromRoot, sorted(ticked)), scope=FILES)
    return proposals.rewind(target, scope=name)
