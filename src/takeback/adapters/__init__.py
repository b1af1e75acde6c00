"""Adapters: what knows one agent. Imported by name, so that a hook pays for its own only."""

from __future__ import annotations

import sys

from takeback.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from takeback.model.ids import SessionId
    from takeback.ports import Adapter

GENERIC = "generic"
PLUGIN = "plugin"
CONNECTED = ("claude", "codex", "gemini", "opencode", "pi")
"""Agents whose settings `takeback init` writes: they speak through the launcher."""
ADAPTERS = (GENERIC, *CONNECTED)
"""Each is a module of this package that has a name ``adapter``."""


def adapter_named(agent: str) -> Adapter:
    """Returns the adapter of that name; raises UsageError with the names that there are."""
    if agent not in ADAPTERS:
        raise UsageError(
            f"there is no adapter for {agent!r}", hint=f"there are: {', '.join(ADAPTERS)}"
        )
    name = f"takeback.adapters.{agent}"
    __import__(name)  # importlib would cost a hook 2 ms
    adapter: Adapter = sys.modules[name].adapter
    return adapter


def adapter_speaking(agent: str, payload: Mapping[str, Any]) -> Adapter:
    """Returns the adapter for what a hook was given.

    ``plugin`` is the one plugin that Claude Code and Codex both read: which of them speaks is
    seen from its transcript.
    """
    if agent != PLUGIN:
        return adapter_named(agent)
    path = str(payload.get("transcript_path") or "")
    return adapter_named("codex" if "/rollout-" in path else "claude")


def adapter_of(agent: str) -> Adapter:
    """Returns the adapter that an agent's events came through: its own, or the generic one."""
    return adapter_named(agent if agent in ADAPTERS else GENERIC)


_VARIABLES = (
    ("claude", "CLAUDE_CODE_SESSION_ID"),
    ("codex", "CODEX_THREAD_ID"),
    ("gemini", "GEMINI_SESSION_ID"),
    ("pi", "PI_SESSION_ID"),
)


_MARKS = (("gemini", "GEMINI_CLI"),)
"""Agents whose tools see that they are below one, and not which session it is."""


def calling_agents(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the agents that say no more than that one of them has started this process."""
    return tuple(agent for agent, name in _MARKS if environ.get(name))


def calling_sessions(environ: Mapping[str, str]) -> tuple[SessionId, ...]:
    """Returns the sessions whose agents may have started this process.

    An agent tells it to its tools by an environment variable; a host of its own by
    ``TAKEBACK_SESSION_ID`` and ``TAKEBACK_AGENT``.
    """
    from takeback.store.namespace import session_id

    own = (environ.get("TAKEBACK_AGENT") or GENERIC, "TAKEBACK_SESSION_ID")
    return tuple(
        session_id(agent, environ[name]) for agent, name in (own, *_VARIABLES) if environ.get(name)
    )
