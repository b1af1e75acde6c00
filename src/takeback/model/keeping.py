"""What a rewind keeps of the time since its target, merged into it."""

from __future__ import annotations

from takeback.errors import Option, UsageError
from takeback.model.merge import NOTHING_CHOSEN, ConflictChoices
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, Literal

    from takeback.model.merge import ConflictChoice

    Kept = Literal["nothing", "edits", "all others", "picked"]

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
