"""Running: turns under way, here and elsewhere, their processes, and what they left behind."""

from __future__ import annotations

from takeback.ledger import by_session as questions
from takeback.model.checkpoint import Process
from takeback.model.entries import BACKGROUND, ENDED, LEFT_UNFINISHED, RUNNING
from takeback.model.ids import SessionId
from takeback.model.value import Value
from takeback.turns.processes import (
    SILENT_FOR,
    can_be_seen,
    is_alive,
    is_alive_here,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from takeback.context import Context
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.entries import Turn
    from takeback.model.row import TurnState
    from takeback.turns.left_running import LeftRunning

    IsOver = Callable[[Checkpoint], bool]
    SessionsIn = Callable[[Mapping[str, str]], Collection[SessionId]]
    """Which sessions of agents the variables of a process name."""

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
            here = context.wrote(newest)
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
