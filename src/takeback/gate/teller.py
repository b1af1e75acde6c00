"""Who tells an event, by the kernel's word: an agent itself, or a tool of its model.

    person's shell ── agent ── [sh -c HOOK] ── hook          the agent itself
    person's shell ── agent ── shell of a tool ── hook       its model, whatever the event says
    person's shell ── agent ── tool ── agent ── hook         a session of its own, below the first
    person's shell ── hook                                   no agent is known

An event is a claim of one session. What a model tells may add to its own session, or be a session
of its own; it ends or begins no turn that is another's, and none of its own agent's.

The agent's process is the nearest above the hook that only passes nothing on: neither a shell nor a
program that starts others. A number in the event counts only if it is one of those in between. It
is never the shell that a person types into, nor anything above that.
"""

from __future__ import annotations

import os
import time

from takeback.adapters import PROXIED
from takeback.errors import Command, Refused
from takeback.gate.living import Living, living, may_be_below, note
from takeback.model import event as events
from takeback.model.checkpoint import Asker, Process
from takeback.model.value import Value
from takeback.paths import takeback_home
from takeback.store.namespace import session_id
from takeback.turns.processes import MANAGERS, Ancestor, above, is_same, seen, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from takeback.model.event import AgentEvent

_SHELLS = frozenset(("ash", "bash", "busybox", "dash", "fish", "ksh", "mksh", "sh", "zsh"))
_STARTERS = frozenset(
    ("direnv", "doas", "env", "nice", "pipx", "poetry", "setsid", "stdbuf", "sudo", "timeout", "uv")
)
"""Programs that start another one and wait for it: they are not the agent."""
_MORE = frozenset("|<>;&`\n")
"""With one of these a shell does more than to run one program."""
_ADDING = (events.TOOL_BEFORE, events.TOOL_AFTER, events.ROUND_END)
"""What a model may say of its own session: none of it begins or ends anything."""


class Above(Value):
    """The processes above one that tells an event, the nearest first, while it is there.

    ``passing`` is how many of the nearest were started only to pass on what it tells, ``pid`` its
    own number.
    """

    processes: tuple[Ancestor, ...] = ()
    passing: int = 0
    pid: int = 0

    @classmethod
    def of(cls, process: int = 0) -> Above:
        """Looks at those above a process, 0 for this one; none if it is gone."""
        line = tuple(above(process or None))
        passing = next((at for at, one in enumerate(line) if not _only_passes_on(one)), len(line))
        return cls(line, passing, process or os.getpid())


