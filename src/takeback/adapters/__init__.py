"""Adapters: what knows one agent. Loaded by name, so that a hook pays only for its own.

The agents that takeback has are in one table here. Others come from packages installed beside it,
by entry points (``third_party.py``), which hooks of agents in the table never look for.
"""

from __future__ import annotations

import sys

from takeback.errors import UsageError
from takeback.model.agent import Agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from takeback.model.ids import SessionId
    from takeback.ports import Adapter, Connection, EntryFinder, MessageReader, Summaries

GENERIC = "generic"
PLUGIN = "plugin"
PROXIED = "acp-"
"""What the name of an agent begins with that is heard through the proxy of an editor."""
OWN_AGENT, OWN_SESSION = "TAKEBACK_AGENT", "TAKEBACK_SESSION_ID"
"""The variables by which a host of its own tells its tools what it is."""


def _own(name: str, **more: Any) -> Agent:
    module = f"takeback.adapters.{name}"
    return Agent(
        name,
        f"{module}:adapter",
        f"{module}.connection:connection",
        **{
            "messages": f"{module}.messages:messages",
            "summaries": f"{module}.summaries:summaries",
            **more,
        },
    )


BUILT_IN = (
    Agent(
        GENERIC,
        "takeback.adapters.generic:adapter",
        has_hooks=True,
        messages="takeback.adapters.generic_messages:messages",
        summaries="takeback.adapters.generic_summaries:summaries",
    ),
    _own(
        "claude",
        session_variable="CLAUDE_CODE_SESSION_ID",
        has_hooks=True,
        project_files=(".claude/settings.json", ".claude/settings.local.json"),
    ),
    _own(
        "codex",
        session_variable="CODEX_THREAD_ID",
        has_hooks=True,
        project_files=(".codex/config.toml", ".codex/hooks.json"),
    ),
    _own(
        "copilot",
        session_variable="COPILOT_AGENT_SESSION_ID",
        has_hooks=True,
        project_files=(".github/copilot/settings.json", ".github/copilot/settings.local.json"),
    ),
    _own(
        "gemini",
        session_variable="GEMINI_SESSION_ID",
        mark_variable="GEMINI_CLI",
        has_hooks=True,
        project_files=(".gemini/settings.json", ".gemini/.env", ".env"),
    ),
    _own(
        "kilo",
        messages="takeback.adapters.opencode.messages:messages",
        project_files=(".env",),
    ),
    _own("opencode", project_files=(".env",)),
    _own(
        "pi",
        session_variable="PI_SESSION_ID",
        entries="takeback.adapters.pi.entries:match_entry",
        project_files=(".pi/settings.json",),
    ),
    _own(
        "qwen",
        session_variable="QWEN_CODE_SESSION_ID",
        has_hooks=True,
        project_files=(".qwen/settings.json", ".qwen/settings.local.json", ".qwen/.env", ".env"),
    ),
)
_BY_NAME = {agent.name: agent for agent in BUILT_IN}


def all_agents() -> tuple[Agent, ...]:
    """Returns all agents, those of other packages last."""
    from takeback.adapters import third_party

    return (*BUILT_IN, *third_party.found().agents.values())


def find_agent(name: str) -> Agent | None:
    """Returns the agent of that name; None if there is none, or if its package is broken."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    from takeback.adapters import third_party

    return third_party.found().agents.get(name)


def agent_named(name: str) -> Agent:
    """Returns the agent of that name; raises UsageError with the known names."""
    agent = find_agent(name)
    if agent is None:
        from takeback.adapters import third_party

        broken = third_party.found().broken.get(name)
        if broken is not None:
            raise UsageError(broken)
        names = ", ".join(one.name for one in all_agents())
        raise UsageError(f"there is no adapter for {name!r}", hint=f"there are: {names}")
    return agent


def adapter_named(name: str) -> Adapter:
    """Returns the adapter of the agent of that name; raises UsageError."""
    return _adapter(agent_named(name))


def _adapter(agent: Agent) -> Adapter:
    if agent.name in _BY_NAME:
        found: Adapter = loaded(agent.adapter)
        return found
    from takeback.adapters.third_party import contained_adapter

    return contained_adapter(agent)


def adapter_speaking(agent: str, payload: Mapping[str, Any]) -> Adapter:
    """Returns the adapter for what a hook was given.

    ``plugin`` is the one plugin that Claude Code and Codex both read: the transcript shows which of
    them is calling.
    """
    if agent != PLUGIN:
        return adapter_named(agent)
    path = str(payload.get("transcript_path") or "")
    return adapter_named("codex" if "/rollout-" in path else "claude")


def adapter_of(agent: str) -> Adapter:
    """Returns the adapter that an agent's events came through: its own, or the generic one."""
    return _adapter(find_agent(agent) or _BY_NAME[GENERIC])


def connection_of(agent: Agent) -> Connection:
    """Returns how an agent is connected; the agent must have a connection."""
    if agent.name in _BY_NAME:
        found: Connection = loaded(agent.connection)
        return found
    from takeback.adapters.third_party import contained_connection

    return contained_connection(agent)


def entry_finder(agent: str) -> EntryFinder | None:
    """Returns what finds the checkpoints at entries of an agent's own tree, if it has one."""
    found = find_agent(agent)
    if found is None or not found.entries:
        return None
    finder: EntryFinder = loaded(found.entries)
    return finder


def message_reader(agent: str) -> MessageReader | None:
    """Returns what reads an agent's conversations, if anything does; the generic one reads many."""
    found = find_agent(agent) or _BY_NAME[GENERIC]
    if not found.messages:
        return None
    if found.name in _BY_NAME:
        reader: MessageReader = loaded(found.messages)
        return reader
    from takeback.adapters.third_party import contained_reader

    return contained_reader(found)


def summaries_of(agent: str) -> Summaries | None:
    """Returns what puts summaries into an agent's conversations, if anything does."""
    found = find_agent(agent) or _BY_NAME[GENERIC]
    if not found.summaries:
        return None
    if found.name in _BY_NAME:
        summaries: Summaries = loaded(found.summaries)
        return summaries
    from takeback.adapters.third_party import contained_summaries

    return contained_summaries(found)


def loaded(reference: str) -> Any:
    """Returns what ``package.module:name`` stands for."""
    module, _, name = reference.partition(":")
    __import__(module)  # importlib would cost a hook 2 ms
    return getattr(sys.modules[module], name)


def calling_agents(environ: Mapping[str, str], among: Sequence[Agent]) -> tuple[str, ...]:
    """Returns the agents that only show that one of their sessions started this process."""
    marked = tuple(a.name for a in among if a.mark_variable and environ.get(a.mark_variable))
    own = environ.get(OWN_AGENT)
    return (*marked, own) if own and not environ.get(OWN_SESSION) else marked


def calling_sessions(environ: Mapping[str, str], among: Sequence[Agent]) -> tuple[SessionId, ...]:
    """Returns the sessions of agents, ``among`` these, that may have started this process.

    An agent tells its tools by an environment variable; a custom host by ``TAKEBACK_SESSION_ID``
    and ``TAKEBACK_AGENT``.
    """
    from takeback.store.namespace import session_id

    own = (environ.get(OWN_AGENT) or GENERIC, OWN_SESSION)
    told = ((agent.name, agent.session_variable) for agent in among)
    return tuple(session_id(name, environ[v]) for name, v in (own, *told) if v and environ.get(v))
