"""The first page of the timeline: what is read while the screen is being prepared."""

from __future__ import annotations

from typing import NamedTuple

from takeback.tui.timeline.rows import build
from takeback.words import listing as words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from takeback.app.engine import Engine
    from takeback.timeline.timeline import Browsed, TimelineEntry
    from takeback.tui.timeline.rows import Rows

_FIRST = 100
"""Rows that are read first, so that there is something to look at; the rest follows at once."""
_IN_VIEW = 30
"""Rows that are read in full: enough for a tall screen."""


class Page(NamedTuple):
    """The newest rows, drawn, and those in view in full."""

    browsed: Browsed
    rows: Rows
    entries: Mapping[str, TimelineEntry]

    @property
    def summary(self) -> str:
        """How much there is, in words."""
        return words.summary(self.browsed.rows, whole=self.browsed.whole)


def first_page(tb: Engine) -> Page:
    """Reads the newest rows."""
    browsed = tb.browse(limit=_FIRST)
    entries = tb.entries(row.id for row in browsed.rows[:_IN_VIEW])
    return Page(browsed, build(browsed), entries)
