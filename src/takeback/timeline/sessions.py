"""Sessions: the list of them, the tree that they form, where the files are, which one is meant.

    s1 ●───●───●          turns 1 to 3
        ╰──● s1.92af      cut before turn 2, and continued: it is the current one of its line
        ╰── s1.21b1       cut before turn 2, not continued

A rewind makes a new session of the agent, so to a person a line of them is one thing.
"""

from __future__ import annotations

from takeback.capture.capture import scanned_into
from takeback.context import Translated
from takeback.errors import NoSuchCheckpoint, TakebackError, WhichSession
from takeback.ledger import by_session as ledger_sessions
from takeback.ledger import by_session as ways
from takeback.ledger import lists
from takeback.ledger.attribute import count_lines
from takeback.model.checkpoint import UNDO
from takeback.model.coverage import LET_GO
from takeback.model.entries import Candidate
from takeback.model.naming import ago, short_ids
from takeback.model.operation import FORK, REWIND, history, moves
from takeback.model.turn import PROMPT
from takeback.model.value import Value
from takeback.store import trees
from takeback.store.records import known_here, known_operations, newest_checkpoint, operations_back
from takeback.store.sink import Looking
from takeback.turns.running import as_it_stands, open_states
from takeback.turns.said import Looked, Untold, untold
from takeback.visible import shown
from takeback.worktree.rules import IgnoreRaced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Final, Literal

    from takeback.context import Context
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Change, Checkpoint
    from takeback.model.entries import OwnedChange, Session, Turn
    from takeback.model.ids import CheckpointId, SessionId, SnapshotId
    from takeback.model.operation import Move, Operation
    from takeback.model.row import TurnState
    from takeback.turns.processes import IsOver
    from takeback.turns.running import RunningTurn

    Side = Literal["before", "after", "at"]
    Place = tuple[str, Side]
    """The id of a row, and whether the files are ``before`` it, ``after`` it, or ``at`` it."""

# -- here: the place that the files are at, and the one row of a list that shows it


BEFORE: Final = "before"
AFTER: Final = "after"
AT: Final = "at"


def current_place(context: Context, ledger: Ledger) -> str | None:
    """Returns the checkpoint that the files are at: the newest, or where a rewind went.

    A rewind of the whole workspace counts until it is undone or something is captured; one of some
    paths, of only the conversation, or to a state that no checkpoint has leaves the files where
    they were.
    """
    newest = lists.newest_state(ledger, context.store.machine)
    steps = history(known_here(context.store)).undo
    moved = (step.operation for step in reversed(steps))
    went = (one for one in moved if one.moves_files and not one.paths and one.target is not None)
    last = next(went, None)
    if last is not None and (newest is None or last.sequence > newest[1]):
        return last.target
    return None if newest is None else newest[0]


def row_of(
    ledger: Ledger, rows: Sequence[tuple[str, str | None, str | None]], place: str | None
) -> Place | None:
    """Returns the row that shows a place, None if it is not in the list. There is at most one.

    ``rows`` are newest first: id, and for a turn the checkpoints before and after it. A checkpoint
    can be the end of one turn and the beginning of the next; the turn that made it is meant.
    """
    if place is None:
        return None
    for exactly in (True, False):
        for id, before, after in rows:
            word = word_of(id, before, after, place)
            if word is not None and (not exactly or place in (id, after)):
                return id, word
    turn = lists.turn_around(ledger, place)
    return (turn, AFTER) if turn is not None and any(id == turn for id, *_ in rows) else None


def word_of(id: str, before: str | None, after: str | None, place: str) -> Side | None:
    """Says where a place is relative to a row, given the checkpoints before and after its turn."""
    if id == place:
        return AT if before is None else BEFORE
    if after == place and after != before:
        return AFTER
    return BEFORE if before == place else None


