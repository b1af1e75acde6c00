"""Options that all or many commands have, and what is said of wrong ones."""

from __future__ import annotations

from difflib import get_close_matches

import click

from takeback._version import __version__
from takeback.errors import UsageError
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from click.shell_completion import CompletionItem

    from takeback.cli.commands.completion import Completer


# -- the options that every command has, before or after its verb


def _no_pager(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.obj.pager = False


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value is not None and value is not False and parameter.name is not None:
        setattr(context.obj, parameter.name, value)


def _print_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        output = context.obj.output
        output.document("version", {"version": __version__})
        output.line(f"takeback {__version__}")
        context.exit()


def global_options() -> list[click.Option]:
    """Returns the options allowed before or after any verb, with nothing set."""

    def option(*names: str, **settings: Any) -> click.Option:
        return click.Option(list(names), expose_value=False, callback=_keep, **settings)

    color = click.Choice(["auto", "always", "never"])
    return [
        option("-C", "directory", metavar="DIR", help="Work as if started in DIR."),
        option("--json", is_flag=True, help="Answer in JSON (see docs/scripting.md)."),
        option("-y", "--yes", is_flag=True, help="Do it without a question."),
        option("--dry-run", is_flag=True, help="Say what would be done, and change nothing."),
        option("--color", type=color, help="Colour: auto (the default), always, never."),
        option("-q", "--quiet", is_flag=True, help="Say only what must be said."),
        option("-v", "--verbose", is_flag=True, help="Say more: long lists whole, bugs in full."),
        click.Option(
            ["--no-pager"],
            is_flag=True,
            expose_value=False,
            callback=_no_pager,
            help="Print long answers at once, also on a terminal.",
        ),
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Say the version and end.",
        ),
    ]


# -- how a command takes its options, before or after the verb


AFTER_DASHES = "takeback.after_dashes"
"""The key in a context's ``meta`` that says that paths may follow: true once ``--`` was typed."""


_UNITS = {"s": 1, "m": 60, "h": 3600}


def completed_by(name: str) -> Completer:
    """Returns the function of ``cli.completing`` with that name, imported when a shell asks."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> Any:
        from takeback.cli.commands import completion

        return getattr(completion, name)(context, parameter, incomplete)

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


def seconds(text: str) -> float:
    """Accepts a length of time: ``90``, ``90s``, ``10m`` or ``2h``."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "s")
    if not (number.isascii() and number.isdigit() and int(number)):
        raise click.BadParameter("a time is written 90s, 10m or 2h")
    return float(int(number) * _UNITS[unit])


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
            hint = self._too_many or f"how it is called: {ctx.command_path} --help"
            raise too_many(ctx.command_path, left, takes_paths=self._takes_paths, hint=hint)
        return left

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        if ctx.meta.get(AFTER_DASHES):
            from takeback.cli.commands.completion import paths

            return paths(ctx, self.params[0], incomplete)
        return super().shell_complete(ctx, incomplete)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        with formatter.section("Options of every command, explained by takeback --help"):
            hidden = [p for p in self.params if isinstance(p, click.Option) and p.hidden]
            formatter.write_text(" ".join(option.opts[-1] for option in hidden))

    def invoke(self, ctx: click.Context) -> Any:
        ctx.obj.begin(str(self.name))
        return super().invoke(ctx)


def verb(
    name: str,
    *,
    shows: Iterable[str] = (),
    paths: bool = False,
    words: bool = False,
    too_many: str = "",
    options_first: bool = False,
) -> Callable[[Callable[..., int]], Verb]:
    """Makes a command from a function that takes the call and returns an exit status.

    With ``options_first`` nothing after the first argument is an option of ours.
    """
    settings: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
    if options_first:
        settings["allow_interspersed_args"] = False

    def made(function: Callable[..., int]) -> Verb:
        command = click.command(
            name,
            cls=Verb,
            shows=shows,
            paths=paths,
            words=words,
            too_many=too_many,
            context_settings=settings,
        )
        return command(click.pass_obj(function))

    return made


# -- usage errors in takeback's own words: what was typed, and what could have been meant


def worded(error: click.UsageError, verb: str) -> UsageError:
    """Returns click's error as one of ours; ``verb`` is the command that was typed, if any."""
    where = error.ctx.command_path if error.ctx is not None else f"takeback {verb}".strip()
    how = f"how it is called: {where} --help"
    if isinstance(error, click.NoSuchOption):
        near = get_close_matches(error.option_name, _options(error.ctx), n=1, cutoff=0.75)
        hint = f"did you mean: {near[0]}; {how}" if near else how
        return UsageError(f"there is no option {error.option_name}", hint=hint)
    if isinstance(error, click.BadParameter) and error.param is not None:
        name = error.param.make_metavar(error.ctx or click.get_current_context())
        if isinstance(error.param, click.Option):
            name = max(error.param.opts, key=len)
        choices = error.param.type
        if isinstance(choices, click.Choice):
            missing = isinstance(error, click.MissingParameter)
            about = "is missing" if missing else "has no such value"
            values = ", ".join(map(str, choices.choices))
            name = name if isinstance(error.param, click.Option) else str(error.param.name)
            return UsageError(f"{name} {about}", hint=f"one of: {values}; {how}")
    return UsageError(_sentence(error), hint=how)


def too_many(where: str, words: Sequence[str], *, takes_paths: bool, hint: str) -> UsageError:
    """Says that a command was given more than it takes."""
    more = " ".join(words)
    if takes_paths:
        hint = f"paths stand after --: {where} ... -- {more}"
    return UsageError(f"{more!r} is more than {where} takes", hint=hint)


def _options(context: click.Context | None) -> list[str]:
    params = [] if context is None else context.command.params
    return [name for param in params if isinstance(param, click.Option) for name in param.opts]


def _sentence(error: click.ClickException) -> str:
    text = error.format_message().rstrip(".").replace("\n", " ").replace("\t", "")
    return text[:1].lower() + text[1:]
