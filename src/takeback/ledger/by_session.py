"""Questions about sessions and turns, also those that an agent left by going back by itself."""

from __future__ import annotations

from takeback.c_modules import bisect_left
from takeback.model import json_text
from takeback.model.entries import (
    COMMAND,
    INTERRUPTED,
    OUTSIDE,
    OWN_REWIND,
    SHELL,
    TOOL,
    UNKNOWN,
    OwnedChange,
    Session,
    Turn,
)
from takeback.model.ids import CheckpointId, SessionId
from takeback.model.turn import PROMPT, forked_from
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from takeback.ledger.ledger import Ledger, Lineage
    from takeback.model.checkpoint import Checkpoint


# -- questions about sessions and turns


TURN_COLUMNS = "id, session, number, kind, prompt, native, before, after, began, ended, state"
_SHORTEST_WORD = 3
_SILENT = "'undo', 'manual', 'fork', 'session start', 'session end'"
"""Kinds of checkpoints that do not move a conversation on."""
TESTED = "select id from checkpoints where instr(meta, '\"tested') > 0 order by position"
"""In the very words of its index, or SQLite does not use that."""


def sessions(ledger: Ledger) -> list[Session]:
    """Returns every session, the one that was last active first."""
    return [
        Session(*row)  # type: ignore[arg-type]
        for row in ledger.rows("select * from sessions order by last desc, id")
    ]


def session_by_id(ledger: Ledger, session: str) -> Session | None:
    rows = ledger.rows("select * from sessions where id = ?", session)
    return Session(*rows[0]) if rows else None  # type: ignore[arg-type]


def above(ledger: Ledger, session: Session) -> str | None:
    """Returns the session whose model began this one, or told of it last; None for a person's."""
    has_one = "select 1 from checkpoints where id = ? and instr(meta, '\"below\"') > 0"
    newest = ledger.by_id(session.newest) if ledger.rows(has_one, session.newest) else None
    return None if newest is None else newest.below


def note_session(ledger: Ledger, checkpoint: Checkpoint, *, event: bool) -> None:
    """Brings a session's row up to date with one of its checkpoints."""
    origin, parts = checkpoint.origin, checkpoint.transcript
    ledger.rows(
        "insert into sessions values (?1,?2,?3,?4,?5,?6,?7,?8,?9,?9,?10,?11) "
        "on conflict (id) do update set agent = coalesce(?2, agent), "
        "native = coalesce(?3, native), directory = coalesce(?4, directory), "
        "transcript = coalesce(?5, transcript), "
        "last = ?9, last_event = max(last_event, ?10), newest = ?11",
        checkpoint.session,
        checkpoint.agent,
        checkpoint.native,
        checkpoint.directory,
        parts[-1].path if parts else None,
        None if origin is None else origin.session,
        None if origin is None else origin.checkpoint,
        None if origin is None else origin.root,
        checkpoint.time,
        checkpoint.time if event else 0.0,
        checkpoint.id,
    )


def add_turn(ledger: Ledger, turn: Turn) -> None:
    ledger.rows(
        "insert into turns values (?1, (select coalesce(max(position), 0) + 1 from turns), "
        "?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)",
        turn.id,
        turn.session,
        turn.number,
        turn.kind,
        turn.prompt,
        turn.native,
        turn.before,
        turn.after,
        turn.began,
        turn.ended,
        turn.state,
    )


def move_turn(ledger: Ledger, turn: Turn) -> None:
    """Writes how far a turn has got."""
    ledger.rows(
        "update turns set after = ?2, ended = ?3, state = ?4 where id = ?1",
        turn.id,
        turn.after,
        turn.ended,
        turn.state,
    )


def newest_turn(ledger: Ledger, session: str) -> Turn | None:
    found = _turns(ledger, "session = ?1 order by position desc limit 1", session)
    return found[0] if found else None


def newest_turns(ledger: Ledger, *, until: str | None = None) -> dict[SessionId, int]:
    """Returns the sessions that have a turn, each with where its newest one stands in the order.

    With ``until``, only turns that had begun by that checkpoint.
    """
    rows = ledger.rows(
        "select turns.session, max(checkpoints.position) from turns "
        "join checkpoints on checkpoints.id = turns.id where ?1 is null or checkpoints.position "
        "<= (select position from checkpoints where id = ?1) group by turns.session",
        until,
    )
    return {SessionId(str(session)): int(str(position)) for session, position in rows}