# -- whose: the session that a person means, by a name or without one
#
# A rewind makes a new session of the agent, so to a person a line of them is one thing. The
# beginning of an id that fits several of one line means the one that was last continued; so the
# same words can be typed again after each rewind.
#
# Without a name it is the session whose turn is newest, where the files stand: that of the row
# that ``log`` marks. An agent's name means the same among its own. Only beside another session
# that is at work is that not clear.


_PROMPT = 40


class Meant(Value):
    """The session that is meant; None if no agent has worked yet.

    ``default`` is the same session if it was taken although others could be meant.
    """

    session: SessionId | None
    default: Candidate | None = None


class Around(Value):
    """What decides where no session is named; each is asked for only if it matters.

    ``place`` returns the checkpoint that the files are at, ``running`` the turns that are running.
    ``callers`` are the sessions of the agents that may be asking.
    """

    now: float
    place: Callable[[], str | None] = lambda: None
    running: Callable[[], Iterable[RunningTurn]] = tuple
    callers: Collection[str] = ()


def meant(ledger: Ledger, text: str | None, around: Around) -> Meant:
    """Returns the session that ``text`` means, or the one meant without a name.

    ``text`` is an id (ours, or the agent's own), the beginning of one, or the agent's name. Raises
    NoSuchCheckpoint if it means none, or several that are not of one line, and WhichSession beside
    another session that is at work.
    """
    everyone = ledger_sessions.sessions(ledger)
    if text is None:
        return _newest(ledger, everyone, [s for s in everyone if s.agent is not None], around)
    for name in (text, text.strip()):  # blanks at the ends may belong to the agent's own id
        for exact in everyone:
            if name in (exact.id, exact.native):
                return Meant(exact.id)
    text = text.strip()
    if of_agent := [session for session in everyone if text and session.agent == text]:
        return _newest(ledger, everyone, of_agent, around)
    found = [
        session
        for session in everyone
        if text and (session.id.startswith(text) or (session.native or "").startswith(text))
    ]
    if not found:  # as shown in lists: s1.92af, or with its agent
        short = short_ids(everyone)
        found = [s for s in everyone if text in (short[s.id], f"{s.agent} {short[s.id]}")]
    current = _current(everyone, found)
    if len(current) == 1:
        return Meant(current[0].id)
    known = [_candidate(ledger, session) for session in (current or everyone)]
    if not current:
        raise NoSuchCheckpoint(
            f"{text!r} does not name one session",
            hint=f"sessions: {_listed(known, around.now) or 'none yet'}",
        )
    raise NoSuchCheckpoint(
        f"{text!r} could be {len(current)} sessions",
        hint=f"say which: {_listed(known, around.now)}",
        sessions=[one.id for one in known],
        about=[words(one, around.now) for one in known],
    )


def _current(everyone: Sequence[Session], found: Sequence[Session]) -> list[Session]:
    """Returns the session of each line that was last continued."""
    parents = _parents(everyone)
    newest: dict[str, Session] = {}
    for session in found:
        root = _line(parents, session.id)[-1]
        best = newest.setdefault(root, session)
        if (session.last_event, session.last) > (best.last_event, best.last):
            newest[root] = session
    return list(newest.values())


def _newest(
    ledger: Ledger, everyone: Sequence[Session], among: Sequence[Session], around: Around
) -> Meant:
    """Returns which of some sessions is meant if nothing says which of them; raises WhichSession.

    The caller's own; else the one whose turn is newest, where the files stand, or who it was
    continued as since. Sessions without a turn count only if there are no others.
    """
    for session in among:
        if session.id in around.callers:
            return Meant(session.id)
    worked = ledger_sessions.newest_turns(ledger)
    known = {session.id: session for session in among if session.id in worked}
    if not known:
        return Meant(among[0].id if among else None)
    used = in_use(everyone, worked)
    at = _standing(ledger, known, around)
    chosen = at if at in used else _continued(everyone, at, used)
    beside = {turn.session for turn in around.running() if not turn.background} & known.keys()
    if beside - {chosen.id}:
        running = [known[id] for id in sorted(beside - {chosen.id})]
        raise _which(ledger, [chosen, *running], beside, around.now)
    others = [session for session in used if session.id in known and session is not chosen]
    return Meant(chosen.id, _candidate(ledger, chosen) if others else None)


