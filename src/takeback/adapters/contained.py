"""An agent of another package, whose failures must not affect anything else.

Somebody else's code may raise anything. If takeback can go on without its answer it does; if not,
the error names the agent. Nothing else that takeback keeps depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator

from takeback.errors import Refused, TakebackError
from takeback.model.agent import Capabilities, Headless, Message
from takeback.model.checkpoint import NewSession, Resume
from takeback.model.event import AgentEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeVar

    from takeback.model.agent import FileEdit
    from takeback.model.checkpoint import Anchor
    from takeback.ports import Importer

    T = TypeVar("T")


class ForeignFailure(ValueError):
    """What another package's agent raised, or an answer of the wrong kind."""


class _Contained:
    """Loads what a package provides when it is first needed, and asks it."""

    def __init__(self, name: str, load: Callable[[], Any]) -> None:
        self.name = name
        self._load = load

    def _ask(self, what: str, question: Callable[[Any], Any], *kinds: type) -> Any:
        """Returns an answer of one of the kinds; raises ForeignFailure, or its own ValueError."""
        try:
            answer = question(self._load())
        except (TakebackError, ValueError):
            raise
        except Exception as error:
            raise self._failure(what, f"{type(error).__name__}: {error}") from error
        if not isinstance(answer, kinds):
            raise self._failure(what, f"its answer is a {type(answer).__name__}")
        return answer

    def _ask_or(self, otherwise: T, what: str, question: Callable[[Any], Any]) -> T:
        """Returns an answer of the same kind as ``otherwise``, or ``otherwise``."""
        try:
            return self._ask(what, question, type(otherwise))  # type: ignore[no-any-return]
        except (TakebackError, ValueError):
            return otherwise

    def _failure(self, what: str, why: str) -> ForeignFailure:
        return ForeignFailure(
            f"{what} of the agent {self.name}, which is of another package: {why}"
        )


class ContainedAdapter(_Contained):
    """Implements ``ports.Adapter``."""

    @property
    def starts_by_id(self) -> bool:
        return self._ask_or(False, "starts_by_id", lambda it: it.starts_by_id)

    @property
    def mute_on_esc(self) -> bool:
        return self._ask_or(False, "mute_on_esc", lambda it: it.mute_on_esc)

    @property
    def importer(self) -> Importer | None:
        try:
            return self._ask("importer", lambda it: it.importer, object)  # type: ignore[no-any-return]
        except (TakebackError, ValueError):
            return None

    @property
    def command(self) -> str | None:
        return self._ask_or("", "command", lambda it: it.command or "") or None

    def parse(self, payload: Mapping[str, Any], environ: Mapping[str, str]) -> AgentEvent | None:
        event: AgentEvent | None = self._ask(
            "parse", lambda it: it.parse(payload, environ), AgentEvent, type(None)
        )
        return event

    def transcript_files(self, path: str) -> tuple[str, ...]:
        return self._ask_or((path,), "transcript_files", lambda it: it.transcript_files(path))

    def sessions_root(self, environ: Mapping[str, str]) -> str | None:
        root = self._ask_or("", "sessions_root", lambda it: it.sessions_root(environ) or "")
        return root or None

    def cut(self, parts: Sequence[bytes], anchor: Anchor, later: Sequence[bytes]) -> bytes:
        history: bytes = self._ask("cut", lambda it: it.cut(parts, anchor, later), bytes)
        return history

    def new_session(
        self, history: bytes, *, native: str, transcript: str, title: str, now: float
    ) -> NewSession:
        made: NewSession = self._ask(
            "new_session",
            lambda it: it.new_session(
                history, native=native, transcript=transcript, title=title, now=now
            ),
            NewSession,
        )
        return made

    def moved_to(self, new: NewSession, directory: str) -> NewSession:
        return self._ask_or(new, "moved_to", lambda it: it.moved_to(new, directory))

    def resume(self, native: str, directory: str, moved: str | None = None) -> Resume:
        nothing = Resume((), directory)
        return self._ask_or(nothing, "resume", lambda it: it.resume(native, directory, moved))

    def start(self, directory: str) -> Resume:
        return self._ask_or(Resume((), directory), "start", lambda it: it.start(directory))

    def is_over(self, tail: bytes, turn: str | None) -> bool:
        return self._ask_or(False, "is_over", lambda it: it.is_over(tail, turn))

    def command_in(self, tail: bytes, turn: str | None) -> str | None:
        words = self._ask_or("", "command_in", lambda it: it.command_in(tail, turn) or "")
        return words or None

    def status_in(self, tail: bytes, call: str) -> int | None:
        try:
            status = self._ask("status_in", lambda it: it.status_in(tail, call), int, type(None))
        except (TakebackError, ValueError):
            return None
        return status  # type: ignore[no-any-return]

    def follows(self, said: bytes, turn: str) -> tuple[str, ...]:
        none: tuple[str, ...] = ()
        found = self._ask_or(none, "follows", lambda it: it.follows(said, turn))
        return found if all(isinstance(one, str) for one in found) else none

    def note(self, text: str, warning: str = "") -> str:
        return self._ask_or("", "note", lambda it: it.note(text, warning))

    def answer(self, text: str) -> str:
        return self._ask_or(text, "answer", lambda it: it.answer(text))


