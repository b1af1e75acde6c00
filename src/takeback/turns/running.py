"""Running: turns under way, here and elsewhere, their processes, and what they left behind."""

from __future__ import annotations

import os
import time

from takeback.capture.capture import capture, draft_after, record
from takeback.errors import TakebackError
from takeback.ledger import sessions as questions
from takeback.ledger.attribute import is_event
from takeback.model.checkpoint import Process
from takeback.model.ids import SessionId
from takeback.model.timeline import BACKGROUND, ENDED, LEFT_UNFINISHED, RUNNING
from takeback.model.turn import IDLE, SESSION_END, TURN_END
from takeback.model.value import Value
from takeback.ordinary import small_content
from takeback.store import journal, notes, store
from takeback.store.records import newest_checkpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from takeback.capture.capture import Captured
    from takeback.context import Context, LockedContext
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.timeline import Session, Turn, TurnState
    from takeback.ports import Clock

    IsOver = Callable[[Checkpoint], bool]
    SessionsIn = Callable[[Mapping[str, str]], Collection[SessionId]]
    """Which sessions of agents the variables of a process name."""

# -- tells whether an agent's process still exists, and which processes started this one


SILENT_FOR = 3600.0
"""An agent whose process cannot be seen and that was silent for so long is considered gone."""
MANAGERS = frozenset(("init", "systemd", "launchd"))
"""Who takes in processes whose parent has ended, beside process 1, and starts a person's."""


def started(pid: int) -> str | None:
    """Returns what tells a process from a later one with the same id; None if unknown."""
    told = fields(pid)
    return told[19] if len(told) > 19 else None


def fields(pid: int) -> list[str]:
    """Returns Linux's fields for a process, from its state on; empty elsewhere."""
    return _told(pid)[1]


def _told(pid: int) -> tuple[str, list[str]]:
    """Returns the name of a process and its fields; empty where the system does not tell."""
    try:
        said = small_content(f"/proc/{pid}/stat")
    except OSError:
        return "", []
    named, _, told = said.rpartition(b")")
    return os.fsdecode(named.partition(b"(")[2]), told.decode().split()


def words(pid: int) -> list[str]:
    """Returns the words that a process was started with; empty if that is not known."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            said = file.read()
    except OSError:
        return []
    return [os.fsdecode(word) for word in said.split(b"\0")[:-1]]


_FIRST_NAMESPACE = "4026531836"
"""Linux's own, in which every process can be seen."""


class Ancestor(Value):
    """A process above another: what the kernel says of it.

    ``leader`` is the process that began its session, ``terminal`` is not 0 if that has one.
    """

    process: Process
    name: str
    leader: int = 0
    terminal: int = 0

    @property
    def is_of_a_person(self) -> bool:
        """Whether it began a session at a terminal, as the shell that a person types into."""
        return bool(self.terminal) and self.leader == self.process.pid


def itself(pid: int) -> tuple[Ancestor, ...]:
    """Returns a process as ``above`` does those above it; none if the system does not tell."""
    name, told = _told(pid)
    if len(told) <= 19:
        return ()
    process = Process(pid, told[19], _namespace())
    return (Ancestor(process, name, int(told[3]), int(told[4])),)


def sees_all(namespace: str | None) -> bool:
    """Tells whether no process of the machine is hidden from those of a namespace."""
    return namespace == _FIRST_NAMESPACE


def seen(pid: int) -> Process:
    """Returns a process by its id, with what tells it from others with that id."""
    return Process(pid, started(pid), _namespace())


def _namespace() -> str | None:
    """Returns the namespace of the process ids seen here; None if the system does not say."""
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return None


def is_same(one: Process, other: Process) -> bool:
    """Tells whether two are the same process, as far as each says."""
    if one.pid != other.pid or one.namespace not in (None, other.namespace):
        return False
    return one.started in (None, other.started) or other.started is None