def open_turns(ledger: Ledger, machine: str | None = None) -> list[Turn]:
    """Returns the newest turn of each session if it is running or its tasks still are.

    With a ``machine``, only those that began on it.
    """
    return _turns(
        ledger,
        "state in ('running', 'background') and "
        "position = (select max(position) from turns as other where other.session = turns.session) "
        "and (?1 is null or (select machine from checkpoints where id = turns.id) = ?1) "
        "order by position",
        machine,
    )


def turns(ledger: Ledger, *, session: str | None = None) -> list[Turn]:
    """Returns turns, newest first."""
    if session is None:
        return _turns(ledger, "true order by position desc")
    return _turns(ledger, "session = ? order by position desc", session)


def turn_by_id(ledger: Ledger, id: str) -> Turn | None:
    found = _turns(ledger, "id = ?1", id)
    return found[0] if found else None


def turn_of(ledger: Ledger, checkpoint: Checkpoint) -> Turn | None:
    """Returns the turn that a checkpoint begins, ends or belongs to."""
    found = _turns(
        ledger,
        "session = ?1 and (before = ?2 or after = ?2 or number = ?3) "
        "order by position desc limit 1",
        checkpoint.session,
        checkpoint.id,
        checkpoint.turn,
    )
    return found[0] if found else None


def turn_numbered(ledger: Ledger, session: str, number: int) -> Turn | None:
    """Returns a turn of the session's line: its own, else one inherited from its ancestors."""
    for here in line(ledger, session):
        found = _turns(ledger, "session = ?1 and number = ?2 order by position desc", here, number)
        if found:
            return found[0]
        row = session_by_id(ledger, here)
        origin = ledger.by_id(row.origin) if row is not None and row.origin else None
        if origin is None or number > forked_from(origin.moment).turn:
            return None
    return None


def newest_number(ledger: Ledger, session: str) -> int:
    """Returns the number of the newest turn on the session's line, 0 if it has none."""
    rows = ledger.rows(
        "select coalesce(turn, 0) from checkpoints where session = ? "
        "order by position desc limit 1",
        session,
    )
    return int(str(rows[0][0])) if rows else 0


def line(ledger: Ledger, session: str) -> list[SessionId]:
    """Returns the session and its ancestors, itself first."""
    found: list[SessionId] = []
    here: SessionId | None = SessionId(session)
    while here is not None and here not in found:
        found.append(here)
        row = session_by_id(ledger, here)
        here = None if row is None else row.parent
    return found


def last_spoken(
    ledger: Ledger, sessions: Iterable[str], *, after: int, before: int | None
) -> SessionId | None:
    """Returns which of some sessions was last continued between two sequence numbers."""
    named = list(sessions)
    marks = ", ".join("?" * len(named))
    rows = ledger.rows(
        f"select session from checkpoints where sequence > ? and sequence < coalesce(?, 9e18) "
        f"and kind not in ({_SILENT}) and session in ({marks}) order by sequence desc limit 1",
        after,
        before,
        *named,
    )
    return SessionId(str(rows[0][0])) if rows else None


def _turns(ledger: Ledger, where: str, *values: object) -> list[Turn]:
    rows = ledger.rows(f"select {TURN_COLUMNS} from turns where {where}", *values)
    return [Turn(*row) for row in rows]  # type: ignore[arg-type]


def turn_changes(ledger: Ledger, turn: CheckpointId) -> list[OwnedChange]:
    """Returns the files that a turn changed, from before it to its newest checkpoint."""
    rows = ledger.rows(
        "select path, kind, added, deleted, who from turn_changes where turn = ? order by path",
        turn,
    )
    return [OwnedChange(*row) for row in rows]  # type: ignore[arg-type]


def set_turn_changes(ledger: Ledger, turn: CheckpointId, changes: Iterable[OwnedChange]) -> None:
    ledger.rows("delete from turn_changes where turn = ?", turn)
    ledger.many(
        "insert into turn_changes values (?,?,?,?,?,?)",
        [(turn, c.path, c.kind, c.added, c.deleted, c.who) for c in changes],
    )


class FoundChange(Value):
    """A path that was found changed at a checkpoint, and by whom; the checkpoint's position."""

    checkpoint: CheckpointId
    position: int
    path: bytes
    who: str | None
    session: SessionId | None

    @property
    def is_told(self) -> bool:
        """True if a tool named the path."""
        return self.who is not None and self.who.startswith(TOOL)