def _standing(ledger: Ledger, known: dict[SessionId, Session], around: Around) -> Session:
    """Returns the session whose turn the files stand at, else that of the newest before it."""
    place = around.place()
    at = None if place is None else ledger.by_id(place)
    if at is not None and at.session in known:
        return known[at.session]
    for until in (None if at is None else at.id, None):
        turns = ledger_sessions.newest_turns(ledger, until=until)
        newest = max(turns.keys() & known.keys(), key=lambda id: turns[id], default=None)
        if newest is not None:
            return known[newest]
    raise AssertionError("each of the known sessions has a turn")


def _continued(everyone: Sequence[Session], left: Session, used: Sequence[Session]) -> Session:
    """Returns the session of its line that was last continued, for one that was left."""
    parents = _parents(everyone)
    root = _line(parents, left.id)[-1]
    line = [session for session in used if _line(parents, session.id)[-1] == root]
    return max(line, key=lambda session: (session.last_event, session.last), default=left)


def everyone(ledger: Ledger) -> list[Session]:
    """Returns every session, the one that was last active first."""
    return ledger_sessions.sessions(ledger)


def _which(
    ledger: Ledger, candidates: Iterable[Session], running: Collection[str], now: float
) -> WhichSession:
    """Returns the refusal that names the session that would be taken, and those at work beside."""
    known = [_candidate(ledger, one, running=one.id in running) for one in candidates]
    return WhichSession(
        f"several sessions could be meant by that: {_listed(known, now)}",
        sessions=[one.id for one in known],
        about=[words(one, now) for one in known],
    )


def words(session: Candidate, now: float) -> str:
    """Returns agent, age and the newest prompt of a session, for a list."""
    said = f', "{session.prompt}"' if session.prompt else ""
    running = ", running" if session.running else ""
    return f"{shown(session.agent)}, {ago(session.last, now)}{running}{said}"


def _listed(known: Iterable[Candidate], now: float) -> str:
    return ", ".join(f"{one.id} ({words(one, now)})" for one in known)


def in_use(everyone: Sequence[Session], among: Collection[str] | None = None) -> list[Session]:
    """Returns the sessions that were active and not left for another of their line since.

    A session was left if a descendant was active later, or if another active one was cut after its
    last event; two that continue side by side are both in use. With ``among`` only those count.
    """
    parents = _parents(everyone)
    spoken = [s for s in everyone if s.last_event and (among is None or s.id in among)]
    lines = {session.id: _line(parents, session.id) for session in spoken}

    def is_left(one: Session) -> bool:
        for other in spoken:
            if other.id == one.id or lines[other.id][-1] != lines[one.id][-1]:
                continue
            since = other.last_event if one.id in lines[other.id] else other.began
            if one.last_event < since:
                return True
        return False

    return [session for session in spoken if not is_left(session)]


def _parents(everyone: Iterable[Session]) -> dict[str, str | None]:
    """Returns the parent of each session, if it is in this workspace."""
    return {s.id: s.parent if s.root is None else None for s in everyone}


def _line(parents: dict[str, str | None], session: str) -> list[str]:
    """Returns a session and its known ancestors, itself first."""
    found = [session]
    while (above := parents.get(found[-1])) in parents and above not in found:
        assert above is not None
        found.append(above)
    return found


def _candidate(ledger: Ledger, session: Session, *, running: bool = False) -> Candidate:
    turn = ledger_sessions.newest_turn(ledger, session.id)
    said = shown(" ".join((turn.prompt or "").split())) if turn is not None else ""
    return Candidate(
        session.id,
        session.agent or "by hand",
        session.last_event or session.last,
        said if len(said) <= _PROMPT else said[: _PROMPT - 1] + "…",
        running,
    )


# -- sessions