def can_be_seen(process: Process) -> bool:
    """Tells whether a process's id means it here: a container has ids of its own."""
    return process.namespace in (None, _namespace())


def is_alive_here(process: Process) -> bool:
    """Tells whether a process is known to exist."""
    return can_be_seen(process) and is_alive(process)


def is_gone(process: Process) -> bool:
    """Tells whether a process is known to have ended."""
    return can_be_seen(process) and not is_alive(process)


def is_alive(process: Process) -> bool:
    """Tells whether this very process exists, not a later one with the same id.

    Call it only for one that can be seen.
    """
    try:
        os.kill(process.pid, 0)
    except PermissionError:
        return True  # another user's, so it exists
    except (OSError, OverflowError):
        return False
    if fields(process.pid)[:1] in (["Z"], ["X"]):  # dead, but not yet waited for
        return False
    return process.started in (None, now := started(process.pid)) or now is None  # not told here


def ancestors(of: int | None = None) -> tuple[Process, ...]:
    """Returns the processes above one, the nearest first; above this one if none is named.

    If the system does not tell, only the parent, and none of another process.
    """
    return tuple(one.process for one in above(of))


def above(of: int | None = None) -> Iterator[Ancestor]:
    """Yields the processes above one, the nearest first, as ``ancestors`` returns them."""
    pid, namespace = os.getppid() if of is None else _parent(of), _namespace()
    while pid > 0:
        name, told = _told(pid)
        if len(told) > 19:
            begun = Process(pid, told[19], namespace)
            yield Ancestor(begun, name, int(told[3]), int(told[4]))
        else:
            yield Ancestor(Process(pid, None, namespace), name)
        pid = int(told[1]) if len(told) > 1 else 0


def _parent(pid: int) -> int:
    told = fields(pid)
    return int(told[1]) if len(told) > 1 else 0


