"""One call of the command: its options and output, its workspace, and how it ends."""

from __future__ import annotations

import os
import sys

from takeback import durable
from takeback.cli.terminal import (
    Output,
    TerminalReporter,
    Unanswered,
    ask,
    choose,
    flush,
    is_terminal,
    prepare_streams,
)
from takeback.errors import (
    Bug,
    NoSuchCheckpoint,
    NotAWorkspace,
    Refused,
    TakebackError,
    UsageError,
    WhichSession,
    WriteFailed,
)
from takeback.gate.commands import ALLOWED, FROM_INSIDE, REFUSED
from takeback.model.naming import TURN, is_place, split_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from takeback.app.engine import Engine
    from takeback.gate.asker import Who
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.entries import Candidate
    from takeback.timeline.names import NamedTurn


# -- what a command is given: the options of every command, the printer, the way to the app


_PERSON = "person"
"""What somebody types who is taken for a model."""
INTERRUPTED = "An operation was interrupted here; the next changing command finishes it."


class Call:
    """One call of takeback: the options of every command, the printer, the way to the app."""

    def __init__(self, *, json: bool = False, umask: int = -1) -> None:
        self.umask = umask
        """What the caller's was, for programs that are run for the person; -1 for no other."""
        self.directory: str | None = None
        self.json = json
        self.yes = False
        self.dry_run = False
        self.color = "auto"
        self.pager = True
        self.quiet = False
        self.verbose = False
        self._reporter: TerminalReporter | None = None
        self.whose: Candidate | None = None
        """The session that was taken although others could be meant."""
        self._told_whose = False

    @property
    def output(self) -> Output:
        return Output(json=self.json, quiet=self.quiet, color=self.color)

    @property
    def can_ask(self) -> bool:
        """True if there is a person to ask; a program that reads JSON does not count."""
        return not self.json and is_terminal(sys.stdin)

    def reporter(self) -> TerminalReporter:
        if self._reporter is None:
            bar = not self.json and not self.quiet and is_terminal(sys.stderr)
            self._reporter = TerminalReporter(self.output.note, bar=bar)
        return self._reporter

    def open(
        self, verb: str, path: str = ".", *, create: bool = False, note: bool = True
    ) -> Engine:
        """Opens the workspace; with ``note`` an interrupted operation is mentioned."""
        from takeback.app.engine import Engine

        def opening() -> Engine:
            return Engine.open(
                path, create=create, reporter=self.reporter(), holder=verb, bounded=True
            )

        try:
            try:
                opened = opening()
            except Refused:
                if not self._waives(self._asking()):
                    raise
                opened = opening()
        except NotAWorkspace as error:
            from takeback.cli.earlier import no_checkpoints

            raise no_checkpoints(error, path) from None
        if note and opened.interrupted:
            self.output.note(INTERRUPTED)
        return opened

    def session_meant(self, tb: Engine, session: str | None, *, place: str = TURN) -> str | None:
        """Returns the session that is meant for a place; a person is asked if several could be.

        ``whose`` is that session from then on, if it was taken although others could be meant.
        """
        try:
            meant = tb.meant(session, place=place)
        except (WhichSession, NoSuchCheckpoint) as error:
            if not self.can_ask or not error.sessions:
                raise
            first = isinstance(error, WhichSession)
            return choose("Which session?", error.sessions, error.about, first=first)
        self.whose = meant.default or self.whose
        return meant.session

    def named(self, tb: Engine, name: str, session: str | None = None) -> tuple[str, str | None]:
        """Returns a name of a place, and the session that it is meant in, so that nobody asks."""
        whose, place = split_name(name)
        if not is_place(name):
            return name, session
        meant = self.session_meant(tb, session if whose is None else whose, place=place)
        return (name, meant) if whose is None else (f"{meant}/{place}", session)

    def find(self, tb: Engine, name: str, session: str | None = None) -> Checkpoint:
        """Returns the checkpoint that a name means; asks the person whose, if that matters."""
        name, session = self.named(tb, name, session)
        return tb.find(name, session=session)

    def find_turn(self, tb: Engine, name: str, session: str | None = None) -> NamedTurn:
        """Returns the turn that a name means; asks the person whose, if that matters."""
        name, session = self.named(tb, name, session)
        return tb.turn(name, session=session)

    def look_up(self, tb: Engine, name: str, session: str | None = None) -> Checkpoint:
        """Returns the checkpoint that a name means, for a command that shows no plan.

        The person is told which session it belongs to, if none was named and there are others.
        """
        found = self.find(tb, name, session)
        self.tell_whose()
        return found

    def tell_whose(self) -> None:
        """Says which session was taken, once, if none was named and there are others."""
        if self.whose is not None and not self._told_whose:
            from takeback.words.outcomes import COMMAND_LINE
            from takeback.words.sessions import whose

            self.output.note(whose(self.whose, COMMAND_LINE.session))
            self._told_whose = True

    def refuse_dry_run(self, verb: str, *, hint: str = "") -> None:
        """Raises UsageError: a command that cannot do a dry run must not act instead."""
        if self.dry_run:
            raise UsageError(f"{verb} has no dry run; nothing was done", hint=hint)

    def begin(self, verb: str) -> None:
        """Goes to where a command is to work; raises if it may not be called below an agent.

        Or if its settings are not to be believed.
        """
        self.enter_directory()
        from takeback.app.workspace import check_settings  # who opens one has it all the same

        check_settings(os.environ, os.path.realpath(b"."), typed=True)
        if FROM_INSIDE[verb] == ALLOWED or self.dry_run:
            return
        from takeback.gate.asker import refuse_final

        asking = self._asking()
        if not self._waives(asking) and FROM_INSIDE[verb] == REFUSED:
            refuse_final(verb, asking)

    def _asking(self) -> Who:
        from takeback.gate.asker import who

        return who(os.environ)

    def _waives(self, asking: Who) -> bool:
        """Asks whoever is taken for a model, if it may be a person who types at a terminal."""
        from takeback.gate import asker

        if asking.is_person or not self.can_ask or not asker.may_waive(asking):
            return False
        question = f"Really? {asking.sentence()}.\nIf you typed this yourself, type {_PERSON}: "
        if ask(question) != _PERSON:
            return False
        asker.waive()
        return True

    def verb_meant(self) -> str:
        """Returns the command that is meant where none is named."""
        person = is_terminal(sys.stdin) and is_terminal(sys.stdout)
        return "pick" if person and not self.json else "status"

    def enter_directory(self) -> None:
        """Changes to the directory of ``-C``, to which paths are relative."""
        try:
            if self.directory is not None:
                os.chdir(self.directory)
            os.getcwd()
        except OSError as error:
            where = self.directory or "the current directory"
            reason = os.strerror(error.errno or 0)
            raise NotAWorkspace(
                f"cannot work in {where}: {reason}",
                hint="name a directory that is there: takeback -C DIR ...",
            ) from None

    def close(self) -> None:
        if self._reporter is not None:
            self._reporter.close()


