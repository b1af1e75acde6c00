"""Sessions: one conversation of one agent in one workspace, perhaps descended from another."""

from __future__ import annotations

from takeback.model.ids import CheckpointId, SessionId
from takeback.model.value import Value


class Origin(Value):
    """Where a session comes from: a checkpoint of another session, or of another workspace."""

    session: SessionId
    checkpoint: CheckpointId
    root: str | None = None


class Process(Value):
    """A process, told from a later one with the same id by when it was started.

    ``namespace`` is the one in which the id counts: a container has its own.
    """

    pid: int
    started: str | None = None
    namespace: str | None = None


class Asker(Value):
    """Who asks for what this process does, if not this process for itself.

    ``through``: a process that speaks for whoever has started it, such as an agent's own program
    for its person. ``processes``: those at the other end of a connection; ``unseen`` says that
    there may be others, as the system does not tell.
    """

    through: int | None = None
    processes: tuple[int, ...] = ()
    unseen: bool = False


ITSELF = Asker()


class TranscriptPart(Value):
    """One file of a transcript: where it was, and how long it was at that moment.

    ``place`` identifies the directory that it was read from, as opposed to one that took its path
    since (ops/transcript.py); empty if it was not read. ``file`` identifies the file itself, and
    ``epoch`` is that of the store when it was kept. The first ``known`` bytes were not read, but
    taken over from the checkpoint before (ops/said.py). ``rewritten`` is the first place at which
    what had been taken over turned out to be different when all of it was read again.
    """

    path: str
    size: int
    place: str = ""
    file: str = ""
    epoch: int = -1
    known: int = 0
    rewritten: int | None = None


class Anchor(Value):
    """A place in a conversation, by the agent's own ids.

    ``before`` means the place before the prompt of ``turn``; else the end of what is there.
    ``leaf`` is the entry that the agent was at, if it said so. ``prompt`` is the text of the
    prompt, for agents that give it no id.
    """

    before: bool
    turn: str | None = None
    leaf: str | None = None
    prompt: str | None = None


class NewSession(Value):
    """A session as its agent would have written it: its id, its file, the bytes."""

    native: str
    path: str
    data: bytes


class Resume(Value):
    """How a person continues a session: a command, its directory, what to type inside.

    ``from_event`` says that the words came with an event, or with a record of another machine: so
    from anyone who could send one. takeback never runs such a line, and quotes it as somebody
    else's, unless a person has ``registered`` the host.
    """

    argv: tuple[str, ...]
    cwd: str
    in_tui: str | None = None
    from_event: bool = False
    registered: bool = False

    @property
    def is_own(self) -> bool:
        """Whether takeback can give the line as its own."""
        return self.registered or not self.from_event
