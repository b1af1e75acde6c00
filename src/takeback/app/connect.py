"""Connects agents to takeback, disconnects them, and finds those that work here unheard."""

from __future__ import annotations

import os
import sys
import time

from takeback import adapters, rooms
from takeback.adapters import connecting, launcher, message_reader, third_party
from takeback.adapters.contained import ContainedConnection
from takeback.adapters.silencing import silencers
from takeback.check.finding import BROKEN, FIX, OFFER, Finding
from takeback.errors import Command, GitUnusable, NotAWorkspace, Refused, TakebackError, UsageError
from takeback.git.process import find_git
from takeback.model.agent import ASSISTANT, TOOL, USER
from takeback.model.checkpoint import TranscriptPart
from takeback.model.naming import ago
from takeback.model.value import Value
from takeback.paths import config_file, takeback_home, user_home
from takeback.store.location import is_known, workspace_around
from takeback.worktree.workspace import find_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from takeback.model.agent import FileEdit, Silencer
    from takeback.ports import Connection


# -- silence: agents that worked here unheard, or are about to, and the file that did it
#
# ``status``, ``log``, the picker, the page and ``doctor`` all say what is found here. A transcript
# tells it at once: the model has said something after the last event, and no turn is under way that
# could have its rounds; or a prompt came after that event, which none announced.


_TAIL = 1 << 18
_TICK = 1.0
"""Seconds that what was said may be newer than the event after it: clocks are read one by one."""
_ANNOUNCED = 20.0
"""Seconds by which a prompt is written after its event: a hook may take so long."""
_LAST_WORDS = 60.0
"""Seconds by which a transcript whose words have no time may be newer than the last event."""
_NO_PROMPTS = ("/", "!")
"""How what a person types begins that may be no prompt: a command, of which no event tells."""


def unheard_since(
    agent: str,
    transcripts: Iterable[tuple[str, float]],
    *,
    heard: float,
    connected: float,
    working: bool,
) -> float | None:
    """Returns when an agent said something that no event told of; None if it is not known to have.

    ``heard`` is when it was last heard, 0 for never, ``connected`` since when it would be, and
    ``working`` whether a turn of its has not ended.
    """
    after = max(heard, connected)
    unheard_after = max(heard + _TICK if heard else 0.0, connected)
    silent_after = max(heard + _LAST_WORDS if heard else 0.0, connected)
    found = []
    for path, written in transcripts:
        if written > after:
            prompted_after = after + _ANNOUNCED if working else 0.0
            timed, last = _last_said(agent, path, unheard_after, prompted_after)
            found += [last] if last else [written] if not timed and written > silent_after else []
    return max(found, default=None)


def _last_said(
    agent: str, path: str, after: float, prompted_after: float
) -> tuple[bool, float | None]:
    """Returns whether the end of a transcript says when, and when something unheard was said.

    That is what follows ``after``, and a prompt of after ``prompted_after`` if that is not 0.
    """
    reader = message_reader(agent)
    tail = rooms.said.read_tail(TranscriptPart(path, 0), _TAIL) if reader is not None else None
    if len(tail or b"") == _TAIL:
        tail = (tail or b"").partition(b"\n")[2]
    timed, asked, last = False, not prompted_after, None
    for message in reader(tail or b"") if reader is not None else ():
        if message.time is None:
            continue
        timed = True
        if message.role == USER and message.time > prompted_after:
            asked = asked or not message.text.startswith(_NO_PROMPTS)
        elif message.role in (ASSISTANT, TOOL) and message.time > after and asked:
            last = message.time
    return timed, last


def findings(state: AgentState, now: float | None = None) -> list[Finding]:
    """Returns what keeps an agent from being heard here; nothing if all is well.

    What only was tried is said too, of an agent that is connected or was heard here.
    """
    stops = [str(one) for one in state.silencers if one.stops]
    tried = [str(one) for one in state.silencers if not one.stops]
    if state.hindrance is not None:
        return [_finding(state, state.hindrance, "mend the file, then start it anew")]
    if state.missed_since is not None:
        when = ago(state.missed_since, time.time() if now is None else now)
        worked = f"{state.title} worked here ({when}) without takeback"
        if not state.connected:
            hint = Command("init", state.agent)
            return [Finding(state.title, OFFER, f"{worked}: it is not connected", (hint,))]
        if stops:
            return [_finding(state, f"{worked}: {one}", _TAKE_OUT) for one in stops]
        why = "its hooks are not trusted, or its settings were written anew"
        return [_finding(state, f"{worked}: {why}", state.advice)]
    if not state.connected and state.last_event is None:
        return []
    return [_finding(state, one, _TAKE_OUT) for one in (*stops, *tried)]


