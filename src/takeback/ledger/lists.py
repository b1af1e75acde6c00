"""Questions of the faces: paths, parts of turns, pages of a timeline, prompts, earlier moments."""

from __future__ import annotations

from takeback.errors import LedgerDamaged
from takeback.ledger.by_session import TURN_COLUMNS, matches, turn_by_id
from takeback.ledger.expired import position_of
from takeback.ledger.file import original
from takeback.model import json_text
from takeback.model.checkpoint import ADDED, DELETED, MODIFIED
from takeback.model.entries import OUTSIDE, OwnedChange, Turn
from takeback.model.ids import CheckpointId
from takeback.model.row import Spot, TimelineRow
from takeback.model.turn import SESSION_END, SESSION_START, STEER
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, TypeVar

    from takeback.ledger.ledger import Ledger, Lineage
    from takeback.model.checkpoint import Checkpoint, CountedChange

    Change = TypeVar("Change", bound=CountedChange)

# -- questions about paths: when one was changed, and by whom


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


def changes_of_path(
    ledger: Ledger, path: bytes, here: Lineage
) -> list[tuple[Checkpoint, OwnedChange]]:
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


# -- questions about parts of turns: what followed a prompt typed during one, what came before one


_CHANGE = "path, changes.kind, added, deleted, who, changes.session, changes.turn"
HIDDEN = f"('{SESSION_START}', '{SESSION_END}', 'undo')"


def after_steer(ledger: Ledger, steer: CheckpointId) -> list[CheckpointId]:
    """Returns the checkpoints of a steer's turn that show its effects, oldest first.

    steer ── round ── round ── steer ── turn end
               ^        ^        ^                  the first one's: the last of them is the next
    """
    rows = ledger.rows(
        "with mine as (select position, session from checkpoints where id = ?1), "
        "step as (select checkpoints.* from checkpoints, mine "
        "where checkpoints.session = mine.session and checkpoints.position > mine.position) "
        "select id from step where position <= min("
        f"coalesce((select min(position) from step where kind = '{STEER}'), 9e18), "
        "coalesce((select last.position from turns join checkpoints first on first.id = turns.id "
        "join checkpoints last on last.id = turns.after, mine where turns.session = mine.session "
        "and first.position <= mine.position order by first.position desc limit 1), -1)) "
        "order by position",
        steer,
    )
    return [str(id) for (id,) in rows]  # type: ignore[misc]


def changes_of(ledger: Ledger, turn_of: Checkpoint, ids: Iterable[str]) -> list[OwnedChange]:
    """Returns what a session changed at some of its checkpoints, each path once."""
    named = list(ids)
    marks = ", ".join("?" * len(named))
    rows = ledger.rows(
        f"select {_CHANGE} from changes join checkpoints on checkpoints.id = changes.checkpoint "
        f"where changes.session = ? and checkpoint in ({marks}) order by position",
        turn_of.session,
        *named,
    )
    return folded(OwnedChange(*row) for row in rows)  # type: ignore[arg-type]


def outside_before(ledger: Ledger, prompt: CheckpointId) -> list[OwnedChange]:
    """Returns the person's edits that were found when the session of a prompt started.

    A start has no row of its own in a list, so they are shown at the first prompt after it.
    """
    rows = ledger.rows(
        "with mine as (select position, session from checkpoints where id = ?1) "
        f"select {_CHANGE} from changes join checkpoints on checkpoints.id = changes.checkpoint, "
        "mine where checkpoints.session = mine.session and checkpoints.position < mine.position "
        "and changes.who = ?2 and checkpoints.position > coalesce((select max(other.position) "
        "from checkpoints other where other.session = mine.session "
        f"and other.position < mine.position and other.kind not in {HIDDEN}), -1) "
        "order by checkpoints.position",
        prompt,
        OUTSIDE,
    )
    return folded(OwnedChange(*row) for row in rows)  # type: ignore[arg-type]


