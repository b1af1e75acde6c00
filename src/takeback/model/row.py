"""Rows of a long timeline, with only what is needed to place each of them."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, Literal

    from takeback.model.turn import CheckpointKind

    Gone = Literal["taken back", "left"]
    TurnState = Literal["running", "background", "ended", "unfinished"]
    TurnKind = Literal["prompt", "shell"]

TAKEN_BACK: Final = "taken back"
LEFT: Final = "left"


class TimelineRow(NamedTuple):
    """One checkpoint that a list shows.

    If a turn begins here, the fields from ``number`` to ``after`` are that turn's, as in
    ``model.timeline.Turn``; else ``state`` is None. ``outside`` counts the files that the person
    changed before the turn. ``position`` orders all checkpoints and operations of a workspace.
    """

    id: str
    position: int
    session: str
    kind: CheckpointKind
    time: float
    turn: int | None
    label: str | None = None
    label_by: str | None = None
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
    """Where a checkpoint is, shown in the list or not."""

    position: int
    session: str
    kind: CheckpointKind
    turn: int | None
    snapshot: str = ""