class ContainedReader(_Contained):
    """Implements ``ports.MessageReader``."""

    def __call__(self, history: bytes) -> Iterator[Message]:
        """Returns the messages; raises ForeignFailure, or its own ValueError, at any of them."""
        from takeback.adapters.telling import shortened  # json: not for each ``status``

        found = self._ask("messages", lambda it: iter(it(history)), Iterator)
        while (message := self._ask("messages", lambda _: next(found, None), object)) is not None:
            if not isinstance(message, Message):
                raise self._failure("messages", f"one of them is a {type(message).__name__}")
            yield shortened(message)


class ContainedSummaries(_Contained):
    """Implements ``ports.Summaries``."""

    @property
    def headless(self) -> Headless | None:
        try:
            found: Headless | None = self._ask(
                "headless", lambda it: it.headless, Headless, type(None)
            )
        except (TakebackError, ValueError):
            return None
        return found

    def rest(self, whole: bytes, head: bytes) -> bytes:
        found: bytes = self._ask("rest", lambda it: it.rest(whole, head), bytes)
        return found

    def put(self, kept: bytes, summary: str, *, first: bool, whole: bytes, now: float) -> bytes:
        made: bytes = self._ask(
            "put", lambda it: it.put(kept, summary, first=first, whole=whole, now=now), bytes
        )
        return made


class ContainedConnection(_Contained):
    """Implements ``ports.Connection``."""

    @property
    def title(self) -> str:
        return self._ask_or(self.name, "title", lambda it: it.title)

    @property
    def program(self) -> str:
        return self._ask_or(self.name, "program", lambda it: it.program)

    @property
    def capabilities(self) -> Capabilities:
        return self._ask_or(Capabilities(), "capabilities", lambda it: it.capabilities)

    def is_there(self, environ: Mapping[str, str]) -> bool:
        return self._ask_or(False, "is_there", lambda it: it.is_there(environ))

    def connect(
        self, environ: Mapping[str, str], home: str, here: str | None
    ) -> tuple[FileEdit, ...]:
        return self._edits("connect", lambda it: it.connect(environ, home, here))

    def disconnect(
        self, environ: Mapping[str, str], home: str, here: str | None
    ) -> tuple[FileEdit, ...]:
        return self._edits("disconnect", lambda it: it.disconnect(environ, home, here))

    def is_connected(self, environ: Mapping[str, str], home: str, here: str | None) -> bool:
        return self._ask_or(False, "is_connected", lambda it: it.is_connected(environ, home, here))

    def advice(self) -> str:
        return self._ask_or("", "advice", lambda it: it.advice())

    def hindrance(self, environ: Mapping[str, str], here: str | None) -> str | None:
        """Returns what its own code says, or why that fails."""
        try:
            said = self._ask("hindrance", lambda it: it.hindrance(environ, here) or "", str)
        except (TakebackError, ValueError) as error:
            said = str(error)
        return said or None

    def transcripts(self, environ: Mapping[str, str], root: str) -> tuple[tuple[str, float], ...]:
        def ask(it: Any) -> tuple[tuple[str, float], ...]:
            return tuple((str(path), float(time)) for path, time in it.transcripts(environ, root))

        return self._ask_or((), "transcripts", ask)

    def _edits(self, what: str, question: Callable[[Any], Any]) -> tuple[FileEdit, ...]:
        try:
            edits: tuple[FileEdit, ...] = self._ask(what, question, tuple)
        except ValueError as error:
            raise Refused(str(error), hint="takeback goes on without that agent") from error
        return edits
