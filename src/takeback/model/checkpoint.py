"""A checkpoint: a place to go back to; what it holds, what changed in it, whose session it is."""

from __future__ import annotations

from takeback.errors import Command, Expired
from takeback.model.event import AwaitedTests, RanTests, ToolCall
from takeback.model.ids import CheckpointId, MachineId, SessionId, SnapshotId
from takeback.model.turn import IDLE, Moment
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final, Literal

    from takeback.model.ids import Order
    from takeback.model.turn import CheckpointKind, Phase

    ChangeKind = Literal["added", "deleted", "modified", "mode", "type"]

# -- what a snapshot records of one path: its type, its full permission bits, its content


FILE = 0o100000
LINK = 0o120000
DIRECTORY = 0o040000
_TYPE = 0o170000
SANDBOX = frozenset((b".agents", b".aws", b".codex"))
"""What Codex makes and removes around each command. If empty, they are left out of a snapshot."""


class Entry(Value):
    """One path of a snapshot. ``mode`` is type and permission bits, ``oid`` names the bytes.

    A symbolic link has no permission bits of its own (its mode is exactly ``LINK``), and its
    bytes are its target. A directory's ``oid`` is the tree below it.
    """

    mode: int
    oid: bytes

    @property
    def is_directory(self) -> bool:
        return self.mode & _TYPE == DIRECTORY

    @property
    def is_link(self) -> bool:
        return self.mode & _TYPE == LINK

    @property
    def is_file(self) -> bool:
        return self.mode & _TYPE == FILE


def entry_mode(st_mode: int) -> int:
    """Returns the mode kept for a file, link or directory: setuid, setgid, sticky dropped."""
    kind = st_mode & _TYPE
    return LINK if kind == LINK else kind | (st_mode & 0o777)


def encode_entry(entry: Entry | None) -> list[Any] | None:
    """Returns the JSON form that records keep; None stands for "not there"."""
    return None if entry is None else [entry.mode, entry.oid.hex()]


def decode_entry(value: list[Any] | None) -> Entry | None:
    """Reads ``encode_entry``'s form; raises LookupError, TypeError or ValueError for others."""
    return None if value is None else Entry(int(value[0]), bytes.fromhex(value[1]))


# -- differences between two states, path by path


ADDED: Final = "added"
DELETED: Final = "deleted"
MODIFIED: Final = "modified"
MODE: Final = "mode"
TYPE: Final = "type"


class Change(Value):
    """One path that differs between two snapshots. None stands for "not there"."""

    path: bytes
    old: Entry | None
    new: Entry | None

    @property
    def kind(self) -> ChangeKind:
        """Returns added, deleted, modified, mode (only the permission bits) or type."""
        if self.old is None:
            return ADDED
        if self.new is None:
            return DELETED
        if self.old.mode & 0o170000 != self.new.mode & 0o170000:
            return TYPE
        return MODE if self.old.oid == self.new.oid or self.new.is_directory else MODIFIED


class CountedChange(Value):
    """A change as people read it: the path, what happened, lines added and deleted.

    The counts are None if there are no lines to count: a binary, a link, a directory, a mode.
    """

    path: bytes
    kind: ChangeKind
    added: int | None
    deleted: int | None


# -- sessions: one conversation of one agent in one workspace, perhaps descended from another


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
    since (turns/said.py); empty if it was not read. ``file`` identifies the file itself, and
    ``epoch`` is that of the store when it was kept. The first ``known`` bytes were not read, but
    taken over from the checkpoint before (turns/said.py). ``rewritten`` is the first place at which
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


# -- a checkpoint


MANUAL: Final = "manual"
UNDO: Final = "undo"
AMID = "taken in the middle of an interrupted operation"
"""What every face says of a checkpoint that has ``amid``."""
EXPIRED = "expired"
"""What every face says of a checkpoint whose files were dropped."""


