"""Reviewing: what a turn changed, or a rewind would change, with all its lines."""

from __future__ import annotations

from takeback import rooms
from takeback.app.border import guarded
from takeback.app.space import Space
from takeback.model.ids import SnapshotId
from takeback.model.operation import Between

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from takeback.app.workspace import CheckpointLike
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint, Entry
    from takeback.model.timeline import ReviewedChange

AFTER: Final = "after"
"""What the turn that begins there changed; of any other checkpoint, what changed before it."""
NOW: Final = "now"
"""What going there would do to the files as they are."""
PREVIOUS: Final = "previous"
"""What changed from the state before it."""
WORDS = (AFTER, NOW, PREVIOUS)


@guarded
class Reviewing(Space):
    """Two states side by side: a checkpoint, and another one, or the files as they are."""

    def review(self, checkpoint: CheckpointLike, to: str = AFTER) -> tuple[ReviewedChange, ...]:
        """Returns what differs, by path. ``to`` is one of the words above, or a checkpoint.

        With ``now`` it is in the direction of the rewind: from the files as they are.
        """
        found = self.find_kept(checkpoint)
        if to == NOW:
            preview = self.preview(found)
            plan = preview.plan
            made = rooms.review.joined((*plan.writes, *plan.deletes), preview.changes)
            return tuple(one.replace(tickable=one.change.path not in plan.saved) for one in made)
        return rooms.review.reviewed(self._context.store, self._between(found, to))

    def _between(self, found: Checkpoint, to: str) -> Between:
        if to == AFTER:
            return self.states(found)
        own = SnapshotId(found.tree.hex())
        if to != PREVIOUS:
            return Between(own, SnapshotId(self.find_kept(to).tree.hex()))

        def question(ledger: Ledger) -> SnapshotId | None:
            return ledger.state_before(found)

        return Between(self._ask(question) or own, own)

    def content(self, path: bytes, entry: Entry | None) -> bytes:
        """Returns the bytes of one side of a change that ``review`` gave."""
        self.refuse_hidden(path)
        return rooms.review.content(self._context.store, path, entry)
