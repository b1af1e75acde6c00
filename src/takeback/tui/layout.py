"""Where the timeline is on the main screen: the same before the picker's library is there."""

from __future__ import annotations

WIDE = 120
"""From so many columns on, the detail is beside the timeline, else below it."""
TIMELINE_PERCENT = 46
"""How much of a wide screen the timeline has."""
BARS = 2
"""Lines that are not the timeline's while there is no detail: the title and the keys."""


def list_width(width: int) -> int:
    """Returns how many columns of a screen the list has, its scroll bar included."""
    return width if width < WIDE else width * TIMELINE_PERCENT // 100