class Checkpoint(Value):
    """A snapshot at a moment, with what it was taken for.

    ``commit`` is where the store keeps it; it may change when the store is pruned, so nothing
    outside the store remembers it. ``saved`` is the tree of small ignored files kept beside the
    snapshot, on this machine only. The fields from ``agent`` on say where an agent was at that
    moment; a checkpoint made by hand has none of them. ``amid`` is the operation that was
    interrupted before it and not yet recovered: its files are partly those before that operation
    and partly those after it, so it is never ``complete``.
    """

    id: CheckpointId
    session: SessionId
    kind: CheckpointKind
    time: float
    snapshot: SnapshotId
    commit: bytes
    complete: bool
    files: int
    saved: str | None = None
    prompt: str | None = None
    turn: int | None = None
    label: str | None = None
    label_by: str | None = None
    """The agent whose model gave the label; None for a person's."""
    branch: str | None = None
    head: str | None = None
    operation: str | None = None
    agent: str | None = None
    native: str | None = None
    directory: str | None = None
    turn_id: str | None = None
    phase: Phase | None = None
    unfinished: bool = False
    leaf: str | None = None
    entry: str | None = None
    transcript: tuple[TranscriptPart, ...] = ()
    tools: tuple[ToolCall, ...] = ()
    subagent: str | None = None
    origin: Origin | None = None
    process: Process | None = None
    resume: tuple[str, ...] = ()
    noted: str | None = None
    late: bool = False
    watched: bool = False
    """Whether only those directories were looked at in which the kernel said something happened."""
    amid: str | None = None
    sequence: int = 0
    machine: MachineId = MachineId("")
    """With ``sequence`` it orders the checkpoints and operations of a workspace; see ``order``."""
    root_mode: int | None = None
    """The permission bits of the workspace's own directory, for which the snapshot has no entry."""
    expired: float | None = None
    """When its files were dropped to save space; the rest of it, its conversation too, is kept."""
    staged: str | None = None
    """What the project's index held, in the form of worktree/project.py; None if unknown."""
    tested: RanTests | None = None
    """The tests that the agent ran on these very files, if it said how they ended."""
    tested_earlier: tuple[RanTests, ...] = ()
    """Tests of earlier checkpoints: by the time of this one the agent had said how they ended."""
    awaited: tuple[AwaitedTests, ...] = ()
    """Tests that the agent has not yet said the end of."""
    stopped: bool = False
    """Whether its turn did not come to its own end: the agent said that a person stopped it."""
    left: tuple[Process, ...] = ()
    """The processes because of which its turn is not over, as takeback saw them."""
    asked_by: str | None = None
    """Of one made by hand the session whose model asked for it, or may have; None for a person."""
    below: str | None = None
    """The session of the agent that started this one's, or whose model told of it: its doing."""
    follows: tuple[str, ...] = ()
    """Of a turn before which its agent had gone back by itself: the agent's id of it, then those of
    the turns that it follows, nearest first, an empty one for the beginning."""

    @property
    def order(self) -> Order:
        """Where it stands among all checkpoints and operations of a workspace."""
        return (self.sequence, self.machine, self.time, self.id)

    @property
    def tree(self) -> bytes:
        """The tree of its files; raises Expired if they are not kept any more."""
        if self.expired is not None:
            raise Expired(
                f"the files of {self.id} have expired",
                hint=("the checkpoints that have theirs: ", Command("log")),
            )
        return bytes.fromhex(self.snapshot)

    @property
    def moment(self) -> Moment:
        """Where in its session the checkpoint is."""
        return Moment(self.kind, self.turn or 0, self.turn_id, self.phase or IDLE, self.unfinished)

    def followed_by(self, *, id: CheckpointId, kind: CheckpointKind, time: float) -> Checkpoint:
        """Returns a draft of the next checkpoint of the session, at the same place.

        What concerns only one moment is left out; what continues (the agent, the turn, its process)
        is kept.
        """
        return self.replace(
            id=id,
            kind=kind,
            time=time,
            commit=b"",
            saved=None,
            prompt=None,
            label=None,
            label_by=None,
            operation=None,
            unfinished=False,
            leaf=None,
            entry=None,
            transcript=(),
            tools=(),
            subagent=None,
            origin=None,
            late=False,
            watched=False,
            amid=None,
            asked_by=None,
            expired=None,
            tested=None,
            tested_earlier=(),
            awaited=(),
            follows=(),
        )

    def encode(self) -> dict[str, Any]:
        """Returns the record that meta.json keeps; ``decode`` reads it back."""
        meta: dict[str, Any] = {
            "type": "checkpoint",
            "id": self.id,
            "session": self.session,
            "kind": self.kind,
            "time": self.time,
            "files": self.files,
            "complete": self.complete,
            "saved": self.saved,
            "prompt": self.prompt,
            "turn": self.turn,
            "branch": self.branch,
            "head": self.head,
            "operation": self.operation,
            "sequence": self.sequence,
            "machine": self.machine,
        }
        for name in _OPTIONAL:
            value = getattr(self, name)
            if value:
                meta[name] = value
        if self.root_mode is not None:
            meta["root_mode"] = self.root_mode
        if self.transcript:
            meta["transcript"] = [[part.path, part.size] for part in self.transcript]
            meta["transcript_places"] = [part.place for part in self.transcript]
            if any(part.file for part in self.transcript):
                meta["transcript_reads"] = [
                    [part.file, part.epoch, part.known, part.rewritten] for part in self.transcript
                ]
        if self.tools:
            meta["tools"] = [[tool.name, tool.kind, *tool.paths] for tool in self.tools]
        if self.tested is not None:
            meta["tested"] = [self.tested.command, self.tested.status]
        if self.tested_earlier:
            meta["tested_earlier"] = [
                [one.command, one.status, one.checkpoint] for one in self.tested_earlier
            ]
        if self.awaited:
            meta["awaited"] = [[one.command, one.call, one.checkpoint] for one in self.awaited]
        if self.origin is not None:
            origin = self.origin
            meta["origin"] = [origin.session, origin.checkpoint, origin.root]
        if self.left:
            meta["left"] = [[one.pid, one.started, one.namespace] for one in self.left]
        if self.follows:
            meta["follows"] = list(self.follows)
        if self.process is not None:
            meta["process"] = [self.process.pid, self.process.started]
            if self.process.namespace is not None:
                meta["namespace"] = self.process.namespace
        return meta


