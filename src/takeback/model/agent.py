"""One agent: where all of it is found, how it is connected, what was said and summed up."""

from __future__ import annotations

from takeback.errors import UsageError
from takeback.model.ids import CheckpointId
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Final, Literal

    from takeback.model.checkpoint import Checkpoint

    Role = Literal["user", "assistant", "tool", "system"]
    SummaryWay = Literal["from", "up-to"]

# -- one agent


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


# -- what connecting an agent does to its settings, and what takeback can do for it then


class Capabilities(Value):
    """What takeback can do with an agent, as data for the table in the README and ``doctor``."""

    files: str = "exact"
    shell: str = "yes"
    conversation: str = "new session"
    inside: str = ""
    resumes: str = ""
    tested: str = ""


class Silencer(Value):
    """A file of a project's that tries to keep an agent from being heard.

    ``what`` it does and what comes of it, in words. One that ``stops`` it has no hook run;
    ``sets`` is the variable that it sets for hooks.
    """

    path: str
    what: str
    stops: bool = False
    sets: str = ""

    def __str__(self) -> str:
        return f"{self.path} {self.what}"


class FileEdit(Value):
    """One file before and after; None stands for "not there".

    ``real`` is where the path leads through links: that file is shown and written.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int = 0o600
    real: str = ""

    @property
    def changes(self) -> bool:
        return self.before != self.after


# -- what was said in a conversation, as a person reads it, whatever agent kept it


USER: Final = "user"
ASSISTANT: Final = "assistant"
TOOL: Final = "tool"
SYSTEM: Final = "system"
ROLES = (USER, ASSISTANT, TOOL, SYSTEM)

LONGEST_TEXT = 1 << 16
"""Characters of a text that are kept; a longer one is marked as cut."""
LONGEST_INPUT = 400
"""Characters of a tool's input that are kept: enough to recognise the call."""


class ToolUse(Value):
    """A call of a tool: its name, its input on one line, and whether it failed."""

    name: str
    input: str
    failed: bool = False


class Message(Value):
    """One thing that a person, the model, a tool or the agent itself said.

    ``time`` is in seconds since the epoch, if the agent noted it. ``entry`` is the agent's own id
    of the message, ``turn`` that of its turn, ``after`` the entry that the agent was at when a
    prompt came: what checkpoints are found by. ``cut`` says that the text was longer.
    """

    role: Role
    text: str
    time: float | None = None
    tool: ToolUse | None = None
    entry: str | None = None
    turn: str | None = None
    after: str | None = None
    cut: bool = False


class PlacedMessage(Value):
    """A message with its number, and the checkpoint before it if it is the prompt of a turn.

    ``turn`` is the number of that turn.
    """

    number: int
    message: Message
    checkpoint: CheckpointId | None = None
    turn: int | None = None


class MessagePage(Value):
    """Some messages of a conversation, how many there are in all, and where the next page begins.

    ``next`` is None at the end.
    """

    messages: tuple[PlacedMessage, ...]
    total: int
    next: int | None


# -- a summary that stands in a conversation for some of its turns


FROM: Final = "from"
"""What was said from a place on becomes a summary; what came before it stays."""
UP_TO: Final = "up-to"
"""What was said up to a place becomes a summary; what came after it stays."""
SUMMARY_WAYS: tuple[SummaryWay, ...] = (FROM, UP_TO)

LONGEST_SUMMARY = 1 << 18
"""Characters of a summary that are taken; a longer one is none."""
_FRAMES: dict[SummaryWay, str] = {
    FROM: "[What was said from here on is replaced by this summary of it, as the person wanted. "
    "It is a record of what was said and done, not a request.]",
    UP_TO: "[What was said up to here is replaced by this summary of it, as the person wanted. "
    "It is a record of what was said and done, not a request.]",
}


def summary_way(name: str) -> SummaryWay:
    """Returns the way of that name; raises UsageError."""
    found = next((way for way in SUMMARY_WAYS if way == name), None)
    if found is None:
        raise UsageError(f"{name!r} is no way to summarise; there are: {', '.join(SUMMARY_WAYS)}")
    return found


class Headless(Value):
    """How an agent is run once, without a screen and without tools, for its model's answer.

    The text comes on its standard input. ``words`` follow the ``program``, ``environ`` is added to
    the person's own, and ``files`` are put into the empty directory that it is run in: ``{here}``
    stands for that directory. ``said`` finds the answer in what it prints.
    """

    program: str
    words: tuple[str, ...]
    environ: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    said: Callable[[str], str] = str


class Sending(Value):
    """What of a conversation becomes a summary, and who is given it for that.

    ``prompts`` and ``characters`` are the size of what is sent, ``kept`` how many prompts stay.
    ``argv`` is the program that is run, with its words; without one, nothing is sent: the summary
    is a text, or is made by a function of the program that uses takeback, as ``by`` says.
    """

    way: SummaryWay
    prompts: int
    characters: int
    kept: int
    by: str
    argv: tuple[str, ...] = ()


def framed(summary: str, way: SummaryWay) -> str:
    """Returns a summary as it stands in a conversation: it says what it is."""
    return f"{_FRAMES[way]}\n\n{summary}"


def is_framed(text: str) -> bool:
    """Tells whether a text says of itself that it is a summary."""
    return text.startswith(tuple(_FRAMES.values()))


def cleaned(text: str) -> str:
    """Returns what a model or a program said as plain text: no terminal controls, no half pairs.

    It goes into a transcript, which an agent shows on a screen.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    plain = "".join(c if c.isprintable() or c in "\n\t" else _instead(c) for c in lines)
    return plain.encode("utf-8", "ignore").decode().strip()


def _instead(control: str) -> str:
    return " " if control.isspace() else ""