_TAKE_OUT = "take that out of it, unless you put it there"


def _finding(state: AgentState, message: str, hint: str) -> Finding:
    return Finding(state.title, BROKEN, message, hint)


# -- connects agents to takeback, and disconnects them; their settings belong to the person


class Connecting(Value):
    """What connecting or disconnecting an agent would do to its settings.

    ``here`` is the project that it is for, None for all projects.
    """

    connection: Connection
    edits: tuple[FileEdit, ...]
    here: str | None = None

    @property
    def changes(self) -> bool:
        return any(edit.changes for edit in self.edits)


def connections() -> list[Connection]:
    """Returns the connection of each agent that has one."""
    return [adapters.connection_of(agent) for agent in adapters.all_agents() if agent.connection]


def connection_named(agent: str) -> Connection:
    """Returns how an agent is connected; raises UsageError with the known names."""
    for connection in connections():
        if connection.name == agent:
            return connection
    broken = third_party.found().broken.get(agent)
    if broken is not None:
        raise UsageError(broken)
    names = ", ".join(connection.name for connection in connections())
    raise UsageError(f"there is no agent {agent!r}", hint=f"there are: {names}")


def agents_here(environ: Mapping[str, str]) -> list[Connection]:
    """Returns the agents that are installed on this machine."""
    return [connection for connection in connections() if connection.is_there(environ)]


def plan_connecting(
    agents: Sequence[str], environ: Mapping[str, str], *, here: str | None = None
) -> list[Connecting]:
    """Works out what connecting would change, for the agents named or found; writes nothing."""
    home = takeback_home(environ)

    def plan(connection: Connection) -> Connecting:
        edits = connection.connect(environ, home, here)
        return Connecting(connection, connecting.located(edits, here), here)

    return _planned(agents, agents_here(environ) if not agents else [], plan)


def _planned(
    named: Sequence[str], found: Sequence[Connection], plan: Callable[[Connection], Connecting]
) -> list[Connecting]:
    """Plans the agents that were named, or else those found.

    One of another package that fails is skipped unless it was named: ``status`` reports it.
    """
    planned = [plan(connection_named(agent)) for agent in named]
    for connection in found:
        try:
            planned.append(plan(connection))
        except Refused:
            if not isinstance(connection, ContainedConnection):
                raise
    return planned


def connect(planned: Sequence[Connecting], environ: Mapping[str, str]) -> None:
    """Writes the launcher and then the settings that name it."""
    home = takeback_home(environ)
    if planned:
        git, settings = _git_for_hooks(environ), config_file(environ)
        launcher.write_launcher(home, git=git, settings=settings)
    for one in planned:
        without = one.connection.disconnect(environ, home, one.here)
        connecting.apply(one.edits, without, home, one.connection.name, one.here)


def project_environment(environ: Mapping[str, str], start: str) -> str | None:
    """Returns the workspace that this takeback itself is installed in; None if there is none.

    An agent that works there could change what every agent's hooks run. ``start`` is the
    directory of the call, whose workspace counts before it has a store.
    """
    here = os.fsencode(_root_around(start, environ) or "")
    places = (sys.prefix, launcher.package_directory())
    return workspace_around(takeback_home(environ), places, here)


def check_environment(environ: Mapping[str, str], start: str) -> None:
    """Raises Refused if hooks would run what a project's own agents can change."""
    folder = project_environment(environ, start)
    if folder is not None:
        raise Refused(
            f"this takeback is installed inside the project {folder}: "
            "an agent that works there could change what all hooks run",
            hint=("install it for yourself: uv tool install takeback; then run: ", Command("init")),
        )


def _git_for_hooks(environ: Mapping[str, str]) -> str | None:
    home = takeback_home(environ)
    try:
        return find_git(environ, is_workspace=lambda path: is_known(home, os.fsencode(path)))
    except GitUnusable:
        return None  # each store checks again, and says what is missing


def plan_disconnecting(
    agents: Sequence[str], environ: Mapping[str, str], *, here: str | None = None
) -> list[Connecting]:
    """Works out how to restore the settings; writes nothing.

    Without ``here`` it covers all of them, including those of single projects.
    """
    home = takeback_home(environ)

    def plan(connection: Connection) -> Connecting:
        kept = connecting.remembered(home, connection.name)
        places = (
            [here]
            if here is not None
            else [None, *sorted({k.here for k in kept.values() if k.here})]
        )
        edits = {e.path: e for place in places for e in connection.disconnect(environ, home, place)}
        exact = connecting.take_back(list(edits.values()), home, connection.name)
        return Connecting(connection, connecting.located(exact, None), here)

    return _planned(agents, connections() if not agents else [], plan)


