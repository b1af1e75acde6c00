"""Callers: who calls takeback, and what is not done for a model from inside its running turn.

A model that calls takeback from its own tool may look, make checkpoints and name them. What
destroys or redirects (a rewind, forgetting, settings, removing a label ...) is for the person.

    agent ── tool's shell ── takeback      the agent's variables, in it or in a process above it;
      └─ its process is known from its     or the agent's own process above it
         events                            and the turn of that session runs: inside

An agent's own program is not inside: it is the person's. Its hooks and its extension are its
children and also act for the person, so there only the variables of the process itself count.

A server answers others: then its client is looked at in the same way, as well as the server itself.
"""

from __future__ import annotations

import os
import time

from takeback import adapters
from takeback.adapters import launcher
from takeback.errors import Command, Refused
from takeback.model.session import ITSELF, Asker
from takeback.ops import peers, processes, running
from takeback.ops.preconditions import called_from
from takeback.paths import takeback_home
from takeback.store.namespace import session_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from socket import socket

    from takeback.model.event import AgentEvent
    from takeback.ops.peers import Connection
    from takeback.ops.running import RunningTurn


def connection(accepted: socket) -> Connection:
    """Returns what names a connection, to be asked later who is at its other end."""
    return peers.connection(accepted)


def asker_of(connected: Connection | None) -> Asker:
    """Returns who is at the other end of a connection; raises Refused if nobody is any more.

    Without a connection it is this process itself that asks.
    """
    if connected is None:
        return ITSELF
    found = peers.peers(connected)
    if found.known and not found.pids:
        raise Refused("the program that asked for this has gone", hint="it was not done: ask again")
    return Asker(processes=found.pids, unseen=not found.known)


def turn_around(environ: Mapping[str, str], asker: Asker = ITSELF) -> RunningTurn | None:
    """Returns the running turn that a call comes from; None if a person called.

    Of several processes that hold one connection, one inside a turn is enough.
    """
    above = () if asker.by_agent else processes.ancestors()
    known = [environ, *(processes.variables(one.pid) for one in above)]
    for pid in asker.processes:
        further = processes.ancestors(pid)
        known += [processes.variables(one) for one in (pid, *(each.pid for each in further))]
        above += further
    among = adapters.all_agents()
    sessions = (session for one in known for session in adapters.calling_sessions(one, among))
    agents = (agent for one in known for agent in adapters.calling_agents(one, among))
    return running.calling_turn(
        takeback_home(environ),
        environ,
        running.Caller(frozenset(sessions), frozenset(agents), above),
        now=time.time(),
    )


def refuse_inside(what: str, environ: Mapping[str, str]) -> None:
    """Raises Refused if a model asks for ``what`` from inside its running turn."""
    refuse_to_model(what, turn_around(environ))


def refuse_to_model(what: str, turn: RunningTurn | None) -> None:
    """Raises Refused if ``what`` is asked for from inside a turn."""
    if turn is not None:
        raise Refused(
            f"{what} is not done for a model: {called_from(turn)}",
            hint="it is for the person: nothing was changed",
        )


def refuse_pretence(event: AgentEvent, environ: Mapping[str, str], process: int = 0) -> None:
    """Raises Refused if a tool reports an event of the session that it was itself started in.

    ``process`` is the one that reports it, with these variables; 0 for this one.

    A connected agent calls the launcher, and for one behind a proxy the proxy speaks, which is
    above it. What comes by ``takeback hook`` from below it is its model's claim: for example that
    the turn is over, after which everything would be allowed.
    """
    above = processes.ancestors(process or None)
    if process and not above:
        raise Refused("who reported an event has gone, and could not be looked at")
    known = [environ, *(processes.variables(one.pid) for one in above)]
    speaking = adapters.find_agent(event.agent)
    among = () if speaking is None else (speaking,)
    sessions = {session for one in known for session in adapters.calling_sessions(one, among)}
    agents = {agent for one in known for agent in adapters.calling_agents(one, among)}
    mine = session_id(event.agent, event.session) in sessions or event.agent in agents
    is_proxied = event.agent.startswith(adapters.PROXIED)
    if mine and (is_proxied or launcher.recorded(takeback_home(environ)) is not None):
        raise Refused(
            f"an event of {event.agent} came from inside its own session, not through its settings",
            hint=("if it is your own setting: ", Command("init")),
        )


def may_be_filled(directory: str, root: bytes) -> bool:
    """Tells whether a model may put a copy of its workspace there.

    It must be beside the workspace and named after it (``app`` and ``app-2``): a freely chosen name
    could be one that other programs look for, such as a directory of programs.
    """
    beside, name = os.path.split(os.fsencode(directory))
    parent, own = os.path.split(root)
    return beside == parent and name.startswith(own + b"-")