_FOUND = (
    "select checkpoint, position, path, who, changes.session from changes "
    "join checkpoints on checkpoints.id = changes.checkpoint where "
)
_OF_A_COMMAND = (
    f"changes.checkpoint = ?1 and changes.turn is null and who in ('{SHELL}', '{UNKNOWN}')"
)


def changes_in(ledger: Ledger, turn: Turn, after: int = -1) -> list[FoundChange]:
    """Returns what a turn is known to have changed after a position, in order."""
    own = _OF_A_COMMAND if turn.kind == COMMAND else "changes.turn = ?1"
    question = f"{_FOUND}{own} and position > ?2 order by position, path"
    return [FoundChange(*row) for row in ledger.rows(question, turn.id, after)]  # type: ignore[arg-type]


def others_during(ledger: Ledger, turn: Turn, after: int, last: int) -> set[bytes]:
    """Returns the paths that were found changed between two positions, but not by a turn."""
    own = _OF_A_COMMAND if turn.kind == COMMAND else "coalesce(changes.turn, '') = ?1"
    rows = ledger.rows(
        "select distinct path from changes "
        "join checkpoints on checkpoints.id = changes.checkpoint "
        f"where position > ?2 and position <= ?3 and not ({own})",
        turn.id,
        after,
        last,
    )
    return {bytes(path) for (path,) in rows}  # type: ignore[call-overload]


def told_by_others(
    ledger: Ledger, session: SessionId, path: bytes, after: int, below: int
) -> list[FoundChange]:
    """Returns where a path was found changed between two positions by other sessions' tools."""
    rows = ledger.rows(
        f"{_FOUND}path = ?1 and who like '{TOOL}%' and changes.session != ?2 "
        "and position > ?3 and position < ?4",
        path,
        session,
        after,
        below,
    )
    return [FoundChange(*row) for row in rows]  # type: ignore[arg-type]


def operations_during(ledger: Ledger, after: int, last: int) -> list[tuple[str, str]]:
    """Returns the operations between two positions: the undo snapshot, and what each left."""
    rows = ledger.rows(
        "select before, snapshot from operations where position > ? and position <= ?", after, last
    )
    return [(str(before), str(left)) for before, left in rows]


def sessions_around(ledger: Ledger, session: SessionId, after: int, last: int) -> list[SessionId]:
    """Returns the other sessions with checkpoints between two positions, or with turns then."""
    rows = ledger.rows(
        "select session from checkpoints where position > ?1 and position <= ?2 "
        "union select session from turns where position in (select max(turns.position) "
        "from turns join checkpoints on checkpoints.id = turns.id "
        "where checkpoints.position <= ?2 group by turns.session) "
        "and (ended is null or (select position from checkpoints where id = turns.after) > ?2)",
        after,
        last,
    )
    return [SessionId(str(found)) for (found,) in rows if found != session]


def amid(ledger: Ledger) -> dict[str, str]:
    """Returns the checkpoints that were taken in the middle of an operation, with its id."""
    rows = ledger.rows("select id from checkpoints where instr(meta, '\"amid\"') > 0")
    found = (ledger.by_id(str(id)) for (id,) in rows)
    return {one.id: one.amid for one in found if one is not None and one.amid is not None}


def tested(ledger: Ledger) -> list[Checkpoint]:
    """Returns the checkpoints that say how tests ended which an agent ran, oldest first."""
    rows = ledger.rows(TESTED)
    found = (ledger.by_id(str(id)) for (id,) in rows)
    return [one for one in found if one is not None and (one.tested or one.tested_earlier)]


def amid_of_the_newest(ledger: Ledger) -> str | None:
    """Returns the operation during which the newest checkpoint was taken.

    None if it was not taken during one, or an operation was finished since.
    """
    rows = ledger.rows(  # run for each checkpoint that is indexed: two look-ups, no scan
        "select id from checkpoints where position = (select max(position) from checkpoints) and "
        "position > coalesce((select max(position) from operations), -1) "
        "and instr(meta, '\"amid\"') > 0"
    )
    newest = ledger.by_id(str(rows[0][0])) if rows else None
    return None if newest is None else newest.amid


