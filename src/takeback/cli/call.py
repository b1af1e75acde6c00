"""What a command is given: the options of every command, the printer, the way to the app."""

from __future__ import annotations

import os
import sys
import time

from takeback.cli.from_inside import FROM_INSIDE, REFUSED
from takeback.cli.output import Output
from takeback.cli.terminal import TerminalReporter, choose, is_terminal
from takeback.errors import NoSuchCheckpoint, NotAWorkspace, UsageError, WhichSession
from takeback.model.naming import names_newest, needs_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.engine import Engine
    from takeback.model.checkpoint import Checkpoint
    from takeback.ops.turn_names import NamedTurn

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

        try:
            opened = Engine.open(path, create=create, reporter=self.reporter(), holder=verb)
        except NotAWorkspace as error:
            from takeback.cli.earlier import no_checkpoints

            raise no_checkpoints(error, path) from None
        if note and opened.interrupted:
            self.output.note(INTERRUPTED)
        return opened

    def session_meant(self, tb: Engine, session: str | None) -> str | None:
        """Returns the session that is meant; a person is asked if several could be."""
        try:
            return tb.session_meant(session)
        except (WhichSession, NoSuchCheckpoint) as error:
            if not self.can_ask or not error.sessions:
                raise
            return choose("Which session?", error.sessions, error.about)

    def find(self, tb: Engine, name: str, session: str | None = None) -> Checkpoint:
        """Returns the checkpoint that a name means; asks the person whose, if that matters."""
        if needs_session(name):
            session = self.session_meant(tb, session)
        return tb.find(name, session=session)

    def find_turn(self, tb: Engine, name: str, session: str | None = None) -> NamedTurn:
        """Returns the turn that a name means; asks the person whose, if that matters."""
        if needs_session(name):
            session = self.session_meant(tb, session)
        return tb.turn(name, session=session)

    def look_up(self, tb: Engine, name: str, session: str | None = None) -> Checkpoint:
        """Returns the checkpoint that a name means, for a command that only reads.

        If the newest is asked for and several sessions could be meant, it is that of the workspace,
        and the answer says which session it belongs to.
        """
        if session is None and names_newest(name):
            try:
                return tb.find(name)
            except WhichSession as error:
                from takeback.words.sessions import whose

                newest = tb.newest_session()
                self.output.note(f"{whose(newest, time.time())}; {error.hint}")
                return tb.find(name, session=newest.id)
        return self.find(tb, name, session)

    def refuse_dry_run(self, verb: str, *, hint: str = "") -> None:
        """Raises UsageError: a command that cannot do a dry run must not act instead."""
        if self.dry_run:
            raise UsageError(f"{verb} has no dry run; nothing was done", hint=hint)

    def begin(self, verb: str) -> None:
        """Goes to where a command is to work; raises if it may not be called from inside a turn."""
        self.enter_directory()
        if FROM_INSIDE[verb] == REFUSED and not self.dry_run:
            from takeback.app.caller import refuse_inside

            refuse_inside(verb, os.environ)

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
