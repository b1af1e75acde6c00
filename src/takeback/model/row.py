"""Rows of a long timeline, with what is needed to place each of them, and no more.

NamedTuples and no Values: ten thousand of them take 9 ms to make instead of 65. Nothing on the
way of a hook imports this module, so ``typing`` costs nobody anything.
"""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, Literal

    from takeback.model.timeline import TurnState
    from takeback.model.turn import CheckpointKind

    Gone = Literal["taken back", "left"]

TAKEN_BACK: Final = "taken back"
LEFT: Final = "left"


class TimelineRow(NamedTuple):
    """One checkpoint that a list shows.

    Where a turn begins, the fields from ``number`` to ``after`` are that turn's, as in
    ``model.timeline.Turn``; else ``state`` is None. ``outside`` counts the files that the person
    changed before the turn. ``place`` orders all checkpoints and operations of a workspace.
    """

    id: str
    place: int
    session: str
    kind: CheckpointKind
    time: float
    turn: int | None
    label: str | None = None
    number: int | None = None
    state: TurnState | None = None
    prompt: str | None = None
    before: str | None = None
    after: str | None = None
    outside: int = 0

    @property
    def is_turn(self) -> bool:
        return self.state is not None


class Spot(NamedTuple):
    """Where a checkpoint stands, shown in the list or not."""

    place: int
    session: str
    kind: CheckpointKind
    turn: int | None
    snapshot: str = ""