_CALENDAR = (-62_000_000_000, 253_000_000_000)
"""The years 5 to 9987, in seconds since 1970."""

_OPTIONAL = (
    "agent",
    "native",
    "directory",
    "turn_id",
    "phase",
    "unfinished",
    "leaf",
    "entry",
    "subagent",
    "resume",
    "noted",
    "late",
    "watched",
    "amid",
    "staged",
    "expired",
    "stopped",
    "asked_by",
    "below",
)


def decode(meta: Mapping[str, Any], *, snapshot: SnapshotId, commit: bytes) -> Checkpoint:
    """Returns the checkpoint that a record describes; raises ValueError naming what is wrong."""
    text_of = {name: value for name, value in meta.items() if isinstance(value, str)}.get
    try:
        return Checkpoint(
            id=CheckpointId(_text(meta["id"])),
            session=SessionId(_text(meta["session"])),
            kind=_word(meta["kind"]),
            time=time_of(meta["time"]),
            snapshot=snapshot,
            commit=commit,
            complete=meta.get("complete") is True,
            files=int(meta["files"]),
            saved=text_of("saved"),
            prompt=text_of("prompt"),
            turn=_number(meta.get("turn")),
            branch=text_of("branch"),
            head=text_of("head"),
            operation=text_of("operation"),
            agent=text_of("agent"),
            native=text_of("native"),
            directory=text_of("directory"),
            turn_id=text_of("turn_id"),
            phase=_maybe_word(text_of("phase")),
            unfinished=meta.get("unfinished") is True,
            leaf=text_of("leaf"),
            entry=text_of("entry"),
            transcript=_transcript(meta),
            tools=tuple(
                ToolCall(_text(name), _word(kind), tuple(_text(path) for path in paths))
                for name, kind, *paths in meta.get("tools", ())
            ),
            subagent=text_of("subagent"),
            origin=_origin(meta.get("origin")),
            process=_process(meta.get("process"), text_of("namespace")),
            resume=tuple(_text(word) for word in meta.get("resume", ())),
            noted=text_of("noted"),
            late=meta.get("late") is True,
            watched=meta.get("watched") is True,
            amid=text_of("amid"),
            sequence=_number(meta.get("sequence")) or 0,
            machine=MachineId(text_of("machine") or ""),
            root_mode=_bits(meta.get("root_mode")),
            staged=text_of("staged"),
            asked_by=text_of("asked_by"),
            below=text_of("below"),
            tested=_tested(meta.get("tested")),
            tested_earlier=tuple(
                RanTests(_text(command), int(status), CheckpointId(_text(checkpoint)))
                for command, status, checkpoint in meta.get("tested_earlier", ())
            ),
            awaited=tuple(
                AwaitedTests(_text(command), _text(call), _known(checkpoint))
                for command, call, checkpoint in meta.get("awaited", ())
            ),
            stopped=meta.get("stopped") is True,
            left=tuple(
                Process(int(pid), _name(started), _name(namespace))
                for pid, started, namespace in meta.get("left", ())
            ),
            follows=tuple(_text(one) for one in meta.get("follows", ())),
            expired=None if "expired" not in meta else time_of(meta["expired"]),
        )
    except KeyError as error:
        raise ValueError(f"it has no {error.args[0]}") from None
    except (TypeError, OverflowError):
        raise ValueError("one of its fields is of the wrong kind") from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _word(value: Any) -> Any:
    """Returns a word of a closed vocabulary; a later version may know more of them."""
    return _text(value)


