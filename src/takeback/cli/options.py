"""What a command is given, and how it takes its options before or after the verb."""

from __future__ import annotations

import os
import sys
import time

import click

from takeback.cli.from_inside import FROM_INSIDE, REFUSED
from takeback.cli.global_options import global_options
from takeback.cli.output import Output
from takeback.cli.terminal import TerminalReporter, choose, is_terminal
from takeback.errors import NoSuchCheckpoint, NotAWorkspace, UsageError, WhichSession
from takeback.model.naming import names_newest, needs_session
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from click.shell_completion import CompletionItem

    from takeback.app.engine import Engine
    from takeback.cli.completing import Completer
    from takeback.model.checkpoint import Checkpoint
    from takeback.ops.turn_names import NamedTurn

AFTER_DASHES = "takeback.after_dashes"
"""The key in a context's ``meta`` that says that paths may follow: true once ``--`` was typed."""
INTERRUPTED = "An operation was interrupted here; the next changing command finishes it."


class Call:
    """One call of takeback: the options of every command, the printer, the way to the app."""

    def __init__(self, *, json: bool = False) -> None:
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


def completed_by(name: str) -> Completer:
    """Returns the function of ``cli.completing`` with that name, imported when a shell asks."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> Any:
        from takeback.cli import completing

        return getattr(completing, name)(context, parameter, incomplete)

    return complete


def session_option(function: Callable[..., int]) -> Callable[..., int]:
    """Adds ``--session``: whose turns are meant."""
    return click.option(
        "--session",
        metavar="ID",
        type=name_text,
        help="The session that is meant: its id, the beginning of it, or the agent's name.",
        shell_complete=completed_by("sessions"),
    )(function)


def name_text(value: str) -> str:
    """Accepts the name of a checkpoint, label or session: anything that is valid text."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise click.BadParameter(f"{shown(value)} is not UTF-8 text") from None
    return value


class Verb(click.Command):
    """A command. It also takes the options of every command; ``shows`` are in its own help.

    With ``paths``, what follows ``--`` is handed to the function as ``paths``; with ``words`` it is
    the words of another command, handed on as ``words``. ``too_many`` is the hint if more is given
    than the command takes.
    """

    allow_extra_args = True  # we report those ourselves, with a better hint

    def __init__(
        self,
        *args: Any,
        shows: Iterable[str] = (),
        paths: bool = False,
        words: bool = False,
        too_many: str = "",
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self._too_many = too_many
        self._takes_paths = paths
        self._takes_words = words
        for option in global_options():
            option.hidden = option.opts[-1] not in shows
            self.params.append(option)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        pieces = super().collect_usage_pieces(ctx)
        if self._takes_words:
            return [*pieces, "[-- CMD...]"]
        return [*pieces, "[-- PATH...]"] if self._takes_paths else pieces

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self._takes_paths or self._takes_words:
            # By hand, as click treats the words after "--" like those before it.
            at = args.index("--") if "--" in args else len(args)
            ctx.params["paths" if self._takes_paths else "words"] = tuple(args[at + 1 :])
            ctx.meta[AFTER_DASHES] = at < len(args)
            if "" in ctx.params.get("paths", ()):
                raise UsageError("an empty path names nothing", hint="the whole workspace: .")
            args = args[:at]
        left = super().parse_args(ctx, args)
        if left and not ctx.resilient_parsing:
            from takeback.cli.usage import too_many

            hint = self._too_many or f"how it is called: {ctx.command_path} --help"
            raise too_many(ctx.command_path, left, takes_paths=self._takes_paths, hint=hint)
        return left

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        if ctx.meta.get(AFTER_DASHES):
            from takeback.cli.completing import paths

            return paths(ctx, self.params[0], incomplete)
        return super().shell_complete(ctx, incomplete)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        with formatter.section("Options of every command, explained by takeback --help"):
            hidden = [p for p in self.params if isinstance(p, click.Option) and p.hidden]
            formatter.write_text(" ".join(option.opts[-1] for option in hidden))

    def invoke(self, ctx: click.Context) -> Any:
        ctx.obj.enter_directory()
        if FROM_INSIDE[str(self.name)] == REFUSED and not ctx.obj.dry_run:
            from takeback.app.caller import refuse_inside

            refuse_inside(str(self.name), os.environ)
        return super().invoke(ctx)


def verb(
    name: str,
    *,
    shows: Iterable[str] = (),
    paths: bool = False,
    words: bool = False,
    too_many: str = "",
) -> Callable[[Callable[..., int]], Verb]:
    """Makes a command from a function that takes the call and returns an exit status."""

    def made(function: Callable[..., int]) -> Verb:
        command = click.command(
            name,
            cls=Verb,
            shows=shows,
            paths=paths,
            words=words,
            too_many=too_many,
            context_settings={"help_option_names": ["-h", "--help"]},
        )
        return command(click.pass_obj(function))

    return made