def outside_at_starts(ledger: Ledger) -> dict[str, set[bytes]]:
    """Returns the paths that ``outside_before`` finds for each prompt that has any."""
    rows = ledger.columns(
        "select path, (select next.id from checkpoints next "
        "where next.session = checkpoints.session and next.position > checkpoints.position "
        f"and next.kind not in {HIDDEN} order by next.position limit 1) "
        "from changes join checkpoints on checkpoints.id = changes.checkpoint "
        f"where who = '{OUTSIDE}' and checkpoints.kind in {HIDDEN}"
    )
    found: dict[str, set[bytes]] = {}
    for path, prompt in rows:
        if prompt is not None:
            found.setdefault(str(prompt), set()).add(bytes(path))  # type: ignore[call-overload]
    return found


def folded(changes: Iterable[Change]) -> list[Change]:
    """Returns successive changes as one for each path, the lines of all added up."""
    found: dict[bytes, Change] = {}
    for change in changes:
        known = found.pop(change.path, None)
        if known is None:
            found[change.path] = change
        elif not (known.kind == ADDED and change.kind == DELETED):
            found[change.path] = change.replace(
                kind=_kind(known.kind, change.kind),
                added=_sum(known.added, change.added),
                deleted=_sum(known.deleted, change.deleted),
            )
    return [change for _, change in sorted(found.items())]


def _kind(first: str, then: str) -> str:
    if first == ADDED:
        return ADDED
    return MODIFIED if first == DELETED and then == ADDED else then


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


# -- queries for a page of the timeline: all of its checkpoints at once, not one by one
#
# A page has fifty, and each query of its own costs more than what it finds.


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


# -- queries about conversations: who keeps one, and the prompts that led to a place


_AT = "(select position from checkpoints where id = ?2)"


class PromptPlace(Value):
    """A checkpoint before a prompt: as much of it as it takes to find the prompt's message."""

    id: CheckpointId
    position: int
    kind: str
    time: float
    turn: int | None
    turn_id: str | None
    prompt: str | None
    leaf: str | None


def last_told(ledger: Ledger, place: Checkpoint) -> Checkpoint | None:
    """Returns the newest checkpoint of the session before a place that keeps a conversation."""
    return _newest(ledger, f"position < {_AT}", place)


def told_since(ledger: Ledger, place: Checkpoint) -> Checkpoint | None:
    """Returns the newest checkpoint of the session after a place that keeps a conversation."""
    return _newest(ledger, f"position > {_AT}", place, undo=True)


def _newest(
    ledger: Ledger, where: str, place: Checkpoint, *, undo: bool = False
) -> Checkpoint | None:
    for limit in (1, -1):  # should the word stand in the record for another reason, look at all
        rows = ledger.rows(
            f"select id from checkpoints where session = ?1 and {where} and (?3 or kind != 'undo') "
            f"and instr(meta, '\"transcript\"') > 0 order by position desc limit {limit:d}",
            place.session,
            place.id,
            undo,
        )
        for (id,) in rows:
            found = ledger.by_id(str(id))
            if found is not None and found.transcript:
                return found
        if not rows:
            break
    return None


def prompt_places(
    ledger: Ledger, session: str, *, until: CheckpointId, without: Sequence[str]
) -> list[PromptPlace]:
    """Returns the checkpoints of a session before a place, newest first, leaving out some kinds."""
    kinds = ", ".join(f"'{kind}'" for kind in without)
    rows = ledger.rows(
        "select id, position, kind, time, turn, turn_id, meta from checkpoints "
        f"where session = ?1 and position < {_AT} and kind not in ({kinds}) order by position desc",
        session,
        until,
    )
    return [_place(row) for row in rows]


def _place(row: Sequence[object]) -> PromptPlace:
    *own, meta = row
    try:
        record = json_text.loads(str(meta))
    except ValueError as error:
        raise LedgerDamaged(f"a row does not read back: {error}") from None
    said = record if isinstance(record, dict) else {}
    found: tuple[Any, ...] = (*own, said.get("prompt"), said.get("leaf"))
    return PromptPlace(*found)


def amount_until(ledger: Ledger, session: str, place: CheckpointId) -> int:
    """Returns how many checkpoints a session has before a place."""
    ((number,),) = ledger.rows(
        f"select count(*) from checkpoints where session = ?1 and position < {_AT}", session, place
    )
    return int(str(number))


# -- queries for looking through everything: many rows, few columns, no JSON


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


# -- questions about an earlier moment: how far sessions and turns were when a checkpoint was made