def before_newest_turn(context: Context, ledger: Ledger, session: str) -> Checkpoint | None:
    """Returns the place before the newest turn not yet taken back; None if there is none.

    A rewind that nothing has followed counts as being at its target, so that the next one goes one
    turn further back.
    """
    turn = ledger_sessions.newest_number(ledger, session)
    newest = _newest_event(ledger, session)
    line = ledger_sessions.line(ledger, session)
    for last in _moves(context):
        target = None if last.target is None else ledger.by_id(last.target)
        if target is None or target.session not in line:
            continue  # of another agent's session: this one stays where it was
        if newest is None or last.time > newest:
            turn = target.turn or 0
            if target.kind == PROMPT:
                turn -= 1
        break
    found = ledger_sessions.turn_numbered(ledger, session, turn) if turn > 0 else None
    return None if found is None else ledger.by_id(found.before)


def _moves(context: Context) -> Iterator[Move]:
    """Yields the rewinds that are not undone, newest first."""
    for step in reversed(history(known_here(context.store)).undo):
        if step.operation.kind in (REWIND, FORK):
            yield step.operation


def _newest_event(ledger: Ledger, session: str) -> float | None:
    found = ledger_sessions.session_by_id(ledger, session)
    return None if found is None else found.last_event


def beginning_of(ledger: Ledger, checkpoint: Checkpoint) -> Checkpoint:
    """Returns the place before the turn that a checkpoint is in, itself if it is in none."""
    turn = None
    if checkpoint.agent is not None and checkpoint.turn:
        turn = ledger_sessions.turn_of(ledger, checkpoint)
    return checkpoint if turn is None else ledger.by_id(turn.before) or checkpoint


class SessionEntry(Value):
    """A session as a list shows it."""

    session: Session
    turns: int
    checkpoints: int
    newest: Turn | None
    disagrees: str | None = None
    """What takeback did to the files that the session's conversation does not know about."""
    below: str | None = None
    """The session of the agent that started this one's, or whose model told of it: its doing."""


def sessions(context: Context, ledger: Ledger, *, is_over: IsOver) -> list[SessionEntry]:
    """Returns every session of an agent, the one that was last active first."""
    states = open_states(context, ledger, is_over)
    told = _whom_to_tell(context, ledger)
    return [_entry(ledger, session, where, states) for session, where in told]


def disagreeing(context: Context, ledger: Ledger, *, is_over: IsOver) -> list[SessionEntry]:
    """Returns those that may be continued and whose conversation is behind the files."""
    told = list(_whom_to_tell(context, ledger))
    used = {session.id for session in in_use([session for session, _ in told])}
    behind = [
        (session, where)
        for session, where in told
        if where is not None and (session.id in used or not session.last_event)
    ]
    states = open_states(context, ledger, is_over) if behind else {}
    return [_entry(ledger, session, where, states) for session, where in behind]


def _entry(
    ledger: Ledger, session: Session, where: str | None, states: Mapping[str, TurnState]
) -> SessionEntry:
    return SessionEntry(
        session,
        ledger_sessions.newest_number(ledger, session.id),
        ledger.count_of(session.id, without=(UNDO,)),
        as_it_stands(ledger_sessions.newest_turn(ledger, session.id), states),
        where,
        ledger_sessions.above(ledger, session),
    )


def _whom_to_tell(context: Context, ledger: Ledger) -> Iterator[tuple[Session, str | None]]:
    """Yields the agents' sessions, each with where the files went without its model's knowing."""
    log = list(operations_back(context.store))
    looked = Looked(context.store)
    for session in ledger_sessions.sessions(ledger):
        if session.agent is not None:
            stale = _stale(context, session.id, log, looked)
            yield session, None if stale is None else stale.operation.where


def _stale(
    context: Context, session: SessionId, log: list[Operation], looked: Looked
) -> Untold | None:
    """Returns what the model of a session is told with its next prompt."""
    newest = newest_checkpoint(context.store, session) if log else None
    if newest is None or not newest.turn:
        return None
    return untold(context.store, newest.commit, newest.noted, log=log, looked=looked)


