"""Browse: the whole timeline at once, cheap enough for ten thousand turns, and what is new."""

from __future__ import annotations

from bisect import bisect_left

from takeback.ledger import browse as questions
from takeback.ledger import sessions as session_questions
from takeback.model.checkpoint import UNDO
from takeback.model.ids import WORKSPACE_SESSION
from takeback.model.operation import BEGINS, moves
from takeback.model.row import LEFT, TAKEN_BACK
from takeback.model.turn import FOLDED, PROMPT, STEER
from takeback.model.value import Value
from takeback.ops import timeline
from takeback.ops.here import current_place, row_of
from takeback.ops.offshoots import offshoots
from takeback.ops.running import open_states
from takeback.store import namespace
from takeback.store.operations import known_operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from takeback.ledger.ledger import Ledger
    from takeback.model.operation import Move
    from takeback.model.row import Spot, TimelineRow
    from takeback.model.timeline import Session
    from takeback.ops.context import Context
    from takeback.ops.here import Place
    from takeback.ops.running import IsOver
    from takeback.ops.timeline import TimelineEntry
    from takeback.store.store import Store


class Browsed(Value):
    """The timeline, newest first.

    ``whole`` is False if only the newest rows were asked for and there are more. ``origins`` says
    where each session that descends from another began. ``here`` is the row that the files are at;
    ``gone`` the turns that an operation took back or left; ``resumed`` the sessions that are shown
    on another row because they were not continued. ``mark`` changes whenever any of this may have
    changed.
    """

    rows: tuple[TimelineRow, ...]
    sessions: tuple[Session, ...]
    origins: Mapping[str, Spot]
    here: Place | None
    gone: Mapping[str, str]
    mark: str
    whole: bool = True
    resumed: Mapping[str, tuple[str, ...]] = {}


def browse(context: Context, ledger: Ledger, *, is_over: IsOver, limit: int = -1) -> Browsed:
    """Returns every row of the timeline, or the newest ones."""
    seen = mark(context.store)
    asked = limit + 1 if limit >= 0 else limit
    unused = offshoots(ledger)
    rows = questions.timeline_rows(
        ledger, without=(*FOLDED, UNDO), hidden=unused.hidden, limit=asked
    )
    states = open_states(context, ledger, is_over)
    if states:
        rows = tuple(r._replace(state=states[r.id]) if r.id in states else r for r in rows)
    sessions = tuple(session_questions.sessions(ledger))
    spots = questions.spots(ledger, [s.origin for s in sessions if s.origin is not None])
    log = moves(known_operations(context.store))
    whole = limit < 0 or len(rows) <= limit
    rows = rows if whole else rows[:limit]
    return Browsed(
        rows=rows,
        sessions=sessions,
        origins={s.id: spots[s.origin] for s in sessions if s.origin in spots},
        here=row_of(
            ledger,
            [(r.id, r.before if r.is_turn else None, r.after) for r in rows],
            unused.shown_as(current_place(context, ledger)),
        ),
        gone=_gone(ledger, rows, sessions, log),
        mark=seen,
        whole=whole,
        resumed=unused.on,
    )


def mark(store: Store) -> str:
    """Returns a word that changes whenever a checkpoint, a label or an operation is new.

    Costs a listing of the refs: cheap enough to be asked once a second.
    """
    tips = namespace.listed(store.refs, namespace.SHOWN, {})
    return " ".join(f"{ref}={tip.hex()}" for ref, tip in tips.items())


def entries(
    context: Context, ledger: Ledger, ids: Iterable[str], *, is_over: IsOver
) -> dict[str, TimelineEntry]:
    """Returns rows in full, by id: the files that changed, how much, and who did it."""
    found = [one for one in (ledger.by_id(id) for id in ids) if one is not None]
    states = open_states(context, ledger, is_over)
    shown = timeline.entries(context.store, ledger, found, states)
    return {entry.checkpoint.id: entry for entry in shown}


