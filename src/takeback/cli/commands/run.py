"""takeback run"""

from __future__ import annotations

import os
import sys
from functools import partial

import click

from takeback.cli.call import Call
from takeback.cli.options import completed_by, seconds, verb
from takeback.cli.program import Program
from takeback.cli.terminal import is_terminal
from takeback.errors import Command, Refused, TakebackError, UsageError
from takeback.words import outcomes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.protected_run import ProtectedRun


@verb("run", options_first=True)
@click.option(
    "--every",
    metavar="TIME",
    type=seconds,
    default="30s",
    help="While changes go on, a checkpoint at least so often: 30s (the default), 5m.",
)
@click.argument(
    "words",
    metavar="[--] CMD...",
    nargs=-1,
    type=click.UNPROCESSED,
    shell_complete=completed_by("files"),
)
def command(call: Call, every: float, words: tuple[str, ...]) -> int:
    """Run a program without hooks, and keep what it does by turns.

    A checkpoint before it starts, one whenever its changes have come to rest, one at its end. Each
    burst of changes is a turn; of aider each prompt. The program has the terminal and all streams
    as they are, and its exit status is passed on: 126 and 127 if it cannot be started.
    """
    call.refuse_dry_run("run")
    if not words:
        raise UsageError(
            "run needs a command", hint=("for example: ", Command("run", "--", "aider"))
        )
    from takeback.app.protected_run import ProtectedRun

    with call.open("run", create=True) as tb:
        off = tb.recording_off_by
        if off is not None:
            raise Refused(f"nothing is kept here ({off}); nothing was run", hint=_ON)
        name_turn = partial(outcomes.turn_words, words)
        watched = ProtectedRun(tb, words, os.environ, every=every, name_turn=name_turn)
        program = Program(words, {**os.environ, **watched.variables}, call.umask)
        watched.begin()
        with program:
            _follow(program, watched)
    line = outcomes.end_line(watched.turns, watched.failure)
    if line is not None and is_terminal(sys.stderr) and not call.json:
        call.output.note(line)
    return program.end_likewise()


_AGAIN = 1.0
_ON = ("keep it again: ", Command("on"))


def _follow(program: Program, watched: ProtectedRun) -> None:
    """Keeps what a program does until it has ended; what fails does not concern the program."""
    pause: float | None = 0.0
    while program.wait(pause, watched.queue):
        try:
            pause = watched.attend()
        except TakebackError as error:
            watched.fail(error)
            pause = _AGAIN
    try:
        watched.end()
    except TakebackError as error:
        watched.fail(error)
