"""Queries for looking through everything: many rows, few columns, no JSON."""

from __future__ import annotations

from takeback.ledger.file import original
from takeback.ledger.sessions import matches
from takeback.ledger.steps import outside_at_starts
from takeback.model.ids import CheckpointId
from takeback.model.row import Spot, TimelineRow
from takeback.model.timeline import OUTSIDE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from takeback.ledger.ledger import Ledger

_AT_ONCE = 500
"""How many ids go into one query."""
_NO_LABEL = (None, None)
_NO_TURN = (None, None, None, None, None)


def timeline_rows(
    ledger: Ledger, *, without: Sequence[str], hidden: Iterable[str] = (), limit: int = -1
) -> tuple[TimelineRow, ...]:
    """Returns checkpoints, newest first, leaving out some kinds unless they are labelled."""
    kinds = ", ".join("?" * len(without))
    left_out = frozenset(hidden)
    found = [
        row
        for row in ledger.columns(
            "select id, position, session, kind, time, turn from checkpoints "
            f"where kind not in ({kinds}) or id in (select checkpoint from labels) "
            f"order by position desc limit {limit + len(left_out) if limit >= 0 else -1:d}",
            *without,
        )
        if row[0] not in left_out
    ]
    found = found if limit < 0 else found[:limit]
    labels = {
        id: (original(str(name)), None if agent is None else original(str(agent)))
        for id, name, agent in ledger.columns("select checkpoint, name, agent from labels")
    }
    # Separate queries: joining them by their ids takes twice as long.
    turns = {
        id: (number, state, None if prompt is None else original(str(prompt)), before, after)
        for id, number, state, prompt, before, after in ledger.columns(
            "select id, number, state, prompt, before, after from turns "
            f"order by position desc limit {limit:d}"
        )
    }
    outside = dict(_outside(ledger, None if limit < 0 else [row[0] for row in found]))
    return tuple(
        TimelineRow._make(
            (
                *row,
                *labels.get(row[0], _NO_LABEL),
                *turns.get(row[0], _NO_TURN),
                outside.get(row[0], 0),
            )
        )
        for row in found
    )


def _outside(ledger: Ledger, ids: Sequence[object] | None) -> list[tuple[object, object]]:
    """Returns how many files the person changed before each checkpoint; for all without ids."""
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
    """Runs a query about many ids, some at a time."""
    found = []
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        found += ledger.columns(question % ", ".join("?" * len(some)), *some)
    return found


def spots(ledger: Ledger, ids: Sequence[str]) -> dict[str, Spot]:
    """Returns the places of checkpoints, by id; unknown ones are left out."""
    columns = "id, position, session, kind, turn, snapshot"
    rows = _of(ledger, f"select {columns} from checkpoints where id in (%s)", ids)
    return {str(id): Spot._make(rest) for id, *rest in rows}


def operation_positions(ledger: Ledger) -> dict[str, int]:
    """Returns the place of each operation among the checkpoints."""
    rows = ledger.columns("select id, position from operations")
    return {str(id): int(str(position)) for id, position in rows}


def newest_state(ledger: Ledger, machine: str | None) -> tuple[str, int] | None:
    """Returns the newest checkpoint that is a state of a machine's files, and its number.

    Not an undo snapshot, nor a copy that begins a session; nor the start or end of a session,
    unless a turn ended with it: nothing was done to the files there.
    """
    for whose in ("machine = ?1", "?1 is null or machine != ?1"):
        rows = ledger.columns(
            f"select id, sequence from checkpoints where ({whose}) and "
            "kind not in ('undo', 'fork') and (kind not in ('session start', 'session end') or "
            "exists (select 1 from turns where session = checkpoints.session "
            "and after = checkpoints.id) or not exists (select 1 from checkpoints where kind "
            "not in ('undo', 'fork', 'session start', 'session end'))) "
            "order by position desc limit 1",
            machine,
        )
        if rows:
            return str(rows[0][0]), int(str(rows[0][1]))
    return None


def turn_around(ledger: Ledger, checkpoint: str) -> str | None:
    """Returns the turn that a checkpoint (a round, a step, the end of a session) is part of."""
    rows = ledger.columns(
        "select turns.id from checkpoints join turns on turns.session = checkpoints.session "
        "and turns.number = checkpoints.turn where checkpoints.id = ? "
        "order by turns.position desc limit 1",
        checkpoint,
    )
    return str(rows[0][0]) if rows else None


def unused_forks(ledger: Ledger, besides: Sequence[str]) -> list[tuple[str, str, str]]:
    """Returns the first checkpoints of sessions that were cut here and not used since.

    Each as checkpoint, session and the checkpoint it was cut from, newest first. A session that has
    a label, a turn or a checkpoint of any kind but ``besides`` was used.
    """
    kinds = ", ".join("?" * len(besides))
    rows = ledger.columns(
        "select id, session, origin from checkpoints as begun "
        "where kind = 'fork' and origin in (select id from checkpoints) "
        "and id not in (select checkpoint from labels) "
        "and not exists (select 1 from turns where turns.session = begun.session) "
        "and not exists (select 1 from checkpoints as other where other.session = begun.session "
        f"and other.id != begun.id and other.kind not in ({kinds})) "
        "order by position desc",
        *besides,
    )
    return [(str(id), str(session), str(origin)) for id, session, origin in rows]


def shown_by(ledger: Ledger, ids: Sequence[str], folded: Sequence[str]) -> dict[str, str]:
    """Returns the row of a list that shows each checkpoint: its own, or that of its turn.

    A checkpoint of the ``folded`` kinds that has neither turn nor label is on no row.
    """
    labels = {str(id) for (id,) in ledger.columns("select checkpoint from labels")}
    found = {}
    for id, spot in spots(ledger, ids).items():
        own = spot.kind not in folded or id in labels
        row = id if own else turn_around(ledger, id)
        if row is not None:
            found[id] = row
    return found


def checkpoints_with(ledger: Ledger, words: Sequence[str], *, only_paths: bool) -> set[str]:
    """Returns the ids of the checkpoints that have all words in a prompt or changed path."""
    where, values = matches(words)
    only = " and what = 'path'" if only_paths else ""
    rows = ledger.columns(f"select distinct checkpoint from words where {where}{only}", *values)
    return {str(id) for (id,) in rows}


def turns_by_number(ledger: Ledger) -> dict[tuple[str, int], str]:
    """Returns the ids of the counted turns, by session and number."""
    rows = ledger.columns(
        "select session, number, id from turns where number is not null order by position"
    )
    return {(str(session), int(str(number))): str(id) for session, number, id in rows}
