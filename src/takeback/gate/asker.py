"""Who asks: a person, the model of an agent, or nobody knows.

Every command, face, prompt and extension asks here, and nothing else decides it.

    agent ── its tool's shell ── takeback      below a living agent: its model, or what a person
                                               types inside it (`!takeback`)
    agent ── hook, extension                   the agent itself (teller.py): who asks then is what
                                               the agent was started by
    browser ── page ── server                  who holds the other end of the connection

The processes above say it, as the kernel tells them, and agents are those whose own hooks have
shown them (living.py). Variables can only make it stricter: a tool that has left its agent's tree
still carries them. Where the system does not say what is above, in a namespace of its own or
without /proc, it may be any model that is at work just now.

Below a living agent nothing is done that cannot be taken back, whether a turn runs or not; what can
be taken back is done between its turns, and in its own workspaces; and it looks only there. What
each command is of that is in ``rules.py``. A person who is taken for a model has a way out: a word
typed at a terminal that no agent has opened (``may_waive``).
"""

from __future__ import annotations

import os
import sys
import time

from takeback import adapters
from takeback.errors import Refused, TakebackError, UsageError
from takeback.gate.living import Living, living, may_be_below
from takeback.model import turn as moments
from takeback.model.checkpoint import ITSELF, MANUAL, UNDO, Asker
from takeback.model.path_text import to_text
from takeback.model.value import Value
from takeback.paths import home_named, takeback_home
from takeback.store import location as locations
from takeback.store.records import checkpoints_back, newest_checkpoint
from takeback.store.store import Store
from takeback.turns import processes, running
from takeback.turns.running import RunningTurn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from socket import socket

    from takeback.gate.peers import Connection
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import SessionId
    from takeback.turns.processes import Ancestor


class Who(Value):
    """Who asks.

    ``agents`` are the sessions of living agents below which the call was made, or may have been.
    ``turn`` is the running turn among theirs. Both are empty for a person. ``presumed`` says that
    the system does not tell, and that the turn may as well have nothing to do with it.
    """

    agents: tuple[Living, ...] = ()
    turn: RunningTurn | None = None
    presumed: bool = False

    @property
    def is_person(self) -> bool:
        return not self.agents and self.turn is None

    @property
    def places(self) -> frozenset[str]:
        """The stores of the workspaces that those sessions work in."""
        return frozenset(one.place for one in self.agents)

    @property
    def model(self) -> Living | RunningTurn | None:
        """The session, and so the agent, whose model asks; None for a person."""
        return None if self.is_person else self.turn or self.agents[0]

    def works_in(self, place: str) -> bool:
        """Tells whether a store is one of a workspace of those sessions; a person's all are."""
        return not self.agents or self.presumed or place in self.places

    def sentence(self) -> str:
        """Says which session and process it is taken for, and why."""
        if self.turn is not None:
            return running.called_from(self.turn)
        first = self.agents[0]
        where = running.which(first.session, first.process)
        return f"this was called from inside {first.agent}{where}"


PERSON = Who()
_people: set[int] = set()
"""This process, if a person has said at its terminal that it is theirs."""


def may_waive(asking: Who) -> bool:
    """Tells whether it can be a person's word that is typed at this process's terminal.

    The process is in the foreground there, and whoever began the terminal's session is known not to
    be below the agent that it is about.
    """
    try:
        here = os.isatty(0) and os.isatty(2) and os.tcgetpgrp(0) == os.getpgrp()
        leader = os.getsid(0)
    except OSError:
        return False
    line = [one.process for one in (*processes.itself(leader), *processes.above(leader))]
    about = [one.process for one in asking.agents]
    if asking.turn is not None:
        about.append(asking.turn.process)
    if not line and here:
        return not sys.platform.startswith("linux")  # where it should be told, it is hidden
    if not here or not all(map(processes.can_be_seen, filter(None, about))):
        return False
    return not any(processes.is_same(a, one) for a in about if a is not None for one in line)