# -- runs one call: the one place where an exception becomes an exit status


FAILED, INTERRUPTED_STATUS, PIPE_CLOSED = 1, 130, 141
COMPLETE = "_TAKEBACK_COMPLETE"
"""The variable by which a shell asks what could follow."""


def guarded(answer: Callable[[Call], int], words: Sequence[str]) -> int:
    """Runs one call and returns its exit status; no exception leaves it."""
    umask = durable.unmask_owner()
    prepare_streams()
    before_paths = words[: words.index("--")] if "--" in words else words
    # Determined before parsing, which may fail and has to say so in the right form.
    call = Call(json="--json" in before_paths, umask=umask)
    try:
        try:
            status = answer(call)
            flush()  # a full disk or a closed pipe must not look like success
            return status
        finally:
            call.close()
    except Bug as error:
        return _bug(call, error)
    except TakebackError as error:
        if isinstance(error.__cause__, BrokenPipeError):
            return _reader_gone()
        return _say(call, error)
    except Unanswered as left:
        from takeback.words.text import NOTHING_CHANGED

        call.output.note(str(left) or NOTHING_CHANGED)
        return INTERRUPTED_STATUS
    except KeyboardInterrupt:
        return _say(call, Interrupted())
    except BrokenPipeError:
        return _reader_gone()
    except OSError as error:  # from this face itself: the layers below report their own
        return _say(call, WriteFailed.of("the command", error))
    except Exception as error:
        return _bug(call, error)


class Interrupted(TakebackError):
    """The person pressed Ctrl+C."""

    code = "interrupted"
    exit_status = INTERRUPTED_STATUS

    def __init__(self) -> None:
        hint = "an operation that had begun is finished by the next changing command"
        super().__init__("interrupted", hint=hint)


def _say(call: Call, error: TakebackError) -> int:
    from takeback.words.choices import said

    told = said(error)
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _silence()
    try:
        call.output.error(told)
        sys.stderr.flush()
    except (OSError, ValueError):
        _silence()
    return told.status


def _bug(call: Call, error: Exception) -> int:
    from takeback.app.border import bug

    if call.verbose:
        import traceback

        sys.stderr.write("".join(traceback.format_exception(error)))
    return _say(call, bug(error))


def _reader_gone() -> int:
    """The reader of a pipe has read enough (``| head``): no message, and the shell's own status."""
    _silence()
    return PIPE_CLOSED


def _silence() -> None:
    """Makes the interpreter's last flush go nowhere, so that it cannot fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            os.dup2(nowhere, stream.fileno())
