"""The group of commands, and the one place where an exception becomes an exit status."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from takeback import durable
from takeback.cli.global_options import global_options
from takeback.cli.options import Call
from takeback.cli.output import flush, prepare_streams
from takeback.cli.terminal import Unanswered
from takeback.errors import Bug, TakebackError, UsageError, WriteFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = (
    "init",
    "pick",
    "status",
    "checkpoint",
    "log",
    "sessions",
    "tree",
    "search",
    "show",
    "diff",
    "cat",
    "blame",
    "compare",
    "rewind",
    "revert",
    "apply",
    "bisect",
    "undo",
    "redo",
    "fork",
    "label",
    "verify",
    "doctor",
    "prune",
    "purge",
    "config",
    "off",
    "on",
    "forget",
    "uninstall",
    "serve",
    "demo",
    "hook",
    "completion",
)
"""In the order of the help. A command's module has its name."""

FAILED, INTERRUPTED, PIPE_CLOSED = 1, 130, 141
COMPLETE = "_TAKEBACK_COMPLETE"


class Commands(click.Group):
    """Imports a command when it is called: the others cost nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"takeback.cli.commands.{cmd_name}").command
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
    from takeback.cli.terminal import is_terminal

    person = is_terminal(sys.stdin) and is_terminal(sys.stdout)
    name = "pick" if person and not context.obj.json else "status"
    command = takeback.get_command(context, name)
    assert command is not None
    with command.make_context(name, [], parent=context) as inner:
        return command.invoke(inner)


def run(args: Sequence[str]) -> int:
    """Runs one call and returns its exit status; no exception leaves it."""
    durable.unmask_owner()
    prepare_streams()
    words = list(args)
    before_paths = words[: words.index("--")] if "--" in words else words
    # Determined before parsing, which may fail and has to say so in the right form.
    call = Call(json="--json" in before_paths)
    try:
        try:
            return _answered(words, call)
        finally:
            call.close()
    except Bug as error:
        return _bug(call, error)
    except TakebackError as error:
        if isinstance(error.__cause__, BrokenPipeError):
            return _reader_gone()
        return _say(call, error)
    except click.UsageError as error:
        from takeback.cli.usage import worded

        return _say(call, worded(error, next((word for word in words if word in COMMANDS), "")))
    except click.ClickException as error:
        return _say(call, TakebackError(error.format_message()))
    except Unanswered as left:
        from takeback.words.text import NOTHING_CHANGED

        call.output.note(str(left) or NOTHING_CHANGED)
        return INTERRUPTED
    except (KeyboardInterrupt, click.Abort):
        return _say(call, Interrupted())
    except BrokenPipeError:
        return _reader_gone()
    except OSError as error:  # from this face itself: the layers below report their own
        return _say(call, WriteFailed.of("the command", error))
    except Exception as error:
        return _bug(call, error)


def _answered(words: list[str], call: Call) -> int:
    """Runs the command and flushes: a full disk or a closed pipe must not look like success."""
    try:
        status = _invoke(words, call)
    except click.exceptions.Exit as end:
        status = end.exit_code
    flush()
    return status


def _invoke(words: list[str], call: Call) -> int:
    if COMPLETE in os.environ:
        from takeback.cli.completing import complete

        return complete(takeback, call, COMPLETE, os.environ[COMPLETE])
    with takeback.make_context("takeback", words, obj=call) as context:
        status = takeback.invoke(context)
    return status if isinstance(status, int) else 0


class Interrupted(TakebackError):
    """The person pressed Ctrl+C."""

    code = "interrupted"
    exit_status = INTERRUPTED

    def __init__(self) -> None:
        hint = "an operation that had begun is finished by the next changing command"
        super().__init__("interrupted", hint=hint)


def _say(call: Call, error: TakebackError) -> int:
    from takeback.words.errors import said

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
    bug = error if isinstance(error, Bug) else Bug(error)
    if call.verbose:
        import traceback

        sys.stderr.write("".join(traceback.format_exception(error)))
    return _say(call, bug)


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