def paths_of_the_interrupted(ledger: Ledger, operation: str) -> set[bytes]:
    """Returns the paths that an interrupted operation turned out to have changed."""
    taken = [id for id, of in amid(ledger).items() if of == operation]
    marks = ", ".join("?" * len(taken))
    rows = ledger.rows(
        f"select path from changes where who = ? and checkpoint in ({marks})", INTERRUPTED, *taken
    )
    return {bytes(path) for (path,) in rows}  # type: ignore[call-overload]


def by_nobody_between(
    ledger: Ledger, first: CheckpointId, last: CheckpointId
) -> list[tuple[CheckpointId, bytes]]:
    """Returns what was found changed after a checkpoint, up to another one, and in no turn.

    By a person, or by an agent that went back by itself.
    """
    rows = ledger.rows(
        "select checkpoint, path from changes "
        "join checkpoints on checkpoints.id = changes.checkpoint "
        "where position > (select position from checkpoints where id = ?1) "
        "and position <= (select position from checkpoints where id = ?2) "
        "and machine = (select machine from checkpoints where id = ?2) and who in (?3, ?4)",
        first,
        last,
        OUTSIDE,
        OWN_REWIND,
    )
    return [(CheckpointId(str(id)), bytes(path)) for id, path in rows]  # type: ignore[call-overload]


def set_owner(
    ledger: Ledger,
    found: Iterable[tuple[CheckpointId, bytes]],
    who: str,
    session: SessionId | None,
) -> None:
    """Says who made changes that are of no turn."""
    ledger.many(
        "update changes set who = ?, session = ? where checkpoint = ? and path = ?",
        [(who, session, checkpoint, path) for checkpoint, path in found],
    )


def claim(ledger: Ledger, change: OwnedChange, *, since: CheckpointId | None) -> list[CheckpointId]:
    """Assigns a change whose author was unknown to the session whose tool names its path.

    Returns the turns that lose it, and those that ran when it was found.
    """
    found = ledger.rows(
        "select checkpoint, turn from changes where path = ?1 "
        "and who not like 'tool%' and coalesce(session, '') != ?2 and checkpoint in "
        "(select id from checkpoints where position > coalesce("
        "(select position from checkpoints where id = ?3), -1))",
        change.path,
        change.session,
        since,
    )
    ledger.many(
        "update changes set who = ?, session = ?, turn = ? where checkpoint = ? and path = ?",
        [(change.who, change.session, change.turn, row[0], change.path) for row in found],
    )
    lost = [CheckpointId(str(turn)) for _, turn in found if turn is not None]
    return [*lost, *turns_over(ledger, position_of_all(ledger, [str(row[0]) for row in found]))]


def position_of_all(ledger: Ledger, ids: Iterable[str]) -> list[int]:
    """Returns the positions of some checkpoints."""
    found = (ledger.rows("select position from checkpoints where id = ?", one) for one in ids)
    return [int(str(position)) for rows in found for (position,) in rows]


def turns_over(ledger: Ledger, positions: Iterable[int]) -> list[CheckpointId]:
    """Returns the turns that ran at one of some positions: what each did depends on others."""
    marks = sorted(positions)
    if not marks:
        return []
    found = []
    for id, first, last in ledger.rows(
        "select turns.id, began.position, ended.position from turns "
        "join checkpoints began on began.id = turns.before "
        "join checkpoints ended on ended.id = turns.after"
    ):
        at = bisect_left(marks, int(str(first)))
        if at < len(marks) and marks[at] <= int(str(last)):
            found.append(CheckpointId(str(id)))
    return found


def at(ledger: Ledger, positions: Iterable[int]) -> list[CheckpointId]:
    """Returns the checkpoints at some positions."""
    found = (ledger.rows("select id from checkpoints where position = ?", one) for one in positions)
    return [CheckpointId(str(id)) for rows in found for (id,) in rows]


def where_changed(ledger: Ledger, path: bytes, *, after: int, before: int) -> list[CheckpointId]:
    """Returns the checkpoints between two positions at which a path was found changed."""
    rows = ledger.rows(
        "select checkpoint from changes join checkpoints on id = checkpoint "
        "where path = ? and position > ? and position < ?",
        path,
        after,
        before,
    )
    return [CheckpointId(str(one)) for (one,) in rows]