def variables(pid: int) -> dict[str, str]:
    """Returns the environment that a process was started with; empty if that is not known."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = file.read().split(b"\0")
    except OSError:
        return {}
    found = (os.fsdecode(pair).partition("=") for pair in pairs)
    return {name: value for name, is_one, value in found if is_one}


# -- running
#
# A turn runs from its prompt until its end, and that of its background tasks, is announced. An
# agent that was killed announces no end, so its process must exist; if no process is known, or it
# is one of a container, the agent must have sent an event within the hour.


class RunningTurn(Value):
    """A turn that an agent is working on, or whose background tasks continue after its end.

    ``presumed`` says of a caller's turn that the call may come from it, and that nobody knows;
    ``is_elsewhere`` that no turn runs, but that its agent asks from another workspace.
    """

    session: SessionId
    agent: str
    prompt: str
    background: bool = False
    presumed: bool = False
    commands: tuple[str, ...] = ()
    """What it left running, where takeback saw that itself."""
    process: Process | None = None
    is_elsewhere: bool = False


def running_turns(
    context: Context, ledger: Ledger, is_over: IsOver, left: Iterable[LeftRunning] = ()
) -> tuple[RunningTurn, ...]:
    """Returns the turns that are running here now, their agents alive, and what others ``left``.

    ``is_over`` tells from a session's newest checkpoint whether its turn ended unannounced.
    """
    states = open_states(context, ledger, is_over)
    found = []
    for turn in questions.open_turns(ledger):
        state = states[turn.id]
        session = questions.session_by_id(ledger, turn.session)
        if state in (RUNNING, BACKGROUND) and session is not None:
            agent, prompt = session.agent or "", turn.prompt or ""
            newest = ledger.by_id(session.newest)
            if newest is None or not (newest.left or newest.below):
                found.append(RunningTurn(turn.session, agent, prompt, state == BACKGROUND))
    return (*found, *_left(ledger, left))


def _left(ledger: Ledger, left: Iterable[LeftRunning]) -> Iterator[RunningTurn]:
    """Yields the turns that are over but for the processes which they left running."""
    commands: dict[str, list[str]] = {}
    turns = {}
    for one in left:
        turns[one.turn.id] = one.turn
        commands.setdefault(one.turn.id, [])
        if one.is_first:
            commands[one.turn.id].append(one.command)
    for turn in turns.values():
        session = questions.session_by_id(ledger, turn.session)
        if session is not None:
            agent, prompt = session.agent or "", turn.prompt or ""
            yield RunningTurn(turn.session, agent, prompt, True, commands=tuple(commands[turn.id]))


def open_states(context: Context, ledger: Ledger, is_over: IsOver) -> dict[str, TurnState]:
    """Returns the state of each turn whose end was never announced, by its id.

    The turn of an agent that is gone is not running: it was left unfinished, or if only its
    background tasks continued, it has ended.
    """
    states: dict[str, TurnState] = {}
    now = context.clock.now()
    for turn in questions.open_turns(ledger):
        session = questions.session_by_id(ledger, turn.session)
        newest = ledger.by_id(session.newest) if session is not None else None
        state = turn.state
        if newest is not None and session is not None:
            here = newest.machine == context.store.machine
            there = here and is_at_work(newest, session.last_event, now)
            if state == RUNNING and not (there and not is_over(newest)):
                state = LEFT_UNFINISHED
            elif state == BACKGROUND and not there:
                state = LEFT_UNFINISHED if newest.stopped else ENDED
        states[turn.id] = state
    return states


def as_it_stands(turn: Turn | None, states: Mapping[str, TurnState]) -> Turn | None:
    """Returns a turn of the ledger with its state from ``open_states``."""
    if turn is None or turn.id not in states:
        return turn
    return turn.replace(state=states[turn.id])


def is_at_work(newest: Checkpoint, spoke: float, now: float) -> bool:
    """Tells whether the agent of a session with an open turn still exists."""
    if newest.left:
        return any(map(is_alive_here, newest.left))
    if newest.process is not None and can_be_seen(newest.process):
        return is_alive(newest.process)
    return now - spoke < SILENT_FOR


def is_recent(newest: Checkpoint, now: float) -> bool:
    """Tells whether a session was heard of so lately that it counts without its process."""
    return now - newest.time < SILENT_FOR


def which(session: str, process: Process | None) -> str:
    """Names a session and its agent's process, in brackets, as refusals do."""
    pid = "" if process is None else f", process {process.pid}"
    return f" (session {session}{pid})"


def called_from(turn: RunningTurn) -> str:
    """Says in which turn of an agent a call was made."""
    its, inside = which(turn.session, turn.process), "this was called from inside"
    if turn.is_elsewhere:
        return f"{inside} {turn.agent}{its}, which works in another workspace"
    running = f"a running turn of {turn.agent} ({quoted(turn.prompt)}){its}"
    if turn.presumed:
        return f"the system does not say whether {running} asks for it; press Esc there first"
    return f"{inside} {running}"


def quoted(prompt: str) -> str:
    """Returns as much of a prompt as names its turn in a sentence."""
    line = prompt.strip().split("\n")[0]
    return f'"{line[:60]}{"..." if len(line) > 60 else ""}"' if line else "a turn"


# -- left running: what a turn started and left behind, by the system's own table of processes
#
#     agent ──> shell ──> command      below the agent's process, in a process group of its own
#     init ───> command                the agent is gone; it carries the session's variable
#
# Both only if it began in a turn that is over, and works in the workspace. Not counted is what
# the agent keeps for itself: what began between turns, what is in its own process group, and all
# that such a process started; a daemon, which has left the directory; a shell that waits for its
# next command; takeback itself. A process that cannot be looked at is unknown, not an error, and
# where the system has no such table (macOS) nothing is known: then only agents that say so have
# such tasks.
#
# One look at the table serves all sessions. No hook makes one while its agent waits.


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