def waive() -> None:
    """Takes this process for a person's from now on: they have said so at its terminal."""
    _people.add(os.getpid())


def connection(accepted: socket) -> Connection:
    """Returns what names a connection, to be asked later who is at its other end."""
    from takeback.gate import peers  # only where there is a connection

    return peers.connection(accepted)


def asker_of(connected: Connection | None) -> Asker:
    """Returns who is at the other end of a connection; raises Refused if nobody is any more.

    Without a connection it is this process itself that asks.
    """
    if connected is None:
        return ITSELF
    from takeback.gate import peers

    found = peers.peers(connected)
    if found.known and not found.pids:
        raise Refused("the program that asked for this has gone", hint="it was not done: ask again")
    return Asker(processes=found.pids, unseen=not found.known)


def who(environ: Mapping[str, str], asker: Asker = ITSELF) -> Who:
    """Returns who asks for what this process does, or ``asker`` through it.

    Of several processes that hold one connection, one below an agent is enough.
    """
    home, lines = takeback_home(environ), _lines(asker)
    seen = [one.process for _, line in lines for one in line]
    above = [processes.variables(one.pid) for one in seen]
    known = _living(home, above)
    found = {
        one: None
        for one in known
        if one.process is not None and any(processes.is_same(one.process, each) for each in seen)
    }
    named, marked = _named(environ, asker, above)
    found.update(
        (one, None) for one in known if one.session in named or _is_marked(one, marked, found)
    )
    mine = [one for one in found if one.below is None] or list(found)
    turn = _running_of(mine, environ) or _left_of(home, environ, named - {o.session for o in mine})
    agents = tuple(one for one in mine if not one.is_program)
    if agents or turn is not None:
        return Who(agents, turn)
    unseen = [
        one
        for one in known
        if one.below is None
        and (asker.unseen or any(may_be_below(one, pid, line) for pid, line in lines))
    ]
    presumed = _running_of(unseen, environ)
    if presumed is None:
        return PERSON
    return Who((), presumed.replace(presumed=True), presumed=True)


def _living(home: str, above: Iterable[Mapping[str, str]]) -> list[Living]:
    """Returns the agents that are there in a home, and in each that a process above has.

    A tool may have chosen another home; its agent has that of the person who started it.
    """
    homes = {home: None}
    for environ in filter(None, above):  # of another user's process the system tells none
        try:
            homes[home_named(environ)] = None
        except UsageError:  # it names none
            continue
    now = time.time()
    return [one for each in homes for one in living(each, now=now)]


def _lines(asker: Asker) -> list[tuple[int, list[Ancestor]]]:
    """Returns this process and those above it, and those at the other end of a connection."""
    if asker.through is not None:
        return [(asker.through, list(processes.above(asker.through)))]
    others = [(one, [*processes.itself(one), *processes.above(one)]) for one in asker.processes]
    return others if _is_waived() else [(os.getpid(), list(processes.above())), *others]


def _is_waived() -> bool:
    return os.getpid() in _people


def _named(
    environ: Mapping[str, str], asker: Asker, above: Iterable[Mapping[str, str]]
) -> tuple[set[SessionId], set[str]]:
    """Returns the sessions and the agents that variables tell of, here and in what is above.

    Not for an agent's own program: its hooks have the same as its tools.
    """
    if asker.through is not None:
        return set(), set()
    among = adapters.all_agents()
    own = [] if _is_waived() else [environ]
    known = [*own, *above]
    sessions = {one for each in known for one in adapters.calling_sessions(each, among)}
    agents = {one for each in known for one in adapters.calling_agents(each, among)}
    return sessions, agents


def _is_marked(one: Living, marked: set[str], found: Mapping[Living, None]) -> bool:
    """Tells whether a session may be meant by variables that only name its agent."""
    return one.agent in marked and not any(each.agent == one.agent for each in found)


