"""The entries of rows that were in view: what changed in each, remembered for a while."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from takeback.timeline.timeline import Browsed, TimelineEntry

_KEPT = 2_000
"""How many entries are remembered: more than anybody scrolls through in a minute."""


class KnownEntries:
    """Entries by the id of their row."""

    def __init__(self) -> None:
        self._entries: dict[str, TimelineEntry] = {}

    def get(self, id: str) -> TimelineEntry | None:
        return self._entries.get(id)

    def learn(self, entries: Mapping[str, TimelineEntry]) -> None:
        """Remembers entries that were lacking."""
        self._entries.update(entries)

    def lacking(self, ids: Iterable[str]) -> list[str]:
        """Returns which of the rows have no known entry, each once."""
        return list(dict.fromkeys(id for id in ids if id not in self._entries))

    def forget_changed(self, before: Browsed | None, after: Browsed) -> None:
        """Forgets the entries of turns that continued, or got a label."""
        if before is None:
            return
        if len(self._entries) > _KEPT:
            self._entries.clear()
        known = {row.id: row for row in before.rows if row.id in self._entries}
        now = {row.id: row for row in after.rows if row.id in self._entries}
        for id, row in known.items():
            if now.get(id) != row:
                del self._entries[id]
