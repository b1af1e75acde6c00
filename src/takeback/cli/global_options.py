"""The options that every command has, before or after its verb."""

from __future__ import annotations

import click

from takeback._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
