"""What the core asks of its surroundings, on one page."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Protocol

    from takeback.model.agent import Capabilities, EntryMatch, FileEdit, Headless, Message
    from takeback.model.checkpoint import Anchor, Checkpoint, NewSession, Resume
    from takeback.model.event import AgentEvent

    class Clock(Protocol):
        """Tells the time, in seconds since the epoch, UTC."""

        def now(self) -> float: ...

    class Reporter(Protocol):
        """Is told how a long job is going. The core never prints."""

        def progress(self, what: str, done: int, total: int) -> None:
            """Called now and then; ``total`` is 0 while it is not known."""

        def note(self, text: str) -> None:
            """Takes one sentence that the user should read, such as that a recovery was made."""

    class ObjectSink(Protocol):
        """Where a scan puts bytes that no earlier snapshot holds."""

        def has(self, oid: bytes) -> bool:
            """Tells whether the object is kept and readable; a damaged one does not count."""

        def holds(self, oid: bytes, data: bytes) -> bool:
            """Tells whether these very bytes are kept under their id; compares them.

            Raises Collision (git/packs.py) if other bytes with the same id are kept.
            """

        def add(self, kind: int, data: bytes, oid: bytes | None = None) -> bytes:
            """Keeps an object and returns its id."""

        def add_stream(self, kind: int, fd: int, size: int) -> bytes | None:
            """Keeps exactly ``size`` bytes read from ``fd``; None if there were fewer or more."""

        def fork(self) -> ObjectSink:
            """Returns a sink for a forked process, which publishes by itself."""

        def publish(self) -> list[str]:
            """Makes what was added durable and visible to readers; returns the packs' names."""

        def adopt(self, names: list[str]) -> None:
            """Takes over what a forked sink has published."""

        def discard(self) -> None:
            """Forgets what was added since the last publish."""

    class Importer(Protocol):
        """Hands session files to an agent that keeps its sessions in a database of its own.

        ``is_workspace`` tells whether agents work in a directory: no program in such a directory is
        run.
        """

        def parcel(self, native: str) -> str | None:
            """Returns the name of the file in which a session made here waits, else None."""

        def check(self, environ: Mapping[str, str], is_workspace: Callable[[str], bool]) -> None:
            """Raises Refused if there is no agent that could import anything."""

        def take_in(
            self,
            path: str,
            directory: str,
            environ: Mapping[str, str],
            is_workspace: Callable[[str], bool],
        ) -> None:
            """Has the agent import a file as a session of a directory; raises Refused."""

    class Purged(Protocol):
        """What a person had removed from everything that is kept, and must not come back."""

        def hides(self, path: bytes) -> bool:
            """Tells whether a path was purged."""

        def bans(self, oid: bytes) -> bool:
            """Tells whether a content was purged, by its object id."""

    class Brought(Protocol):
        """What an operation has just brought back from a snapshot."""

        def holds(self, path: bytes, *, directory: bool) -> bool:
            """Tells whether the snapshot held a path, as a directory or as something else."""

        def below(self, directory: bytes) -> list[bytes]:
            """Returns the files that it held below a directory that was ignored."""

    class Adapter(Protocol):
        """Everything that is specific to one agent.

        ``name`` is the agent's, in lower case. ``starts_by_id`` says that the host takes any id, so
        that even an empty session can be made for it. ``mute_on_esc`` says that a turn which a
        person stops ends without an event, so that only the transcript shows it. Only ``parse``,
        ``sessions_root``, ``transcript_files``, ``status_in`` and ``follows`` are on the hook path,
        so the rest may import anything, inside functions.
        """

        @property
        def name(self) -> str: ...

        @property
        def starts_by_id(self) -> bool: ...

        @property
        def mute_on_esc(self) -> bool: ...

        @property
        def importer(self) -> Importer | None:
            """What hands a new session to the agent; None if the agent reads the file itself."""

        @property
        def command(self) -> str | None:
            """The first word of a prompt that takeback answers itself; None if it cannot."""

        def parse(
            self, payload: Mapping[str, Any], environ: Mapping[str, str]
        ) -> AgentEvent | None:
            """Turns what a hook was given into an event; None for what does not concern us.

            Pure. Raises ValueError with one sentence for a payload that lacks something required;
            unknown fields are ignored.
            """

        def transcript_files(self, path: str) -> tuple[str, ...]:
            """Returns the files that hold the conversation together, oldest first.

            Reads; ``path`` need not exist and is always the last of them.
            """

        def sessions_root(self, environ: Mapping[str, str]) -> str | None:
            """Returns the directory beneath which the agent keeps its sessions' files.

            Nothing else is read as its transcript; None if they are in the workspace, or if there
            are none. A person may set more directories (``transcripts``).
            """

        def cut(self, parts: Sequence[bytes], anchor: Anchor, later: Sequence[bytes]) -> bytes:
            """Returns the history up to a place, in the agent's own format, as one file.

            ``parts`` are the transcript's bytes at a checkpoint, ``later`` what the same files held
            long afterwards (empty if unknown): there the prompt's own entry can be found, and what
            the agent wrote a moment too late. The result has no abandoned branch and no torn last
            line. If it is empty, so is the conversation. Raises ValueError if the place is not
            there.
            """

        def new_session(
            self, history: bytes, *, native: str, transcript: str, title: str, now: float
        ) -> NewSession:
            """Returns a history as a session of its own, with a new id, to go beside the old one.

            ``native`` and ``transcript`` are the old session's id and file. Writes nothing.
            """

        def moved_to(self, new: NewSession, directory: str) -> NewSession:
            """Returns a new session as one of a different directory, with the same id.

            Only an agent that finds sessions by their directory changes anything: the file goes
            where it looks in that one.
            """

        def resume(self, native: str, directory: str, moved: str | None = None) -> Resume:
            """Returns how a person continues a session.

            ``moved`` is the file of a session that was made for a different directory.
            """

        def start(self, directory: str) -> Resume:
            """Returns how a person begins a new, empty session."""

        def is_over(self, tail: bytes, turn: str | None) -> bool:
            """Tells from the end of a transcript whether the turn ended unannounced (Esc)."""

        def command_in(self, tail: bytes, turn: str | None) -> str | None:
            """Returns the words of a ``!command`` from the end of a transcript, if it has them."""

        def status_in(self, tail: bytes, call: str) -> int | None:
            """Returns the exit status of a command from the end of a transcript, if it has it.

            ``call`` is the one of a ``ToolCall``. Runs while the agent waits. None for whatever is
            not known for certain: still running, stopped, not written yet.
            """

        def follows(self, said: bytes, turn: str) -> tuple[str, ...]:
            """Returns the turns that a turn follows, nearest first, if its agent had gone back.

            As ids of the agent's, of the nearest few; an empty one stands for the beginning. Empty
            if it follows the turn before it, and for whatever is not known. ``said`` is the whole
            transcript. Runs while the agent waits.
            """

        def note(self, text: str, warning: str = "") -> str:
            """Returns what a hook prints to tell the model ``text``.

            ``warning`` is for the person, where the agent shows them anything; either may be
            empty, and a note comes at prompts only.
            """

        def answer(self, text: str) -> str:
            """Returns what the prompt hook prints to show the person ``text``, and nothing more.

            No model is asked. Called only if ``command`` is not None.
            """

    class Connection(Protocol):
        """How ``takeback init`` connects one agent. Nothing of it is on the hook path.

        ``here`` is the project that it is about, None for all of the person's. ``home`` is
        ``$TAKEBACK_HOME``, whose launcher (``adapters.launcher``) the settings call.
        """

        @property
        def name(self) -> str: ...

        @property
        def title(self) -> str: ...

        @property
        def program(self) -> str: ...

        @property
        def capabilities(self) -> Capabilities: ...

        def is_there(self, environ: Mapping[str, str]) -> bool:
            """Tells whether the agent is installed, or was used, on this machine."""

        def connect(
            self, environ: Mapping[str, str], home: str, here: str | None
        ) -> tuple[FileEdit, ...]:
            """Returns the edits that connect it, for the user or for one project."""

        def disconnect(
            self, environ: Mapping[str, str], home: str, here: str | None
        ) -> tuple[FileEdit, ...]:
            """Returns the edits that take our own entries out again."""

        def is_connected(self, environ: Mapping[str, str], home: str, here: str | None) -> bool:
            """Tells whether all that ``connect`` writes is there."""

        def advice(self) -> str:
            """Says what the person still has to do, or nothing."""

        def hindrance(self, environ: Mapping[str, str], here: str | None) -> str | None:
            """Says why the agent does not run what its settings have; None if nothing is known."""

        def transcripts(
            self, environ: Mapping[str, str], root: str
        ) -> tuple[tuple[str, float], ...]:
            """Returns the agent's transcripts of a directory, and when each was last written."""

    class EntryFinder(Protocol):
        """Finds the checkpoint at an entry of an agent's own tree."""

        def __call__(
            self, path: Sequence[Mapping[str, Any]], checkpoints: Sequence[Checkpoint]
        ) -> EntryMatch:
            """Looks for the first node of a path, which leads from there to the root.

            ``checkpoints`` are those of the session's line, the newest first.
            """

    class MessageReader(Protocol):
        """Reads a conversation as a person would."""

        def __call__(self, history: bytes) -> Iterable[Message]:
            """Returns what was said, in order, from a history that ``Adapter.cut`` returned.

            That is what people and the model wrote, each call of a tool, and summaries of what was
            compacted, as ``system``; not what the model thought. Reads line by line, keeps little,
            and never raises, whatever the bytes are.
            """

    class Summaries(Protocol):
        """Puts a summary into a conversation in the place of a part of it, in the agent's format.

        A history is what ``Adapter.cut`` returned, or one of these. Raises ValueError with one
        sentence for one that cannot be handled. Never on the hook path.
        """

        @property
        def headless(self) -> Headless | None:
            """How the agent itself is asked for a summary; None if it cannot be."""

        def rest(self, whole: bytes, head: bytes) -> bytes:
            """Returns what a history has after its beginning, as a history of its own.

            ``head`` may be empty, or of a session that this one was forked from.
            """

        def put(self, kept: bytes, summary: str, *, first: bool, whole: bytes, now: float) -> bytes:
            """Returns a part of a history with a summary before it (``first``), or after it.

            ``whole`` is the history that the part is of; an empty part is replaced altogether.
            """
