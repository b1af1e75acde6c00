"""Running: the turns that agents are working on now, here and in every other workspace.

A turn runs from its prompt until its end, and that of its background tasks, is announced. An agent
that was killed announces no end, so its process must exist; if no process is known, or it is one of
a container, the agent must have sent an event within the hour.
"""

from __future__ import annotations

from takeback.errors import TakebackError
from takeback.ledger import sessions as questions
from takeback.model import turn as moments
from takeback.model.checkpoint import MANUAL, UNDO
from takeback.model.ids import SessionId
from takeback.model.session import Process
from takeback.model.timeline import BACKGROUND, ENDED, LEFT_UNFINISHED, RUNNING
from takeback.model.value import Value
from takeback.ops.processes import can_be_seen, is_alive, is_alive_here
from takeback.store import location as locations
from takeback.store.checkpoints import newest_checkpoint
from takeback.store.namespace import SESSIONS, session_of
from takeback.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.timeline import Turn, TurnState
    from takeback.ops.context import Context
    from takeback.ops.left_running import LeftRunning

    IsOver = Callable[[Checkpoint], bool]

_SILENT_FOR = 3600.0
"""An agent whose process cannot be seen and that was silent for so long is considered gone."""


class RunningTurn(Value):
    """A turn that an agent is working on, or whose background tasks continue after its end.

    ``presumed`` says of a caller's turn that the call may come from it, and that nobody knows.
    """

    session: SessionId
    agent: str
    prompt: str
    background: bool = False
    presumed: bool = False
    commands: tuple[str, ...] = ()
    """What it left running, where takeback saw that itself."""


class Caller(Value):
    """Who asks: the sessions and agents named to it or to its ancestors, and those processes.

    Only the agent is named if its tools are not told the session.
    """

    sessions: frozenset[SessionId] = frozenset()
    agents: frozenset[str] = frozenset()
    above: tuple[Process, ...] = ()

    def is_in(self, newest: Checkpoint) -> bool:
        """Tells whether it may be a tool of the session whose newest checkpoint is given."""
        named = newest.session in self.sessions or newest.agent in self.agents
        return named or self.is_below(newest.process)

    def is_below(self, process: Process | None) -> bool:
        """Tells whether a process started this one, directly or through others."""
        return process is not None and any(_is_same(process, one) for one in self.above)


def _is_same(one: Process, other: Process) -> bool:
    if one.pid != other.pid or one.namespace not in (None, other.namespace):
        return False
    return one.started in (None, other.started) or other.started is None


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
            if newest is None or not newest.left:
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


def presumed(context: Context, ledger: Ledger, is_over: IsOver) -> RunningTurn | None:
    """Returns the running turn that a call may come from if the system does not say who calls.

    Only what is at work here: a person who calls in another workspace is not to wait for it.
    """
    found = (one for one in running_turns(context, ledger, is_over) if not one.background)
    turn = next(found, None)
    return None if turn is None else turn.replace(presumed=True)


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
    return now - spoke < _SILENT_FOR


def calling_turn(
    home: str, environ: Mapping[str, str], caller: Caller, *, now: float
) -> RunningTurn | None:
    """Returns the running turn that the caller was started in, in any workspace.

    All stores are searched: a model may call from a directory other than the one it works in. Only
    what the agent itself announced ends a turn here. The model itself may have caused a transcript
    to say that the person stopped it, or the agent to be gone.
    """
    if not (caller.sessions or caller.agents or caller.above):
        return None
    for store in _stores(home, environ):
        try:
            for newest in _newest(store, caller):
                if not (caller.is_in(newest) and _is_unended(store, newest)):
                    continue
                named = newest.session in caller.sessions and now - newest.time < _SILENT_FOR
                if named or is_at_work(newest, newest.time, now):
                    background = newest.moment.phase == moments.BACKGROUND
                    prompt = _prompt(store, newest)
                    return RunningTurn(newest.session, newest.agent or "", prompt, background)
        except (TakebackError, OSError):  # one unreadable store must not hide the others
            continue
        finally:
            store.close()
    return None


def _is_unended(store: Store, newest: Checkpoint) -> bool:
    """Tells whether a session's newest turn is running or was not closed by its agent.

    Checkpoints not made by an event are skipped: a model may make them too.
    """
    from takeback.store.checkpoints import checkpoints_back

    if newest.moment.phase != moments.IDLE:
        return True
    for one in checkpoints_back(store, newest.commit):
        if one.session != newest.session:
            return False
        if one.kind not in (MANUAL, UNDO):
            return one.unfinished and one.kind in (moments.TURN_END, moments.SESSION_END)
    return False


def _stores(home: str, environ: Mapping[str, str]) -> Iterator[Store]:
    for location in locations.all_locations(home):
        try:
            yield Store.open(location, environ)
        except TakebackError:
            continue


def _newest(store: Store, caller: Caller) -> Iterator[Checkpoint]:
    """Yields the newest checkpoint of each session that may be the caller's."""
    for session in {session_of(ref): None for ref in store.refs.list(SESSIONS, damaged={})}:
        if session in caller.sessions or caller.agents or caller.above:
            newest = newest_checkpoint(store, session)
            if newest is not None and newest.agent is not None:
                yield newest


def _prompt(store: Store, newest: Checkpoint) -> str:
    """Returns the prompt of the turn that a session's newest checkpoint is in."""
    from takeback.store.checkpoints import checkpoints_back

    for one in checkpoints_back(store, newest.commit):
        if one.session != newest.session or one.turn != newest.turn:
            break
        if one.kind == moments.PROMPT:
            return one.prompt or ""
    return ""