class Teller(Value):
    """Who tells an event, in one home.

    ``agent`` is the agent's process, None if nobody knows it. ``by_tool`` says that what is between
    it and this process does more than to tell an event. ``above`` are the agents that are there and
    below which that process was started, the nearest first. ``is_program`` says that a program of
    the person's tells of itself; else ``line`` is all that is above the hook. ``known`` are all
    agents that are there.
    """

    home: str
    agent: Process | None = None
    by_tool: bool = False
    above: tuple[Living, ...] = ()
    is_program: bool = False
    line: Above | None = None
    known: tuple[Living, ...] = ()

    @classmethod
    def of(cls, line: Above, claimed: int | None, environ: Mapping[str, str]) -> Teller:
        """Returns who tells an event; the number that the event itself names is ``claimed``."""
        home, at = takeback_home(environ), _place_of_agent(line.processes, claimed)
        known = tuple(living(home, now=time.time()))
        found = _among(known, (one.process for one in line.processes))
        if at is None:
            return cls(home, above=found, line=line, known=known)
        by_tool = at > line.passing
        return cls(home, line.processes[at].process, by_tool, found, line=line, known=known)

    @classmethod
    def itself(cls, process: int | None, environ: Mapping[str, str]) -> Teller:
        """Returns that this process, a program that uses takeback, tells of an agent of its own."""
        home = takeback_home(environ)
        known = tuple(living(home, now=time.time()))
        found = _among(known, (one.process for one in above()))
        agent = None if process is None else seen(process)
        return cls(home, agent, above=found, is_program=True, known=known)

    @property
    def model(self) -> Living | None:
        """The agent whose model asks in the agent's place; None if it is the agent itself."""
        if self.agent is None or self.by_tool:
            return next(iter(self.above), None)
        others = (one for one in self.above if not _is(one, self.agent))
        return next((one for one in others if not _hosts_others(one)), None)

    @property
    def process(self) -> Process | None:
        """The agent's process, if it is the agent itself that tells."""
        return None if self.by_tool else self.agent

    def asker(self) -> Asker:
        """Returns who asks for what is done for this agent's person."""
        return Asker(through=os.getpid() if self.process is None else self.process.pid)

    def believed(self, event: AgentEvent) -> AgentEvent:
        """Returns an event as it may be believed, with its agent's process; raises Refused."""
        session, process = session_id(event.agent, event.session), self.process
        pid = None if process is None else process.pid
        own = self._own(session)
        if own is not None:
            if event.kind in _ADDING:
                return event.replace(process=None, resume=(), transcript=None)
            raise Refused(
                f"{_NAMES[event.kind]} of {event.agent} was told by a tool of that very session, "
                f"not by {event.agent} itself {_of(own)}",
                hint=("if it is your own setting: ", Command("init")),
            )
        model = self.model
        if model is None:
            self._refuse_of(next(self._others(session, event.agent), None), event)
            return event.replace(process=pid)
        if any(one.session == session and one.below is None for one in self.known):
            self._refuse_of(model, event)
        return event.replace(process=pid, below=model.session, resume=())

    def _own(self, session: str) -> Living | None:
        """Returns the agent of a session of which a tool tells this, or may, unseen; else None."""
        mine = [one for one in self.above if one.session == session]
        if self.line is not None:
            pid, line = self.line.pid, self.line.processes
            mine += [
                one
                for one in self.known
                if one.session == session and one.below is None and _is_told(one)
                if may_be_below(one, pid, line)
            ]
        process = self.process
        if process is not None and any(_is(one, process) for one in mine):
            return None
        return next(iter(mine), None)

    def _others(self, session: str, agent: str) -> Iterator[Living]:
        """Yields what else this process is, if another agent that is there has the session."""
        if self.process is None or self.is_program:
            return
        mine = [one for one in self.known if _is(one, self.process)]
        theirs = (one for one in self.known if one.below is None and one not in mine)
        if all(one.agent != agent for one in mine) and any(o.session == session for o in theirs):
            yield from mine

    def _refuse_of(self, who: Living | None, event: AgentEvent) -> None:
        """Raises Refused for an event of a session that is somebody else's."""
        if who is not None:
            raise Refused(
                f"{_NAMES[event.kind]} of {event.agent} was told by a tool of {who.agent}, whose "
                f"session it is not {_of(who)}"
            )

    def refuse_model(self) -> None:
        """Raises Refused if it is not the agent itself that asks."""
        model = self.model
        if model is not None:
            raise Refused(
                f"this was asked for by a tool of {model.agent}, not by its extension {_of(model)}",
                hint="it is for the person: nothing was changed",
            )

    def note(self, event: AgentEvent, place: str) -> None:
        """Notes that the agent is there, with a session that it has told of, in one store."""
        session, model = session_id(event.agent, event.session), self.model
        if (self.process is None and model is not None) or self._own(session) is not None:
            return
        below = None if model is None else model.process
        one = Living(session, event.agent, place, self.process, below, self.is_program)
        note(self.home, one, now=time.time())


def _among(known: Sequence[Living], line: Iterable[Process]) -> tuple[Living, ...]:
    """Returns the agents that are there among some processes, in their order."""
    return tuple(each for one in line for each in known if _is(each, one)) if known else ()


def _is_told(one: Living) -> bool:
    """Tells whether the system says which process an agent is, and not only its number."""
    return one.process is not None and one.process.started is not None


def _is(one: Living, process: Process) -> bool:
    return one.process is not None and is_same(one.process, process)


def _place_of_agent(line: Sequence[Ancestor], claimed: int | None) -> int | None:
    """Returns which of the processes above is the agent, or what the event says it is."""
    nearest = None
    for at, one in enumerate(line):
        if one.process.pid == 1 or one.name in MANAGERS or one.is_of_a_person:
            break
        if one.process.pid == claimed:
            return at
        if nearest is None and one.name not in _SHELLS and one.name not in _STARTERS:
            nearest = at
    return nearest


def _only_passes_on(one: Ancestor) -> bool:
    """Tells whether a process between an agent and its hook was started for that alone."""
    if one.name not in _SHELLS and one.name not in _STARTERS:
        return False
    said = words(one.process.pid)
    if one.name in _SHELLS:
        line = said[-1] if len(said) > 2 else ""
        return "hook" in line and "$(" not in line and not _MORE.intersection(line)
    return any(word == "hook" or word.endswith("/hook") for word in said)


def _hosts_others(one: Living) -> bool:
    """Tells whether agents that a program starts are the person's: it has no model, or none else.

    An editor's proxy tells of the agent below it, and so may that agent itself.
    """
    return one.is_program or one.agent.startswith(PROXIED)


def _of(one: Living) -> str:
    pid = "unknown" if one.process is None else one.process.pid
    return f"(session {one.session}, process {pid})"


_NAMES = {
    events.PROMPT: "a prompt",
    events.TURN_END: "the end of a turn",
    events.INTERRUPTED: "an interruption",
    events.SESSION_START: "the start of a session",
    events.SESSION_END: "the end of a session",
    events.BEFORE_FORK: "a fork",
    events.FORKED: "a fork",
    events.BEFORE_TREE: "a step in the tree",
    events.TREE: "a step in the tree",
    events.COMPACT: "a summary",
    events.ROUND_END: "the end of a round",
    events.TOOL_BEFORE: "a tool's beginning",
    events.TOOL_AFTER: "a tool's end",
}
