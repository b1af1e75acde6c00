"""Sessions and turns as people read them: rows, news, reviews, made from checkpoints."""

from __future__ import annotations

from takeback.model.checkpoint import Change, Checkpoint, CountedChange
from takeback.model.ids import CheckpointId, SessionId
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, Literal

    Gone = Literal["taken back", "left"]
    TurnState = Literal["running", "background", "ended", "unfinished"]
    TurnKind = Literal["prompt", "shell"]

# -- sessions and turns as people read them, made from checkpoints


OUTSIDE: Final = "outside"
TOOL: Final = "tool"
SHELL: Final = "shell"
SUBAGENT: Final = "subagent"
UNFINISHED: Final = "unfinished turn"
UNKNOWN: Final = "unknown"
INTERRUPTED: Final = "interrupted operation"
OWN_REWIND: Final = "its own rewind"

RUNNING: Final = "running"
BACKGROUND: Final = "background"
ENDED: Final = "ended"
LEFT_UNFINISHED: Final = "unfinished"

PROMPTED: Final = "prompt"
COMMAND: Final = "shell"


class Session(Value):
    """One conversation of one agent in one workspace.

    ``parent`` and ``origin`` say which checkpoint of which session it descends from, ``root`` in
    which workspace if that is another one. ``last_event`` is when its agent last sent an event;
    ``last`` also counts what takeback did with it.
    """

    id: SessionId
    agent: str | None
    native: str | None
    directory: str | None
    transcript: str | None
    parent: SessionId | None
    origin: CheckpointId | None
    root: str | None
    began: float
    last: float
    last_event: float
    newest: CheckpointId


class Candidate(Value):
    """A session that could be meant, with what a person recognizes it by.

    ``last`` is when its agent was last heard of, ``prompt`` the newest one, fit to be shown.
    """

    id: SessionId
    agent: str
    last: float
    prompt: str
    running: bool = False


class Turn(Value):
    """One prompt and everything that it caused.

    ``before`` is the checkpoint before it, ``after`` the newest one that belongs to it; ``id`` is
    that of the checkpoint that began it. A turn of kind ``shell`` (a command that the person ran
    inside the agent) has no number and is known only from its end.
    """

    id: CheckpointId
    session: SessionId
    number: int | None
    kind: TurnKind
    prompt: str | None
    native: str | None
    before: CheckpointId
    after: CheckpointId
    began: float
    ended: float | None
    state: TurnState


class OwnedChange(CountedChange):
    """A change with who made it: a tool by name, the shell, a subagent, the person outside, an
    interrupted operation of takeback's, or its agent when that went back by itself.

    ``session`` is the one whose turn it belongs to, None if no agent made it; ``turn`` is that
    turn's id.
    """

    who: str | None = None
    session: SessionId | None = None
    turn: CheckpointId | None = None


# -- what happened in a workspace, and up to where somebody knows it


BEGAN: Final = "began"


class NewsMark(Value):
    """A moment of a workspace: the newest place, the id of what is there, and the operations.

    Places are counted anew when the ledger is; the id tells whether that one is still the same.
    """

    position: int
    newest: str
    operations: frozenset[str]


# -- what a person looks at before, or after, a change: path by path


class ReviewedChange(Value):
    """One changed path: what it is on both sides, and the lines that were counted."""

    change: Change
    counted: CountedChange
    tickable: bool = False
    """Its hunks can be ticked: it is a change that a rewind would make, of a file in a snapshot."""


# -- what was kept for a path before the directory that is there now


class Earlier(Value):
    """One store of what was at a path before; it can be taken over.

    ``name`` is what it is called by: the workspace's own id. ``newest`` is its newest checkpoint,
    None if there is none or it cannot be read.
    """

    name: str
    directory: str
    path: bytes
    checkpoints: int
    newest: Checkpoint | None
