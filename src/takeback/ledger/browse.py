"""Questions of somebody who looks through everything: many rows, few columns, no JSON."""

from __future__ import annotations

from takeback.ledger.file import original
from takeback.ledger.sessions import matches
from takeback.ledger.steps import outside_at_starts
from takeback.model.ids import CheckpointId
from takeback.model.row import Spot, TimelineRow
from takeback.model.timeline import OUTSIDE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.ledger.ledger import Ledger

_AT_ONCE = 500
"""How many ids one question names."""
_NO_TURN = (None, None, None, None, None)


def timeline_rows(
    ledger: Ledger, *, without: Sequence[str], limit: int = -1
) -> tuple[TimelineRow, ...]:
    """Returns checkpoints, newest first, leaving out some kinds unless they have a label."""
    kinds = ", ".join("?" * len(without))
    found = ledger.columns(
        "select id, place, session, kind, time, turn from checkpoints "
        f"where kind not in ({kinds}) or id in (select checkpoint from labels) "
        f"order by place desc limit {limit:d}",
        *without,
    )
    labels = {
        id: original(str(name))
        for id, name in ledger.columns("select checkpoint, name from labels")
    }
    # Apart from each other: joining them by their ids takes twice as long.
    turns = {
        id: (number, state, None if prompt is None else original(str(prompt)), before, after)
        for id, number, state, prompt, before, after in ledger.columns(
            "select id, number, state, prompt, before, after from turns "
            f"order by place desc limit {limit:d}"
        )
    }
    outside = dict(_outside(ledger, None if limit < 0 else [row[0] for row in found]))
    return tuple(
        TimelineRow._make(
            (*row, labels.get(row[0]), *turns.get(row[0], _NO_TURN), outside.get(row[0], 0))
        )
        for row in found
    )


def _outside(ledger: Ledger, ids: Sequence[object] | None) -> list[tuple[object, object]]:
    """Returns how many files the person changed before each checkpoint; of all without ids."""
    question = "select checkpoint, count(*) from changes where who = 'outside'"
    if ids is None:
        rows = ledger.columns(f"{question} group by checkpoint")
    else:
        rows = _of(ledger, f"{question} and checkpoint in (%s) group by checkpoint", ids)
    found: dict[object, object] = dict(rows)  # type: ignore[arg-type]
    for id, paths in outside_at_starts(ledger).items():
        own = {change.path for change in ledger.changes(CheckpointId(id)) if change.who == OUTSIDE}
        found[id] = len(paths | own)
    return list(found.items())


def _of(ledger: Ledger, question: str, ids: Sequence[object]) -> list[tuple[object, ...]]:
    """Asks a question about many ids, some at a time."""
    found = []
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        found += ledger.columns(question % ", ".join("?" * len(some)), *some)
    return found


def spots(ledger: Ledger, ids: Sequence[str]) -> dict[str, Spot]:
    """Returns where checkpoints stand, by id; unknown ones are left out."""
    columns = "id, place, session, kind, turn, snapshot"
    rows = _of(ledger, f"select {columns} from checkpoints where id in (%s)", ids)
    return {str(id): Spot._make(rest) for id, *rest in rows}


def operation_places(ledger: Ledger) -> dict[str, int]:
    """Returns where each operation stands among the checkpoints."""
    rows = ledger.columns("select id, place from operations")
    return {str(id): int(str(place)) for id, place in rows}


def checkpoints_with(ledger: Ledger, text: str, *, only_paths: bool) -> set[str]:
    """Returns the ids of the checkpoints whose prompt or changed paths hold a text."""
    where, value = matches(text)
    only = " and what = 'path'" if only_paths else ""
    rows = ledger.columns(f"select distinct checkpoint from words where {where}{only}", value)
    return {str(id) for (id,) in rows}


def turns_by_number(ledger: Ledger) -> dict[tuple[str, int], str]:
    """Returns the ids of the counted turns, by session and number."""
    rows = ledger.columns(
        "select session, number, id from turns where number is not null order by place"
    )
    return {(str(session), int(str(number))): str(id) for session, number, id in rows}
