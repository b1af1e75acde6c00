"""Browsing the whole timeline: light rows for everything, full entries for what is in view."""

from __future__ import annotations

from takeback import rooms
from takeback.app.border import guarded
from takeback.app.endings import turn_is_over
from takeback.app.recording import Recording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.app.workspace import CheckpointLike
    from takeback.timeline.timeline import Browsed, TimelineEntry


@guarded
class Browsing(Recording):
    """What a list of ten thousand turns needs."""

    def browse(self, *, limit: int = -1) -> Browsed:
        """Returns the rows of the timeline, newest first, with what places them in a tree."""
        return self._ask(
            lambda ledger: rooms.timeline.browse(
                self._context, ledger, is_over=turn_is_over, limit=limit
            )
        )

    def timeline_mark(self) -> str:
        """Returns a word that changes whenever ``browse`` may have something new to say."""
        return rooms.timeline.mark(self._context.store)

    def entries(self, ids: Iterable[str]) -> dict[str, TimelineEntry]:
        """Returns rows in full, by id; one that is gone is left out."""
        wanted = list(ids)
        return self._ask(
            lambda ledger: rooms.timeline.rows_in_full(
                self._context, ledger, wanted, is_over=turn_is_over
            )
        )

    def names_in(self, checkpoint: CheckpointLike, directory: str) -> list[tuple[str, bool]]:
        """Returns what a directory held at a checkpoint: names, and whether each is a directory."""
        found = self.find(checkpoint)
        return rooms.look.names_in(self._context, found, self.path(directory))

    def matching(self, *words: str, only_paths: bool = False) -> frozenset[str]:
        """Returns the rows that have all words in a prompt or changed path."""
        return self._ask(
            lambda ledger: rooms.timeline.matching(ledger, words, only_paths=only_paths)
        )
