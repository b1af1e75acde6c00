"""A finding: one thing that was checked, its state, and what to do about it."""

from __future__ import annotations

from takeback.errors import Command
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final, Literal

    from takeback.context import LockedContext
    from takeback.errors import Hint

    FindingState = Literal["ok", "mended", "broken", "offer"]
    Cure = Callable[[LockedContext], str]

OK: Final = "ok"
MENDED: Final = "mended"
BROKEN: Final = "broken"
OFFER: Final = "offer"

FIX = ("mend it: ", Command("doctor", "--fix"))
WHO_LOST = ("which checkpoints lost something: ", Command("verify"))


class Finding(Value):
    """One thing that was checked. ``state`` is ok, mended, broken or offer."""

    about: str
    state: FindingState
    message: str
    hint: Hint = ""