def changed_since(ledger: Ledger, since: CheckpointId, here: Lineage) -> list[OwnedChange]:
    """Returns the changes of a machine's files after a checkpoint, with who made each, in order."""
    rows = ledger.rows(
        "select path, changes.kind, added, deleted, who, changes.session, changes.turn "
        "from changes join checkpoints on checkpoints.id = changes.checkpoint "
        "where position > (select position from checkpoints where id = ?1) "
        "and (machine = ?2 or sequence < ?3) order by position, path",
        since,
        here.machine,
        here.first,
    )
    return [OwnedChange(*row) for row in rows]  # type: ignore[arg-type]


def outside_since(
    ledger: Ledger, since: CheckpointId, here: Lineage
) -> list[tuple[Checkpoint, frozenset[bytes]]]:
    """Returns the checkpoints at which a person's edits were found, with their paths, in order."""
    rows = ledger.rows(
        "select checkpoint, path from changes "
        "join checkpoints on checkpoints.id = changes.checkpoint "
        "where position > (select position from checkpoints where id = ?1) "
        "and (machine = ?2 or sequence < ?3) and who = ?4 order by position",
        since,
        here.machine,
        here.first,
        OUTSIDE,
    )
    paths: dict[str, set[bytes]] = {}
    for id, path in rows:
        paths.setdefault(str(id), set()).add(bytes(path))  # type: ignore[call-overload]
    found = ((ledger.by_id(id), frozenset(named)) for id, named in paths.items())
    return [(one, named) for one, named in found if one is not None]


def turns_since(ledger: Ledger, since: CheckpointId, here: Lineage) -> list[Turn]:
    """Returns the turns that changed a machine's files after a checkpoint, oldest first."""
    return _turns(
        ledger,
        "id in (select changes.turn from changes "
        "join checkpoints on checkpoints.id = changes.checkpoint "
        "where position > (select position from checkpoints where id = ?1) "
        "and (machine = ?2 or sequence < ?3)) order by position",
        since,
        here.machine,
        here.first,
    )


def index_words(ledger: Ledger, words: Iterable[tuple[str, CheckpointId, str]]) -> None:
    """Adds what can be searched for: a text, the checkpoint that has it, and what it is there.

    Many at once, and not within ``all_or_nothing``: at the end of each such part SQLite writes out
    all words that are new, as a piece of the index that is merged with the others later.
    """
    ledger.many("insert into words values (?,?,?)", words)


def search(ledger: Ledger, words: Sequence[str]) -> list[tuple[CheckpointId, str, str]]:
    """Returns (checkpoint, where it was found, the text) of all matches, newest first.

    What a person types is searched for literally; the index's special characters mean nothing.
    """
    order = "(select position from checkpoints where id = checkpoint) desc, what"
    where, values = matches(words)
    rows = ledger.rows(
        f"select checkpoint, what, text from words where {where} order by {order}", *values
    )
    return [(CheckpointId(str(id)), str(what), str(found)) for id, what, found in rows]


def matches(words: Sequence[str]) -> tuple[str, list[str]]:
    """Returns the condition for a row of the index to hold all words: a clause, its values."""
    long = [word for word in words if len(word) >= _SHORTEST_WORD]
    short = [word for word in words if len(word) < _SHORTEST_WORD]
    clauses = ["instr(casefold(text), ?)"] * len(short)  # the index holds pieces of three
    values = [word.casefold() for word in short]
    if long:
        quoted = " AND ".join('"' + word.replace('"', '""') + '"' for word in long)
        clauses.append("words match ?")
        values.append(f"text : ({quoted})")
    return " and ".join(clauses) or "true", values


# -- ways: turns that an agent left by going back by itself, within one session
#
#     turn 1 ─┬─ turn 2 ── turn 3      abandoned
#             └─ turn 4 ── turn 5      the line: what the newest turn follows
#
# It is written in the agent's own transcript, which its model can write too. So nothing is
# decided by it but how turns are drawn, and whose a change was that brought back what the session
# had been at.


FOLLOWING = "select id from checkpoints where instr(meta, '\"follows\"') > 0 order by position"
"""In the very words of its index, or SQLite does not use that."""


class Return(Value):
    """An agent went back: ``turn`` follows ``after`` (None: the beginning), not the one before it.

    ``left`` are the turns between the two, oldest first; there is at least one.
    """

    turn: Turn
    after: Turn | None
    left: tuple[Turn, ...]