def disconnect(planned: Sequence[Connecting], environ: Mapping[str, str]) -> None:
    """Removes our entries from the settings; every checkpoint stays.

    Once no agent is connected any more, the launcher does nothing.
    """
    home = takeback_home(environ)
    for one in planned:
        connecting.withdraw(one.edits, home, one.connection.name)
    if not any(_calls_launcher(connection, environ, home) for connection in connections()):
        launcher.retire_launcher(home)


def _calls_launcher(connection: Connection, environ: Mapping[str, str], home: str) -> bool:
    if connecting.remembered(home, connection.name):
        return True
    return connection.is_connected(environ, home, None)


class AgentState(Value):
    """Whether an agent is connected here, and whether it worked without us.

    ``hindrance`` is why it does not run the hooks in its settings, ``silencers`` what the project's
    own files say; ``advice`` what the person still has to do, if its hooks do not run. ``tested``
    is the version of its ``program`` that was.
    """

    agent: str
    title: str
    connected: bool
    last_event: float | None
    missed_since: float | None
    hindrance: str | None = None
    advice: str = ""
    program: str = ""
    tested: str = ""
    silencers: tuple[Silencer, ...] = ()

    @property
    def is_heard(self) -> bool:
        """Whether nothing is known that keeps its events from takeback."""
        stopped = any(one.stops for one in self.silencers)
        return self.connected and not stopped and self.hindrance is None


def agent_states(
    environ: Mapping[str, str],
    root: str,
    last_events: Mapping[str, float],
    *,
    within: Iterable[str] = (),
    working: frozenset[str] = frozenset(),
) -> list[AgentState]:
    """Returns the state of every agent that is installed, or that was active in this workspace.

    ``missed_since`` is when an agent said something here that no event told of. What it did before
    it was connected does not count. ``within`` are the directories of the workspace that agents
    worked in, ``working`` those of which a turn has not ended.
    """
    home = takeback_home(environ)
    places = tuple(dict.fromkeys((root, *within)))
    states = []
    for agent in adapters.all_agents():
        if not agent.connection:
            continue
        connection = adapters.connection_of(agent)
        last = last_events.get(connection.name)
        if last is None and not connection.is_there(environ):
            continue
        where = [here for here in (None, root) if _is_connected(connection, environ, home, here)]
        since = connecting.connected_at(home, connection.name) if where else 0.0
        missed = unheard_since(
            connection.name,
            (one for place in places for one in connection.transcripts(environ, place)),
            heard=last or 0.0,
            connected=since,
            working=connection.name in working,
        )
        hindered = [connection.hindrance(environ, here) for here in where]
        states.append(
            AgentState(
                connection.name,
                connection.title,
                bool(where),
                last,
                missed,
                hindered[0] if hindered and None not in hindered else None,
                connection.advice(),
                connection.program,
                connection.capabilities.tested,
                silencers(agent, places, home),
            )
        )
    return [*states, *_unusable()]


def connected_agent(program: str, environ: Mapping[str, str], directory: str) -> str | None:
    """Returns the agent that a program is, if its own hooks call takeback in a directory."""
    home = takeback_home(environ)
    for connection in connections():
        if connection.program == program:
            root = _root_around(directory, environ)
            if any(_is_connected(connection, environ, home, here) for here in (None, root)):
                return connection.name
    return None


def _root_around(directory: str, environ: Mapping[str, str]) -> str | None:
    """Returns the root of the workspace that a directory is in; None if there can be none."""
    home = takeback_home(environ)
    try:
        found = find_root(
            os.fsencode(directory),
            has_store=lambda path: is_known(home, path),
            home=user_home(environ),
        )
    except NotAWorkspace:
        return None
    return os.fsdecode(found)


def stale_hooks(home: str) -> list[Finding]:
    """Says that hooks are set up and lead nowhere; a few small files are read."""
    if not launcher.is_stale(home):
        return []
    path = launcher.launcher_path(home)
    message = f"agents' events are not recorded: {path} leads to no takeback"
    return [Finding("hooks", BROKEN, message, FIX)]


def _unusable() -> list[AgentState]:
    """Returns the agents of other packages that cannot be used, each with the reason."""
    found = third_party.found().broken
    return [AgentState(name, name, False, None, None, why) for name, why in sorted(found.items())]


def _is_connected(
    connection: Connection, environ: Mapping[str, str], home: str, here: str | None
) -> bool:
    try:
        return connection.is_connected(environ, home, here)
    except TakebackError:  # unreadable settings connect nothing
        return False
