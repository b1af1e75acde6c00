"""Gaps: what a checkpoint of a turn lacks and the one before it did not."""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.model.coverage import LET_GO, Coverage
from takeback.model.path_text import to_text
from takeback.store.checkpoints import read_coverage
from takeback.store.held import Held
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.coverage import NotHeld
    from takeback.store.store import Store

_NAMED = 3


def new_gaps(store: Store, before: Checkpoint | None, coverage: Coverage) -> str | None:
    """Says which wanted paths are not held, and which were dropped; once each.

    ``before`` is the session's checkpoint before this one, None at its first.
    """
    known = _coverage_of(store, before)
    lacking = [item for item in coverage.skipped if item not in known]
    let_go: list[NotHeld] = []
    if before is not None and coverage.names(LET_GO):
        named = (item for item in coverage.not_held if item.reason in LET_GO)
        let_go = [item for item in named if item not in known]
    if before is not None and let_go:  # by the user's own rule; what no snapshot had is not news
        held = Held.of(store, before)
        let_go = [item for item in let_go if item.path in held]
    said = []
    if lacking:
        said.append(f"what is in {_named(lacking)} is not kept, and no rewind can bring it back")
    if let_go:
        said.append(f"what is in {_named(let_go)} is kept no longer, as your settings say")
    return "; ".join(said) or None


def _coverage_of(store: Store, checkpoint: Checkpoint | None) -> Coverage:
    try:
        return Coverage() if checkpoint is None else read_coverage(store, checkpoint.commit)
    except StoreDamaged:
        return Coverage()


def _named(items: Sequence[NotHeld]) -> str:
    named = ", ".join(f"{shown(to_text(one.path)) or '.'} ({one.reason})" for one in items[:_NAMED])
    return named + (f" and {len(items) - _NAMED:,} more" if len(items) > _NAMED else "")