def up_to(ledger: Ledger, last: Checkpoint, limit: int) -> list[Checkpoint]:
    """Returns the checkpoints of a session up to one of them, newest first."""
    rows = ledger.rows(
        "select id from checkpoints where session = ?1 "
        "and position <= (select position from checkpoints where id = ?2) "
        "order by position desc limit ?3",
        last.session,
        last.id,
        limit,
    )
    return _read(ledger, rows)


def previous(ledger: Ledger, checkpoint: Checkpoint) -> Checkpoint | None:
    """Returns the checkpoint of its session before another one."""
    found = up_to(ledger, checkpoint, 2)
    return found[1] if len(found) > 1 else None


def followers(ledger: Ledger, first: Checkpoint, below: int) -> list[Checkpoint]:
    """Returns the checkpoints of a session after one and before a position, oldest first."""
    rows = ledger.rows(
        "select id from checkpoints where session = ?1 and position < ?3 "
        "and position > (select position from checkpoints where id = ?2) order by position",
        first.session,
        first.id,
        below,
    )
    return _read(ledger, rows)


def heard(ledger: Ledger, session: str, first: int, last: int) -> list[Checkpoint]:
    """Returns a session's checkpoints after a position, up to the first in time after another."""
    rows = ledger.rows(
        "select id from checkpoints where session = ?1 and position > ?2 and position <= "
        "coalesce((select min(position) from checkpoints where session = ?1 and position > ?3 "
        "and instr(meta, '\"late\"') = 0), 9e18) order by position",
        session,
        first,
        last,
    )
    return _read(ledger, rows)


def next_in_session(ledger: Ledger, checkpoint: Checkpoint) -> list[Checkpoint]:
    """Returns the checkpoint of its session after another one, if there is any."""
    rows = ledger.rows(
        "select id from checkpoints where session = ?1 and position > "
        "(select position from checkpoints where id = ?2) order by position limit 1",
        checkpoint.session,
        checkpoint.id,
    )
    return _read(ledger, rows)


def next_of_each_session(ledger: Ledger, position: int) -> list[Checkpoint]:
    """Returns the first checkpoint of every session after a position."""
    rows = ledger.rows(
        "select id from checkpoints where position in "
        "(select min(position) from checkpoints where position > ? group by session)",
        position,
    )
    return _read(ledger, rows)


def newest_turns(ledger: Ledger, position: int) -> list[Turn]:
    """Returns the turn of each session that began last before a position, and may be open there.

    Turns are in the order in which they began. One that ended before, and is not open now, was not.
    """
    rows = ledger.rows(
        "with last as (select turns.position from checkpoints join turns on turns.id = "
        "checkpoints.id where checkpoints.position < ?1 order by checkpoints.position desc limit 1)"
        " select id from turns where position in "
        "(select max(position) from turns where position <= (select position from last) "
        "group by session) and (state in ('running', 'background') or (select position "
        "from checkpoints where checkpoints.id = turns.after) >= ?1) order by position",
        position,
    )
    found = (turn_by_id(ledger, str(id)) for (id,) in rows)
    return [turn for turn in found if turn is not None]


def newest_turn(ledger: Ledger, checkpoint: Checkpoint) -> Turn | None:
    """Returns the turn of its session that began last before a checkpoint."""
    rows = ledger.rows(
        "select turns.id from checkpoints join turns on turns.id = checkpoints.id "
        "where checkpoints.session = ?1 and checkpoints.position < ?2 "
        "order by checkpoints.position desc limit 1",
        checkpoint.session,
        position_of(ledger, checkpoint.id),
    )
    return turn_by_id(ledger, str(rows[0][0])) if rows else None


def was_amid(ledger: Ledger, position: int) -> bool:
    """Tells whether the checkpoint before a position was taken in the middle of an operation."""
    rows = ledger.rows(
        "select instr(meta, '\"amid\"') > 0 from checkpoints where position < ? "
        "order by position desc limit 1",
        position,
    )
    return bool(rows and rows[0][0])


def _read(ledger: Ledger, rows: list[tuple[object, ...]]) -> list[Checkpoint]:
    found = (ledger.by_id(str(id)) for (id,) in rows)
    return [one for one in found if one is not None]
