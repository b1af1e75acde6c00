"""Whose: the session that a person means, by a name or without one.

    s1 ●───●───●          turns 1 to 3
        ╰──● s1.92af      cut before turn 2, and continued: it is the current one of its line
        ╰── s1.21b1       cut before turn 2, not continued

A rewind makes a new session of the agent, so to a person a line of them is one thing. The agent's
name, and the beginning of an id that fits several of one line, mean the one that was last
continued; so the same words can be typed again after each rewind.
"""

from __future__ import annotations

from takeback.errors import Command, NoSuchCheckpoint, WhichSession
from takeback.ledger import sessions as questions
from takeback.model.ages import ago
from takeback.model.checkpoint import UNDO
from takeback.model.short_ids import short_ids
from takeback.model.turn import FORK
from takeback.model.value import Value
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from takeback.ledger.ledger import Ledger
    from takeback.model.ids import SessionId
    from takeback.model.timeline import Session

_DAY = 86400.0
_PROMPT = 40


class Candidate(Value):
    """A session that could be meant, with what a person recognizes it by."""

    id: str
    agent: str
    last: float
    prompt: str

    def words(self, now: float) -> str:
        """Returns agent, age and the newest prompt, for a list."""
        said = f', "{self.prompt}"' if self.prompt else ""
        return f"{shown(self.agent)}, {ago(self.last, now)}{said}"


def find_session(ledger: Ledger, text: str, *, now: float) -> Session:
    """Returns the session that ``text`` means: an id, the beginning of one, the agent's name.

    The id may be ours or the agent's own. Raises NoSuchCheckpoint if it means none, or several
    that are not of one line.
    """
    everyone = questions.sessions(ledger)
    for name in (text, text.strip()):  # blanks at the ends may belong to the agent's own id
        for exact in everyone:
            if name in (exact.id, exact.native):
                return exact
    text = text.strip()
    found = [
        session
        for session in everyone
        if text and (session.id.startswith(text) or (session.native or "").startswith(text))
    ]
    if not found:
        found = [session for session in everyone if text and session.agent == text]
    if not found:  # as shown in lists: s1.92af, or with its agent
        short = short_ids(everyone)
        found = [s for s in everyone if text in (short[s.id], f"{s.agent} {short[s.id]}")]
    current = _current(everyone, found, now)
    if len(current) == 1:
        return current[0]
    known = [_candidate(ledger, session) for session in (current or everyone)]
    listed = ", ".join(f"{one.id} ({one.words(now)})" for one in known)
    if not current:
        raise NoSuchCheckpoint(
            f"{text!r} does not name one session", hint=f"sessions: {listed or 'none yet'}"
        )
    raise NoSuchCheckpoint(
        f"{text!r} could be {len(current)} sessions",
        hint=f"say which: {listed}",
        sessions=[one.id for one in known],
        about=[one.words(now) for one in known],
    )


def _current(everyone: Sequence[Session], found: Sequence[Session], now: float) -> list[Session]:
    """Returns the session of each line that was last continued; one, if only one is recent."""
    parents = _parents(everyone)
    newest: dict[str, Session] = {}
    for session in found:
        root = _line(parents, session.id)[-1]
        best = newest.setdefault(root, session)
        if (session.last_event, session.last) > (best.last_event, best.last):
            newest[root] = session
    recent = [session for session in newest.values() if now - session.last_event < _DAY]
    return recent if len(recent) == 1 else list(newest.values())


def meant(ledger: Ledger, *, now: float, callers: tuple[SessionId, ...] = ()) -> SessionId | None:
    """Returns the session that a person who names none means; raises WhichSession.

    The calling agent's own; else the only one active in the last day, or the only one there is.
    None if no agent has worked yet: then the workspace's own session is meant.
    """
    everyone = [s for s in questions.sessions(ledger) if s.agent is not None]
    for session in everyone:
        if session.id in callers:
            return session.id
    spoken = in_use(everyone)
    recent = [s for s in spoken if now - s.last_event < _DAY]
    for candidates in (recent, spoken, everyone):
        if len(candidates) == 1:
            return candidates[0].id
        if candidates:
            raise which([_candidate(ledger, session) for session in candidates], now)
    return None


def everyone(ledger: Ledger) -> list[Session]:
    """Returns every session, the one that was last active first."""
    return questions.sessions(ledger)


def newest(ledger: Ledger) -> Candidate:
    """Returns the session of the newest checkpoint; raises NoSuchCheckpoint if there is none."""
    found = ledger.checkpoints(without=(UNDO, FORK), limit=1)
    session = questions.session_by_id(ledger, found[0].session) if found else None
    if session is None:
        raise NoSuchCheckpoint("there is no checkpoint yet", hint=(Command("checkpoint"),))
    return _candidate(ledger, session)


def which(candidates: Iterable[Candidate], now: float) -> WhichSession:
    """Returns the refusal that names all sessions that could be meant."""
    known = list(candidates)
    listed = ", ".join(f"{one.id} ({one.words(now)})" for one in known)
    return WhichSession(
        f"several sessions could be meant by that: {listed}",
        sessions=[one.id for one in known],
        about=[one.words(now) for one in known],
    )


def in_use(everyone: Sequence[Session]) -> list[Session]:
    """Returns the sessions that were active and not left for another of their line since.

    A session was left if a descendant was active later, or if another active one was cut after its
    last event; two that continue side by side are both in use.
    """
    parents = _parents(everyone)
    spoken = [session for session in everyone if session.last_event]
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


def _candidate(ledger: Ledger, session: Session) -> Candidate:
    turn = questions.newest_turn(ledger, session.id)
    said = shown(" ".join((turn.prompt or "").split())) if turn is not None else ""
    return Candidate(
        session.id,
        session.agent or "by hand",
        session.last_event or session.last,
        said if len(said) <= _PROMPT else said[: _PROMPT - 1] + "…",
    )
