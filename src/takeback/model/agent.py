"""One agent: where everything about it is found."""

from __future__ import annotations

from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint


class Agent(Value):
    """Everything that takeback has for one agent; none of it is loaded before it is needed.

    ``adapter``, ``connection``, ``entries``, ``messages`` and ``summaries`` are written
    ``package.module:name``; what they name implements ``ports.Adapter``, ``ports.Connection``,
    ``ports.EntryFinder``, ``ports.MessageReader`` and ``ports.Summaries``. Without a connection
    ``takeback init`` leaves the agent alone; without ``entries`` it has no tree of its own; without
    ``messages`` only the prompts of a conversation are shown; without ``summaries``, or without
    ``messages``, none of its turns become a summary. ``session_variable`` tells the agent's tools
    which session they were started in, ``mark_variable`` only that it was one of this agent's.
    ``has_hooks`` says that its events come by hooks, so the standby has its adapter loaded.
    ``project_files`` are those in a project by which a project can keep the agent from being heard
    (``adapters.silencing``).
    """

    name: str
    adapter: str
    connection: str = ""
    entries: str = ""
    session_variable: str = ""
    mark_variable: str = ""
    has_hooks: bool = False
    messages: str = ""
    summaries: str = ""
    project_files: tuple[str, ...] = ()


class EntryMatch(Value):
    """The checkpoint at an entry of an agent's own tree, and the nearest one at it or before it."""

    exact: Checkpoint | None
    nearest: Checkpoint | None