class Elsewhere(Value):
    """A fork into a directory of its own: it continues in another workspace."""

    directory: str
    session: str | None


class Node(Value):
    """A turn or a session's beginning in the tree, with what descends from it."""

    session: Session
    turn: Turn | None
    changes: tuple[OwnedChange, ...]
    here: Side | None
    children: tuple[Node, ...]
    amid: str | None = None
    """The interrupted operation during which the checkpoint before the turn was taken."""
    elsewhere: tuple[Elsewhere, ...] = ()
    expired: float | None = None
    """When the files of the checkpoint before the turn were dropped."""
    abandoned: bool = False
    """Whether its agent has gone back by itself before it, and it is on no line any more."""


_DEEPEST = 40
"""How deep sessions may be nested in a tree; what is deeper is shown beside it.

An agent that takes itself back all day makes a line of hundreds: nobody could read that, and a
parser of the document would run out of stack."""


class _Around(Value):
    """The present state, for the nodes of a tree."""

    here: Place | None
    amid: Mapping[str, str]
    states: Mapping[str, TurnState]
    elsewhere: Mapping[str, list[Elsewhere]]
    expired: Mapping[CheckpointId, float]
    abandoned: Mapping[CheckpointId, CheckpointId | None]


def tree(context: Context, ledger: Ledger, *, is_over: IsOver) -> list[Node]:
    """Returns the sessions as a tree: each with its turns, each turn with the forks before it."""
    everyone = {s.id: s for s in ledger_sessions.sessions(ledger) if s.agent is not None}
    turns = ledger_sessions.turns(ledger)
    count_lines(context.store, ledger, [turn.id for turn in turns])
    rows = [(turn.id, turn.before, turn.after) for turn in turns]
    around = _Around(
        row_of(ledger, rows, current_place(context, ledger)),
        ledger_sessions.amid(ledger),
        open_states(context, ledger, is_over),
        _elsewhere(ledger, moves(known_operations(context.store))),
        ledger.expired(),
        ways.abandoned(ledger),
    )
    below: dict[SessionId | str, list[Session]] = {}
    roots = []
    for session in sorted(everyone.values(), key=lambda s: s.began):
        if session.parent is None or _depth(everyone, session) % _DEEPEST == 0:
            roots.append(session)
            continue
        origin = ledger.by_id(session.origin) if session.origin else None
        turn = None if origin is None else ledger_sessions.turn_of(ledger, origin)
        on_parent = turn is not None and turn.session == session.parent
        below.setdefault(turn.id if turn and on_parent else session.parent, []).append(session)
    return [_node(ledger, around, below, root) for root in roots]


def _elsewhere(ledger: Ledger, log: list[Move]) -> dict[str, list[Elsewhere]]:
    """Returns the forks into other directories, by the turn or session that each came from."""
    found: dict[str, list[Elsewhere]] = {}
    for operation in log:
        target = None if operation.target is None else ledger.by_id(operation.target)
        if operation.directory is None or target is None:
            continue
        turn = ledger_sessions.turn_of(ledger, target)
        of = turn.id if turn is not None else target.session
        found.setdefault(of, []).append(Elsewhere(operation.directory, operation.child))
    return found


def _depth(everyone: Mapping[SessionId, Session], session: Session) -> int:
    """Returns how many ancestors of a session are known."""
    depth, seen = 0, {session.id}
    while session.parent is not None and session.parent not in seen:
        above = everyone.get(session.parent)
        if above is None:
            break
        session = above
        seen.add(session.id)
        depth += 1
    return depth