def matching(ledger: Ledger, words: Sequence[str], *, only_paths: bool = False) -> frozenset[str]:
    """Returns the rows that have all words in a prompt or changed path.

    What was found in a part of a turn (a round, its end) counts for the turn.
    """
    found = questions.checkpoints_with(ledger, words, only_paths=only_paths)
    turns = questions.turns_by_number(ledger)
    rows = set()
    for id, spot in questions.spots(ledger, sorted(found)).items():
        folded = spot.kind in FOLDED and spot.turn is not None
        rows.add(turns.get((spot.session, spot.turn or 0), id) if folded else id)
    return frozenset(rows)


def _gone(
    ledger: Ledger,
    rows: Sequence[TimelineRow],
    sessions: Sequence[Session],
    log: Sequence[Move],
) -> dict[str, str]:
    if not log:
        return {}
    targets = questions.spots(ledger, [one.target for one in log if one.target is not None])
    return gone(rows, sessions, log, targets, questions.operation_positions(ledger))


def gone(
    rows: Sequence[TimelineRow],
    sessions: Sequence[Session],
    log: Iterable[Move],
    targets: Mapping[str, Spot],
    positions: Mapping[str, int],
) -> dict[str, str]:
    """Says for each turn that is no longer in the files how it went. Pure.

        turn 1 ─ turn 2 ─ turn 3 ─ rewind to before turn 2      2 and 3 are taken back
                                 ─ turn 4                       4 is there
                                 ─ rewind to before turn 4      4 too, and 2 and 3 as they were then
                                 ─ rewind to the end of turn 3  4, but neither 2 nor 3
                                 ─ undo                         what it was before that

    An operation makes the same turns gone as at its target, and those that came after it. An undo
    is no exception: its target is the undo snapshot. ``log`` is the operation log, oldest first;
    ``targets`` has the positions of their targets, ``positions`` those of the operations.
    """
    by_id: dict[str, Session] = {s.id: s for s in sessions}
    owners = {row.id: row.session for row in rows}
    ascending = rows[::-1]
    order = [row.position for row in ascending]
    states: list[tuple[int, dict[str, str]]] = [(-1, {})]
    for operation in log:
        target, end = targets.get(operation.target or ""), positions.get(operation.id)
        only_beside = operation.kind in BEGINS and not operation.moves_files
        if target is None or end is None or operation.paths or only_beside:
            continue
        family = _moved(by_id, operation, target)
        then = next(state for at, state in reversed(states) if at < target.position)
        found = {id: way for id, way in states[-1][1].items() if owners[id] not in family}
        found |= {id: way for id, way in then.items() if owners[id] in family}
        first = target.position if target.kind == PROMPT else target.position + 1
        for row in ascending[bisect_left(order, first) : bisect_left(order, end)]:
            if row.session in family and (row.is_turn or row.kind == STEER):
                found[row.id] = TAKEN_BACK if operation.moves_files else LEFT
        states.append((end, found))
    return states[-1][1]


def _moved(sessions: Mapping[str, Session], operation: Move, target: Spot) -> set[str]:
    """Returns the sessions whose turns an operation takes back or brings back.

    All of them if the files are exactly as they were at its target; else those of its line.
    """
    if not operation.moves_files:
        return {target.session}
    if operation.after == target.snapshot or target.session == WORKSPACE_SESSION:
        return set(sessions)
    return _family(sessions, target.session)


def _family(sessions: Mapping[str, Session], session: str) -> set[str]:
    """Returns a session with its ancestors and all its descendants."""
    family = {session}
    above = sessions.get(session)
    while above is not None and above.parent is not None and above.parent not in family:
        family.add(above.parent)
        above = sessions.get(above.parent)
    below: set[str] = {session}
    while below:
        below = {str(s.id) for s in sessions.values() if s.parent in below} - family
        family |= below
    return family
