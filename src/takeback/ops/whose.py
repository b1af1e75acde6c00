"""Whose: the session that a person means, by a name or without one.

    s1 ●───●───●          turns 1 to 3
        ╰──● s1.92af      cut before turn 2, and continued: it is the current one of its line
        ╰── s1.21b1       cut before turn 2, not continued

A rewind makes a new session of the agent, so to a person a line of them is one thing. The beginning
of an id that fits several of one line means the one that was last continued; so the same words can
be typed again after each rewind.

Without a name it is the session whose turn is newest, where the files stand: that of the row that
``log`` marks. An agent's name means the same among its own. Only beside another session that is at
work is that not clear.
"""

from __future__ import annotations

from takeback.errors import NoSuchCheckpoint, WhichSession
from takeback.ledger import sessions as questions
from takeback.model.ages import ago
from takeback.model.short_ids import short_ids
from takeback.model.timeline import Candidate
from takeback.model.value import Value
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from takeback.ledger.ledger import Ledger
    from takeback.model.ids import SessionId
    from takeback.model.timeline import Session
    from takeback.ops.running import RunningTurn

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
    everyone = questions.sessions(ledger)
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
    worked = questions.newest_turns(ledger)
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
        turns = questions.newest_turns(ledger, until=until)
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
    return questions.sessions(ledger)


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
    turn = questions.newest_turn(ledger, session.id)
    said = shown(" ".join((turn.prompt or "").split())) if turn is not None else ""
    return Candidate(
        session.id,
        session.agent or "by hand",
        session.last_event or session.last,
        said if len(said) <= _PROMPT else said[: _PROMPT - 1] + "…",
        running,
    )
