"""Queries for a page of the timeline: all of its checkpoints at once, not one by one.

A page has fifty, and each query of its own costs more than what it finds.
"""

from __future__ import annotations

from takeback.ledger.sessions import TURN_COLUMNS
from takeback.ledger.steps import HIDDEN
from takeback.model.timeline import OwnedChange, Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.ledger.ledger import Ledger

_AT_ONCE = 500
"""How many ids go into one query."""


def changes_at(ledger: Ledger, ids: Sequence[str]) -> dict[str, tuple[OwnedChange, ...]]:
    """Returns what changed between the state before and each checkpoint, by path."""
    return _by_id(
        ledger,
        "select checkpoint, path, kind, added, deleted, who, session, turn from changes "
        "where checkpoint in ({ids}) order by checkpoint, path",
        ids,
    )


def changed_by(ledger: Ledger, turns: Sequence[str]) -> dict[str, tuple[OwnedChange, ...]]:
    """Returns the files that each turn changed, from before it to its newest checkpoint."""
    return _by_id(
        ledger,
        "select turn, path, kind, added, deleted, who from turn_changes "
        "where turn in ({ids}) order by turn, path",
        turns,
    )


def turns_at(ledger: Ledger, ids: Sequence[str]) -> dict[str, Turn]:
    """Returns the turns that begin at some checkpoints."""
    rows = _rows(ledger, f"select {TURN_COLUMNS} from turns where id in ({{ids}})", ids)
    found = [Turn(*row) for row in rows]  # type: ignore[arg-type]
    return {turn.id: turn for turn in found}


def after_a_start(ledger: Ledger, ids: Sequence[str]) -> set[str]:
    """Returns those before which their session started or ended: what came then is told there."""
    rows = _rows(
        ledger,
        "select id from checkpoints here where id in ({ids}) "
        "and (select kind from checkpoints last "
        "where last.session = here.session and last.position < here.position "
        f"order by last.position desc limit 1) in {HIDDEN}",
        ids,
    )
    return {str(id) for (id,) in rows}


def _by_id(ledger: Ledger, query: str, ids: Sequence[str]) -> dict[str, tuple[OwnedChange, ...]]:
    found: dict[str, list[OwnedChange]] = {}
    for id, *change in _rows(ledger, query, ids):
        found.setdefault(str(id), []).append(OwnedChange(*change))  # type: ignore[arg-type]
    return {id: tuple(changes) for id, changes in found.items()}


def _rows(ledger: Ledger, query: str, ids: Sequence[str]) -> Iterator[tuple[object, ...]]:
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        yield from ledger.rows(query.format(ids=", ".join("?" * len(some))), *some)