def _node(
    ledger: Ledger,
    around: _Around,
    below: Mapping[SessionId | str, list[Session]],
    session: Session,
) -> Node:
    """Makes the node of a session; ``below`` has the descendants of each turn or session."""

    def nodes(of: SessionId | str) -> tuple[Node, ...]:
        return tuple(_node(ledger, around, below, child) for child in below.get(of, ()))

    turns: list[Node] = []
    left: dict[CheckpointId, list[Node]] = {}
    for turn in ledger_sessions.turns(ledger, session=session.id):
        changes = tuple(ledger_sessions.turn_changes(ledger, turn.id))
        here = around.here[1] if around.here is not None and around.here[0] == turn.id else None
        amid, stands = around.amid.get(turn.before), as_it_stands(turn, around.states)
        beside = tuple(around.elsewhere.get(turn.id, ()))
        expired = around.expired.get(turn.before)
        children = (*left.get(turn.id, ())[::-1], *nodes(turn.id))
        node = Node(session, stands, changes, here, children, amid, beside, expired)
        from_turn = around.abandoned.get(turn.id)
        if turn.id in around.abandoned:
            node = node.replace(abandoned=True)
        (turns if from_turn is None else left.setdefault(from_turn, [])).append(node)
    beside = tuple(around.elsewhere.get(session.id, ()))
    return Node(session, None, (), None, (*turns[::-1], *nodes(session.id)), elsewhere=beside)


def places(ledger: Ledger, session: str, entries: list[str]) -> dict[str, Checkpoint]:
    """Returns the newest checkpoint on a session's line at each entry.

    An entry is the agent's own id: of the prompt before which a checkpoint was made, or of the leaf
    that the agent was at.
    """
    wanted, found = set(entries), {}
    for one in ledger_sessions.line(ledger, session):
        for checkpoint in ledger.checkpoints(session=one, without=(UNDO,)):
            for name in (checkpoint.entry, checkpoint.leaf):
                if name in wanted and name not in found:
                    found[name] = checkpoint
            if checkpoint.kind == PROMPT and checkpoint.turn_id in wanted:
                found.setdefault(checkpoint.turn_id, checkpoint)
    return found


# -- standing: the place that the files are at, and what changed by hand since


class Standing(Value):
    """The checkpoint that the files are at: ``before``, ``in`` or ``after`` a turn, or ``at`` it.

    ``sessions`` are all sessions, among which a short name must be unique.
    """

    checkpoint: Checkpoint
    place: str
    turn: Turn | None
    sessions: tuple[Session, ...]


class Dirty(Value):
    """What changed since the newest state that takeback knows; ``unknown`` says why it cannot."""

    changes: tuple[Change, ...] = ()
    unknown: str | None = None


def standing(context: Context, ledger: Ledger) -> Standing | None:
    """Returns where the files are; None before the first checkpoint."""
    place = current_place(context, ledger)
    found = None if place is None else ledger.by_id(place)
    if found is None:
        return None
    turn = None
    if found.agent is not None and found.turn:
        turn = ledger_sessions.turn_numbered(ledger, found.session, found.turn)
    where = "at" if turn is None else word_of(turn.id, turn.before, turn.after, found.id) or "in"
    return Standing(found, where, turn, tuple(ledger_sessions.sessions(ledger)))


def dirty(context: Context, seen: SnapshotId | None) -> Dirty:
    """Compares the files with the newest state that takeback knows; stores nothing, takes no lock.

    Never fails: ``status`` has to answer whatever the state of the store.
    """
    if seen is None:
        return Dirty()
    look = Looking(context.store)
    try:
        with Translated("a look at the files"):
            _, now = scanned_into(context, look, may_rehash=False)
        found = [
            change
            for change in trees.diff(look, bytes.fromhex(seen), now.tree)
            if change.new is not None or now.coverage.reason_for(change.path) not in LET_GO
        ]
    except (TakebackError, IgnoreRaced) as error:
        return Dirty(unknown=str(error) or "a directory keeps turning into a link")
    return Dirty(tuple(sorted(_telling(found), key=lambda change: change.path)))


def _telling(changes: list[Change]) -> list[Change]:
    """Leaves out directories that changed only because of what is in them."""
    parents = {parent for change in changes for parent in _directories_above(change.path)}
    return [change for change in changes if change.path not in parents]


def _directories_above(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    return [b"/".join(parts[:depth]) for depth in range(1, len(parts))]
