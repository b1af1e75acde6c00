"""What happened in a workspace, and up to where somebody knows it."""

from __future__ import annotations

from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

BEGAN: Final = "began"
ENDED: Final = "ended"


class NewsMark(Value):
    """A moment of a workspace: the newest place, the operations, and the mark of the timeline."""

    position: int
    operations: frozenset[str]
    mark: str
