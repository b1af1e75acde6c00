"""What happened in a workspace, and up to where somebody knows it."""

from __future__ import annotations

from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

BEGAN: Final = "began"
ENDED: Final = "ended"


class NewsMark(Value):
    """A moment of a workspace: the newest place, the id of what is there, and the operations.

    Places are counted anew when the ledger is; the id tells whether that one is still the same.
    """

    position: int
    newest: str
    operations: frozenset[str]
