"""What an agent reports, in words that are the same for every agent.

An adapter turns what its agent says into one ``AgentEvent``; nothing above the adapter knows
which agent it was. The ids are the agent's own, so that no place in a conversation is ever
found by counting.
"""

from __future__ import annotations

from takeback.model.ids import digest
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final, Literal

    from takeback.model.ids import CheckpointId

    EventKind = Literal[
        "session_start",
        "prompt",
        "tool_before",
        "tool_after",
        "round_end",
        "turn_end",
        "interrupted",
        "compact",
        "before_fork",
        "forked",
        "before_tree",
        "tree",
        "session_end",
    ]
    ToolKind = Literal["edit", "shell", "subagent", "read", "other"]

SESSION_START: Final = "session_start"
PROMPT: Final = "prompt"
TOOL_BEFORE: Final = "tool_before"
TOOL_AFTER: Final = "tool_after"
ROUND_END: Final = "round_end"
TURN_END: Final = "turn_end"
INTERRUPTED: Final = "interrupted"
COMPACT: Final = "compact"
BEFORE_FORK: Final = "before_fork"
FORKED: Final = "forked"
BEFORE_TREE: Final = "before_tree"
TREE: Final = "tree"
SESSION_END: Final = "session_end"

EVENTS = (
    SESSION_START,
    PROMPT,
    TOOL_BEFORE,
    TOOL_AFTER,
    ROUND_END,
    TURN_END,
    INTERRUPTED,
    COMPACT,
    BEFORE_FORK,
    FORKED,
    BEFORE_TREE,
    TREE,
    SESSION_END,
)

BY_PERSON: Final = "by the person"
"""The reason of an interruption that a person wanted, with Esc."""

EDIT: Final = "edit"
SHELL: Final = "shell"
SUBAGENT: Final = "subagent"
READ: Final = "read"
OTHER: Final = "other"
TOOL_KINDS = (EDIT, SHELL, SUBAGENT, READ, OTHER)


class ToolCall(Value):
    """One use of a tool: what the agent calls it, what kind of thing it does, files it names.

    ``paths`` are as the agent gave them, absolute or relative to the event's directory. Of a shell
    ``command`` is what was run and ``status`` its exit status, if the agent says so. ``call`` is
    the agent's id of the call, if its transcript tells how the command ended.
    """

    name: str
    kind: ToolKind = OTHER
    paths: tuple[str, ...] = ()
    command: str | None = None
    status: int | None = None
    call: str | None = None


class RanTests(Value):
    """A test command that an agent ran on the files of a checkpoint, and its exit status.

    ``checkpoint`` is an earlier one whose files they were; None for the one that says so.
    """

    command: str
    status: int
    checkpoint: CheckpointId | None = None

    @property
    def passed(self) -> bool:
        return self.status == 0


class AwaitedTests(Value):
    """Tests that an agent ran, and has not yet written how they ended; see ``RanTests``."""

    command: str
    call: str
    checkpoint: CheckpointId | None = None


class AgentEvent(Value):
    """One thing that happened in a session of an agent.

    ``session`` and ``turn`` are the agent's own ids; ``turn`` is None if it gives none.
    ``directory`` is the project directory. ``transcript`` is the file that holds the conversation,
    ``messages`` the conversation itself if the host has no file. ``leaf`` is the entry of the
    transcript that the agent is at, if it says so. ``human`` is False for a prompt that nobody
    typed, ``steer`` True for one that the agent says was typed into a running turn. ``background``
    says that work continues after this end, ``continues`` that this end follows another end of the
    same turn. ``reason`` is the agent's word for why. ``parent`` is the session that this one
    descends from, and ``entry`` the id of the turn or entry that a fork or a navigation goes to.
    ``process`` is the agent's process, and ``below`` the session of the agent that started it, or
    whose model tells the event.
    """

    kind: EventKind
    agent: str
    session: str
    directory: str
    transcript: str | None = None
    messages: bytes | None = None
    turn: str | None = None
    prompt: str | None = None
    human: bool = True
    steer: bool = False
    leaf: str | None = None
    tools: tuple[ToolCall, ...] = ()
    subagent: str | None = None
    background: bool = False
    continues: bool = False
    reason: str | None = None
    parent: str | None = None
    entry: str | None = None
    process: int | None = None
    resume: tuple[str, ...] = ()
    below: str | None = None


