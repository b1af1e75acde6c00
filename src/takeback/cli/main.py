"""The group of commands, as the parser knows them."""

from __future__ import annotations

import os
from importlib import import_module

import click

from takeback.cli.call import COMPLETE, guarded
from takeback.cli.options import global_options
from takeback.errors import TakebackError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.cli.call import Call

COMMANDS = {
    "init": "agents",
    "pick": "state",
    "status": "state",
    "checkpoint": "checkpoint",
    "run": "run",
    "log": "look",
    "sessions": "look",
    "tree": "look",
    "search": "look",
    "show": "look",
    "diff": "look",
    "cat": "look",
    "blame": "look",
    "compare": "look",
    "rewind": "rewind",
    "revert": "rewind",
    "apply": "rewind",
    "bisect": "bisect",
    "undo": "rewind",
    "redo": "rewind",
    "fork": "fork",
    "summarise": "fork",
    "label": "checkpoint",
    "verify": "store",
    "doctor": "state",
    "prune": "store",
    "purge": "store",
    "config": "state",
    "off": "agents",
    "on": "agents",
    "forget": "store",
    "uninstall": "agents",
    "serve": "hosts",
    "acp": "hosts",
    "mcp": "hosts",
    "demo": "demo",
    "hook": "hosts",
    "completion": "completion",
}
"""In the order of the help, with the module that has the command."""


class Commands(click.Group):
    """Imports a command when it is called: the others cost nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"takeback.cli.commands.{COMMANDS[cmd_name]}")
        command = getattr(module, f"{cmd_name}_command")
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = get_close_matches(args[0].lower(), COMMANDS, n=1)
            hint = f"did you mean: takeback {near[0]}" if near else "the commands: takeback --help"
            raise UsageError(f"there is no command {args[0]!r}", hint=hint)
        return super().resolve_command(ctx, args)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    params=[*global_options()],
    context_settings={"help_option_names": ["-h", "--help"]},
    subcommand_metavar="[COMMAND] [ARGS]...",
)
@click.pass_context
def takeback(context: click.Context) -> object:
    """Takes back any turn of a coding agent: files, conversation, or both; undo takes back that.

    Without a command: the picker; status where there is no terminal. A checkpoint CP is named
    by its id or the beginning of it, by its label, by turn:3 (before that turn) or turn:3.end,
    by @ (the newest), @~1 (the one before), by green (the newest at which tests passed), by a time
    such as 10m or 14:05, or by OP.before and OP.after, the states around an operation. SESSION/CP
    names one of another session.
    """
    if context.invoked_subcommand is not None:
        return None
    name = context.obj.verb_meant()
    command = takeback.get_command(context, name)
    assert command is not None
    with command.make_context(name, [], parent=context) as inner:
        return command.invoke(inner)


def run(args: Sequence[str]) -> int:
    """Runs one call and returns its exit status; no exception leaves it."""
    words = list(args)
    return guarded(lambda call: _answered(words, call), words)


def _answered(words: list[str], call: Call) -> int:
    """Runs the command that is meant; what the parser has to say is said in our words."""
    try:
        return _invoke(words, call)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.UsageError as error:
        from takeback.cli.options import worded

        verb = next((word for word in words if word in COMMANDS), "")
        raise worded(error, verb) from None
    except click.ClickException as error:
        raise TakebackError(error.format_message()) from None
    except click.Abort:
        raise KeyboardInterrupt from None


def _invoke(words: list[str], call: Call) -> int:
    if COMPLETE in os.environ:
        from takeback.cli.commands.completion import complete

        return complete(takeback, call, COMPLETE, os.environ[COMPLETE])
    with takeback.make_context("takeback", words, obj=call) as context:
        status = takeback.invoke(context)
    return status if isinstance(status, int) else 0