def _running_of(sessions: Iterable[Living], environ: Mapping[str, str]) -> RunningTurn | None:
    """Returns the turn of the first of some sessions that runs one.

    Only what the agent itself announced ends a turn here. The model itself may have caused a
    transcript to say that the person stopped it.
    """
    for one in sessions:
        known = locations.read_location(one.place)
        if known is None:
            continue
        try:
            with Store.open(known, environ) as store:
                newest = newest_checkpoint(store, one.session)
                if newest is not None and _is_unended(store, newest):
                    return _turn(store, newest).replace(process=one.process)
        except (TakebackError, OSError):  # one unreadable store must not hide the others
            continue
    return None


def _left_of(home: str, environ: Mapping[str, str], named: set[SessionId]) -> RunningTurn | None:
    """Returns the running turn of a session whose agent is gone, and left what asks behind.

    All stores are searched: it may call from anywhere. It counts for as long as an agent whose
    process nobody knows.
    """
    if not named:
        return None
    for location in locations.all_locations(home):
        try:
            with Store.open(location, environ) as store:
                for session in named:
                    newest = newest_checkpoint(store, session)
                    if newest is None or newest.machine != store.machine or newest.below:
                        continue
                    if running.is_recent(newest, time.time()) and _is_unended(store, newest):
                        return _turn(store, newest)
        except (TakebackError, OSError):
            continue
    return None


def _turn(store: Store, newest: Checkpoint) -> RunningTurn:
    background = newest.moment.phase == moments.BACKGROUND
    prompt = _prompt(store, newest)
    return RunningTurn(newest.session, newest.agent or "", prompt, background)


def _is_unended(store: Store, newest: Checkpoint) -> bool:
    """Tells whether a session's newest turn is running or was not closed by its agent.

    Checkpoints not made by an event are skipped: a model may make them too.
    """
    if newest.moment.phase != moments.IDLE:
        return True
    for one in checkpoints_back(store, newest.commit):
        if one.session != newest.session:
            return False
        if one.kind not in (MANUAL, UNDO):
            return one.unfinished and one.kind in (moments.TURN_END, moments.SESSION_END)
    return False


def _prompt(store: Store, newest: Checkpoint) -> str:
    """Returns the prompt of the turn that a session's newest checkpoint is in."""
    for one in checkpoints_back(store, newest.commit):
        if one.session != newest.session or one.turn != newest.turn:
            break
        if one.kind == moments.PROMPT:
            return one.prompt or ""
    return ""


def refuse_final(what: str, asking: Who) -> None:
    """Raises Refused for what cannot be taken back, unless a person asks for it."""
    if not asking.is_person:
        raise Refused(
            f"{what} is not done for a model: {asking.sentence()}",
            hint="it is for the person, at a terminal of their own: nothing was changed",
        )


def refuse_inside(what: str, environ: Mapping[str, str], asker: Asker = ITSELF) -> None:
    """Raises Refused for what cannot be taken back if a living agent is above who asks."""
    refuse_final(what, who(environ, asker))


def refuse_look(asking: Who, location: locations.StoreLocation) -> None:
    """Raises Refused if a model looks into a workspace that none of its session's is."""
    if not asking.works_in(location.directory):
        raise Refused(
            f"{to_text(location.root)} is not looked into for a model of another workspace: "
            f"{asking.sentence()}",
            hint="it is for the person",
        )


def turn_inside(asking: Who, location: locations.StoreLocation) -> RunningTurn | None:
    """Returns what stands against a change that can be taken back: a turn, or another workspace."""
    if asking.turn is not None:
        return asking.turn
    if asking.works_in(location.directory):
        return None
    first = asking.agents[0]
    return RunningTurn(first.session, first.agent, "", process=first.process, is_elsewhere=True)


def may_be_filled(directory: str, root: bytes) -> bool:
    """Tells whether a model may put a copy of its workspace there.

    It must be beside the workspace and named after it (``app`` and ``app-2``): a freely chosen name
    could be one that other programs look for, such as a directory of programs.
    """
    beside, name = os.path.split(os.fsencode(directory))
    parent, own = os.path.split(root)
    return beside == parent and name.startswith(own + b"-")