def cleaned(event: AgentEvent) -> AgentEvent:
    """Returns an event whose texts can be written: half a character becomes a question mark.

    An id also gets a hash of its original text, so that no two become equal. A host that cuts a
    string in the middle of an emoji sends such halves, and JSON allows them. Escaped bytes (U+DC80
    to U+DCFF) are something else and stay.
    """
    changes: dict[str, Any] = {}
    for name in _PLAIN:
        value = getattr(event, name)
        if isinstance(value, str) and _clean(value) != value:
            changes[name] = _clean_id(value) if name in _IDS else _clean(value)
    tools = tuple(_clean_tool(tool) for tool in event.tools)
    resume = tuple(_clean(word) for word in event.resume)
    if changes or tools != event.tools or resume != event.resume:
        return event.replace(**changes, tools=tools, resume=resume)
    return event


def _clean_tool(tool: ToolCall) -> ToolCall:
    command = None if tool.command is None else _clean(tool.command)
    paths = tuple(_clean(path) for path in tool.paths)
    return tool.replace(name=_clean(tool.name), paths=paths, command=command)


def _clean_id(text: str) -> str:
    """Returns an id that can be written; two that differ only in halves stay different."""
    return f"{_clean(text)}+{digest(text)}"


def _clean(text: str) -> str:
    if text.isascii():
        return text
    return "".join(
        "?" if 0xD800 <= ord(c) <= 0xDFFF and not 0xDC80 <= ord(c) <= 0xDCFF else c for c in text
    )


def encode(event: AgentEvent) -> dict[str, Any]:
    """Returns an event as JSON takes it; ``decode`` reads it back, but for the ids of calls.

    Nobody asks how the tests of an event that waited ended: they ran on other files.
    """
    record: dict[str, Any] = {
        "tools": [[tool.name, tool.kind, *tool.paths] for tool in event.tools],
        "messages": None if event.messages is None else event.messages.decode("latin-1"),
        "resume": list(event.resume),
    }
    for name in _PLAIN:
        record[name] = getattr(event, name)
    if event.below is not None:
        record["below"] = event.below
    ran = [[tool.command, tool.status] for tool in event.tools]
    return {**record, "ran": ran} if ran != [[None, None]] * len(ran) else record


def decode(record: Mapping[str, Any]) -> AgentEvent:
    """Returns the event that ``encode`` made a record of; raises ValueError for anything else."""
    try:
        if record["kind"] not in EVENTS:
            raise ValueError(f"not an event: there is none called {record['kind']!r}")
        messages = record["messages"]
        tools = [ToolCall(n, kind, tuple(paths)) for n, kind, *paths in record["tools"]]
        ran = record.get("ran") or [(None, None)] * len(tools)
        return AgentEvent(
            tools=tuple(
                tool.replace(command=command, status=status)
                for tool, (command, status) in zip(tools, ran, strict=True)
            ),
            messages=None if messages is None else messages.encode("latin-1"),
            resume=tuple(record["resume"]),
            below=record.get("below"),
            **{name: record[name] for name in _PLAIN},
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not an event: {error}") from None


_IDS = ("agent", "session", "turn", "leaf", "parent", "entry")
_PLAIN = (
    "kind",
    "agent",
    "session",
    "directory",
    "transcript",
    "turn",
    "prompt",
    "human",
    "steer",
    "leaf",
    "subagent",
    "background",
    "continues",
    "reason",
    "parent",
    "entry",
    "process",
)