def return_at(turns: Sequence[Turn], checkpoint: Checkpoint) -> Return | None:
    """Returns what a checkpoint says of its session's ``turns``, which are in their order."""
    if not checkpoint.follows:
        return None
    turn, *above = checkpoint.follows
    places = {one.native: number for number, one in enumerate(turns) if one.native is not None}
    end = places.get(turn)
    if end is None:
        return None
    for name in above:
        begin = -1 if not name else places.get(name)
        if begin is not None and begin < end:
            after = turns[begin] if begin >= 0 else None
            left = tuple(turns[begin + 1 : end])
            return Return(turns[end], after, left) if left else None
    return None


def returning(ledger: Ledger) -> list[Checkpoint]:
    """Returns the checkpoints that say that their agent had gone back by itself, oldest first."""
    found = (ledger.by_id(str(id)) for (id,) in ledger.rows(FOLLOWING))
    return [one for one in found if one is not None]


class _Place(Value):
    position: int
    kind: str


def abandoned(ledger: Ledger) -> dict[CheckpointId, CheckpointId | None]:
    """Returns the turns that are on no line, each with the turn on the line that it hangs from.

    None if that is the beginning of its session.
    """
    found: dict[CheckpointId, CheckpointId | None] = {}
    by_session: dict[str, list[Checkpoint]] = {}
    for checkpoint in returning(ledger):
        by_session.setdefault(checkpoint.session, []).append(checkpoint)
    for (session,) in ledger.rows("select distinct session from checkpoints where kind = 'branch'"):
        by_session.setdefault(str(session), [])
    for session, checkpoints in by_session.items():
        taken = turns(ledger, session=session)[::-1]
        returns = [return_at(taken, one) for one in checkpoints] + steps(ledger, session, taken)
        found.update(_off_the_line(taken, {one.turn.id: one for one in returns if one}.values()))
    return found


def steps(ledger: Ledger, session: str, taken: Sequence[Turn]) -> list[Return | None]:
    """Returns where an agent went in its own tree and then on, if its events tell the place.

    A place is a leaf, and the newest checkpoint with it says of which turn: at a prompt, it is the
    end of what that follows.
    """
    began = position_of_all(ledger, [turn.id for turn in taken])
    above: list[int] = [*range(-1, len(taken) - 1)]
    found: list[Return | None] = []
    branches = "select id, position from checkpoints where session = ? and kind = 'branch'"
    for id, position in ledger.rows(f"{branches} order by position", session):
        end = bisect_left(began, int(str(position)))
        place = _place(ledger, session, str(id), position) if end < len(taken) else None
        if place is None:
            continue
        before = bisect_left(began, place.position + 1) - 1
        above[end] = above[before] if place.kind == PROMPT and before >= 0 else before
        left = tuple(taken[above[end] + 1 : end])
        after = taken[above[end]] if above[end] >= 0 else None
        found.append(Return(taken[end], after, left) if left else None)
    return found


def _place(ledger: Ledger, session: str, branch: str, position: object) -> _Place | None:
    """Returns the newest checkpoint before a step that stands where it went."""
    step = ledger.by_id(branch)
    if step is None or step.leaf is None:
        return None
    rows = ledger.rows(
        "select position, kind from checkpoints where session = ? and position < ? "
        "and kind != 'branch' and instr(meta, ?) > 0 order by position desc limit 1",
        session,
        position,
        json_text.dumps({"leaf": step.leaf})[1:-1],
    )
    return _Place(int(str(rows[0][0])), str(rows[0][1])) if rows else None


def _off_the_line(
    taken: Sequence[Turn], returns: Iterable[Return]
) -> Mapping[CheckpointId, CheckpointId | None]:
    before = {turn.id: taken[at].id for at, turn in enumerate(taken[1:])}
    above: dict[CheckpointId, CheckpointId | None] = dict(before)
    above.update({one.turn.id: None if one.after is None else one.after.id for one in returns})
    line: set[CheckpointId | None] = set()
    here = taken[-1].id if taken else None
    while here is not None:  # each is older than the one before it, so this ends
        line.add(here)
        here = above.get(here)
    found: dict[CheckpointId, CheckpointId | None] = {}
    for turn in taken:
        if turn.id not in line:
            on = above.get(turn.id)
            found[turn.id] = on if on is None else found.get(on, on)
    return found