def _number(value: Any) -> int | None:
    """Returns a count that a database can keep, None for anything else."""
    return value if isinstance(value, int) and 0 <= value < 1 << 63 else None


def time_of(value: Any) -> float:
    """Returns the seconds of a record; raises ValueError if no calendar has them.

    A time that cannot be shown would break every list that it is in.
    """
    if not _CALENDAR[0] < float(value) < _CALENDAR[1]:
        raise ValueError("its time is in no calendar")
    return float(value)


def _maybe_word(value: str | None) -> Any:
    """Returns a word as ``_word`` does, or None."""
    return value


def _bits(value: Any) -> int | None:
    return value & 0o777 if isinstance(value, int) else None


def _transcript(meta: Mapping[str, Any]) -> tuple[TranscriptPart, ...]:
    """Returns the files of a transcript; an older record does not say how they were read."""
    parts = [TranscriptPart(_text(path), int(size)) for path, size in meta.get("transcript", ())]
    places, reads = meta.get("transcript_places", ()), meta.get("transcript_reads", ())
    if len(places) == len(parts):
        placed = zip(parts, places, strict=True)
        parts = [part.replace(place=_text(place)) for part, place in placed]
    if len(reads) == len(parts):
        read = zip(parts, reads, strict=True)
        parts = [_as_read(part, *how) for part, how in read]
    return tuple(parts)


def _as_read(
    part: TranscriptPart, file: Any, epoch: Any, known: Any, rewritten: Any
) -> TranscriptPart:
    return part.replace(
        file=_text(file), epoch=int(epoch), known=int(known), rewritten=_number(rewritten)
    )


def _tested(value: Any) -> RanTests | None:
    if value is None:
        return None
    command, status = value
    return RanTests(_text(command), int(status))


def _name(value: Any) -> str | None:
    return None if value is None else _text(value)


def _known(checkpoint: Any) -> CheckpointId | None:
    return None if checkpoint is None else CheckpointId(_text(checkpoint))


def _origin(value: Any) -> Origin | None:
    if value is None:
        return None
    session, checkpoint, root = value
    where = None if root is None else _text(root)
    return Origin(SessionId(_text(session)), CheckpointId(_text(checkpoint)), where)


def _process(value: Any, namespace: str | None) -> Process | None:
    if value is None:
        return None
    pid, started = value
    return Process(int(pid), _name(started), namespace)
