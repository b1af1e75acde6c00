"""Left running: what a turn started and left behind, by the system's own table of processes."""

from __future__ import annotations

import os
import time

from takeback.capture.capture import capture, draft_after, record
from takeback.errors import TakebackError
from takeback.ledger import by_session as questions
from takeback.ledger.attribute import is_event
from takeback.model.checkpoint import Process
from takeback.model.entries import BACKGROUND, RUNNING
from takeback.model.ids import SessionId
from takeback.model.turn import IDLE, SESSION_END, TURN_END
from takeback.model.value import Value
from takeback.store import journal, notes, store
from takeback.store.records import newest_checkpoint
from takeback.turns.processes import (
    ancestors,
    can_be_seen,
    fields,
    is_alive,
    seen,
    variables,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from takeback.capture.capture import Captured
    from takeback.context import Context, LockedContext
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.entries import Session, Turn
    from takeback.ports import Clock

    IsOver = Callable[[Checkpoint], bool]
    SessionsIn = Callable[[Mapping[str, str]], Collection[SessionId]]
    """Which sessions of agents the variables of a process name."""

_MOST = 50
"""So many sessions are looked at, the newest, and so many processes of one are noted."""
_SHELLS = frozenset((b"bash", b"dash", b"fish", b"ksh", b"sh", b"zsh"))
_LONGEST = 1 << 16


class LeftRunning(Value):
    """A process that goes on after the end of the turn it began in, and what it was started as."""

    session: SessionId
    turn: Turn
    process: Process
    command: str
    is_first: bool = True
    """Whether no other of them started it."""


class _Entry(Value):
    """A process of ours, as the table has it; ``began`` is in seconds since 1970."""

    pid: int
    parent: int
    group: int
    started: str
    began: float


def left_running(
    context: Context, ledger: Ledger, sessions_in: SessionsIn, *, just_ended: bool = False
) -> tuple[LeftRunning, ...]:
    """Returns what is left running by turns that are over, of the newest sessions here.

    If a turn has ``just_ended``, what began after its last tool is not counted: programs that the
    agent runs at the end of a turn.
    """
    machine = context.store.machine
    newest: dict[SessionId, Checkpoint] = {}
    since = context.clock.now()
    for session in _agents(ledger)[:_MOST]:
        checkpoint = ledger.by_id(session.newest)
        if checkpoint is not None and checkpoint.machine == machine:
            newest[session.id] = checkpoint
            since = min(since, session.began)
    if not newest:
        return ()
    table = _table(context.clock)
    if not table:
        return ()
    found: dict[int, LeftRunning] = {}
    owners = _Owners(table, newest, sessions_in)
    known: dict[SessionId, list[Turn]] = {}
    for one in table.values():
        if one.began < since or not _works_in(context.workspace.root, one.pid):
            continue
        session_id = owners.of(one)
        if session_id is None:
            continue
        if session_id not in known:
            known[session_id] = _over(ledger, session_id, just_ended=just_ended)
        turns = known[session_id]
        line = [_turn_at(turns, above.began) for above in owners.line(one)]
        command = _command(one.pid)
        if not line or None in line or command is None:
            continue
        turn = line[0]
        assert turn is not None
        process = seen(one.pid)
        if process.started == one.started:
            found[one.pid] = LeftRunning(session_id, turn, process, command)
    return tuple(
        left.replace(is_first=table[pid].parent not in found) for pid, left in found.items()
    )


def _agents(ledger: Ledger) -> list[Session]:
    return [one for one in questions.sessions(ledger) if one.agent is not None]


def _over(ledger: Ledger, session: SessionId, *, just_ended: bool) -> list[Turn]:
    """Returns the turns of a session, newest first; none if one of them is running."""
    turns = questions.turns(ledger, session=session)
    if not turns or turns[0].state == RUNNING:
        return []
    if just_ended:
        last = ledger.by_id(turns[0].after)
        if last is not None and not last.stopped:
            turns[0] = turns[0].replace(ended=_last_tool(ledger, turns[0]))
    return turns


def _last_tool(ledger: Ledger, turn: Turn) -> float:
    """Returns when the last checkpoint of a turn before its end was made."""
    for one in ledger.checkpoints(session=turn.session, limit=_MOST):
        if is_event(one) and one.kind not in (TURN_END, SESSION_END):
            return one.time
    return turn.began


def _turn_at(turns: Sequence[Turn], began: float) -> Turn | None:
    """Returns the turn in which something began; None if that was between turns."""
    for turn in turns:
        if turn.began <= began:
            return turn if turn.ended is None or began <= turn.ended else None
    return None


def _table(clock: Clock) -> dict[int, _Entry]:
    """Returns this user's processes by their ids; empty where the system has no such table."""
    mine, found = os.getuid(), {}
    try:
        # at once: what passes between the two would move each beginning out of its turn
        since_boot, now = time.clock_gettime(time.CLOCK_BOOTTIME), clock.now()
        ticks = os.sysconf("SC_CLK_TCK")
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except (OSError, AttributeError, ValueError):
        return {}
    for name in names:
        try:
            if os.stat(f"/proc/{name}").st_uid != mine:
                continue
        except OSError:  # it has ended
            continue
        told = fields(int(name))
        if len(told) > 19 and told[0] not in ("Z", "X"):
            age = since_boot - (int(told[19]) + 1) / ticks
            found[int(name)] = _Entry(int(name), int(told[1]), int(told[2]), told[19], now - age)
    return found


class _Owners:
    """Tells of processes which session started them."""

    def __init__(
        self,
        table: Mapping[int, _Entry],
        newest: Mapping[SessionId, Checkpoint],
        sessions_in: SessionsIn,
    ) -> None:
        self._table = table
        self._sessions = newest
        self._sessions_in = sessions_in
        self._ours = {os.getpid(), *(one.pid for one in ancestors())}
        self._agents: dict[int, SessionId] = {}
        for session, checkpoint in newest.items():
            process = checkpoint.process
            if process is not None and can_be_seen(process) and is_alive(process):
                self._agents[process.pid] = session
        self._known: dict[int, SessionId | None] = {}

    def of(self, one: _Entry) -> SessionId | None:
        """Returns the session that a process belongs to; None if it belongs to none."""
        if one.pid not in self._known:
            self._known[one.pid] = None  # a circle, should the table have one
            self._known[one.pid] = self._found(one)
        return self._known[one.pid]

    def _found(self, one: _Entry) -> SessionId | None:
        above = self._table.get(one.parent)
        theirs = None if above is None else self.of(above)
        if one.pid in self._ours or one.pid in self._agents:
            return None
        for session in self._sessions_in(variables(one.pid)):
            if session in self._sessions:
                return session
        return self._agents.get(one.parent) or theirs

    def line(self, one: _Entry) -> list[_Entry]:
        """Returns a process and those of its session above it; empty if it is one of the agent's.

        What the agent keeps for itself it keeps in its own process group.
        """
        found = [one]
        while (above := self._table.get(found[-1].parent)) is not None and len(found) < _MOST:
            if above.pid in self._agents:
                return [] if found[-1].group == above.group else found
            if self.of(above) is None:
                break
            found.append(above)
        return found


def _works_in(root: bytes, pid: int) -> bool:
    try:
        directory = os.readlink(os.fsencode(f"/proc/{pid}/cwd"))
    except OSError:  # another's, or it has ended
        return False
    return directory == root or directory.startswith(root + b"/")


def _command(pid: int) -> str | None:
    """Returns what a process was started as; None if that is not known, or says nothing."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(_LONGEST).rstrip(b"\0").split(b"\0")
    except OSError:
        return None
    if not words[0] or store.is_ours(words) or _waits_for_commands(words):
        return None
    return os.fsdecode(b" ".join(words))


def _waits_for_commands(words: Sequence[bytes]) -> bool:
    """Tells whether this is a shell that some agents keep, and give one command after another."""
    name = os.path.basename(words[0]).lstrip(b"-")
    return name in _SHELLS and all(_is_bare(word) for word in words[1:])


def _is_bare(word: bytes) -> bool:
    return word.startswith(b"--") or (word.startswith(b"-") and b"c" not in word)


def note(context: LockedContext, captured: Captured, found: Iterable[LeftRunning]) -> bool:
    """Records that turns which seemed over have left something running; tells whether any had.

    What is found changed until then, and from then on, is that turn's.
    """
    left: dict[SessionId, list[Process]] = {}
    for one in found:
        left.setdefault(one.session, []).append(one.process)
    is_news = False
    for session, processes in left.items():
        newest = newest_checkpoint(context.store, session)
        if newest is None or not _seems_over(newest):
            continue
        drafted = draft_after(newest, context, kind=TURN_END, session=session).replace(
            phase=BACKGROUND,
            left=tuple(processes[:_MOST]),
            stopped=newest.stopped or newest.unfinished,
        )
        record(context, captured, drafted)
        notes.note_turn(context.lock, session, is_open=True)
        is_news = True
    return is_news


def note_beside(context: Context, found: Iterable[LeftRunning]) -> None:
    """Does the same before somebody looks; never prevents the look.

    Nothing is done while another process is at work here or an operation was interrupted.
    """
    found = tuple(found)
    newest = [newest_checkpoint(context.store, one) for one in {one.session for one in found}]
    if not any(one is not None and _seems_over(one) for one in newest):
        return
    try:
        with context.locked(wait=0.0) as locked:
            if not journal.exists(context.store):
                captured = capture(locked)
                note(locked, captured, found)
                captured.keep()
    except (TakebackError, OSError):
        return


def _seems_over(newest: Checkpoint) -> bool:
    return newest.moment.phase == IDLE and bool(newest.turn)
