"""Gaps: what a checkpoint of a turn does not hold and the one before it did not lack."""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.model.path_text import to_text
from takeback.store.checkpoints import read_coverage
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.coverage import Coverage
    from takeback.store.store import Store

_NAMED = 3


def new_gaps(store: Store, before: Checkpoint | None, coverage: Coverage) -> str | None:
    """Says which paths are not held, wanted as they are; None if that was so before.

    ``before`` is the session's checkpoint before this one, None at its first.
    """
    known = set()
    if before is not None and not before.complete:
        try:
            known = set(read_coverage(store, before.commit).skipped)
        except StoreDamaged:
            known = set()
    new = [item for item in coverage.skipped if item not in known]
    if not new:
        return None
    named = ", ".join(f"{shown(to_text(one.path)) or '.'} ({one.reason})" for one in new[:_NAMED])
    more = f" and {len(new) - _NAMED:,} more" if len(new) > _NAMED else ""
    return f"what is in {named}{more} is not kept, and no rewind can bring it back"
