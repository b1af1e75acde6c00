"""Questions about paths: when one was changed, and by whom."""

from __future__ import annotations

from takeback.model.timeline import OwnedChange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ledger.ledger import Ledger
    from takeback.ledger.lineage import Lineage
    from takeback.model.checkpoint import Checkpoint

_BELOW = "(path = ?1 or ?1 = x'' or (path > ?2 and path < ?3))"
"""The condition for a path to be one that is named, or to begin with it and a slash."""
_AFTER_SLASH = b"0"
"""The byte that follows the slash."""


def changed_at(ledger: Ledger, path: bytes) -> list[Checkpoint]:
    """Returns the checkpoints whose entry in the log tells of a change of a path, or below it.

    What a turn did is told where it began, what nobody's turn did where it was found.
    """
    rows = ledger.rows(
        f"select turn from turn_changes where {_BELOW} "
        f"union select checkpoint from changes where {_BELOW} and turn is null",
        path,
        path + b"/",
        path + _AFTER_SLASH,
    )
    known = (ledger.by_id(str(id)) for (id,) in rows)
    return [one for one in known if one is not None]


def changes_of(ledger: Ledger, path: bytes, here: Lineage) -> list[tuple[Checkpoint, OwnedChange]]:
    """Returns every change of one path of a machine's files, oldest first."""
    rows = ledger.rows(
        "select checkpoint, path, changes.kind, added, deleted, who, changes.session, changes.turn "
        "from changes join checkpoints on checkpoints.id = changes.checkpoint "
        "where path = ?1 and (machine = ?2 or sequence < ?3) order by position",
        path,
        here.machine,
        here.first,
    )
    found = []
    for id, *fields in rows:
        checkpoint = ledger.by_id(str(id))
        if checkpoint is not None:
            found.append((checkpoint, OwnedChange(*fields)))  # type: ignore[arg-type]
    return found
