"""takeback bisect"""

from __future__ import annotations

import signal
import sys

import click

from takeback.app import proposal
from takeback.cli.call import Call
from takeback.cli.dialogue import Dialogue
from takeback.cli.options import completed_by, name_text, seconds, session_option, verb
from takeback.cli.terminal import agrees
from takeback.errors import Command, TakebackError, UsageError
from takeback.model.coverage import NO_OVERRIDES
from takeback.words import bisections

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict, Unpack

    from takeback.app.engine import Engine
    from takeback.bisect.bisect import Bisected, Bisection, Run

    class Options(TypedDict):
        """The options of the command."""

        copies: tuple[str, ...]
        timeout: float | None
        resume: bool
        reset: bool
        session: str | None


_NOT_TOLD = 1
_ENDING = (signal.SIGTERM, signal.SIGHUP)


@verb("bisect", words=True)
@click.argument(
    "good",
    metavar="[GOOD]",
    type=name_text,
    required=False,
    shell_complete=completed_by("checkpoints"),
)
@click.argument(
    "bad",
    metavar="[BAD]",
    type=name_text,
    required=False,
    shell_complete=completed_by("checkpoints"),
)
@click.option(
    "--with",
    "copies",
    metavar="PATH",
    multiple=True,
    help="Also a copy of what no checkpoint holds, such as .venv or node_modules.",
)
@click.option("--timeout", metavar="TIME", type=seconds, help="A longer run is bad: 90s, 10m, 2h.")
@click.option("--resume", is_flag=True, help="Carry on what was begun and not finished.")
@click.option("--reset", is_flag=True, help="Give up what was begun and not finished.")
@session_option
def bisect_command(
    call: Call,
    good: str | None,
    bad: str | None,
    words: tuple[str, ...],
    **options: Unpack[Options],
) -> int:
    """Find the turn between two checkpoints that broke a command.

    Runs CMD on the files as they were after some of the turns in between, in a scratch directory
    and never in the workspace: `takeback bisect turn:3 @ -- make test`. CMD ends with 0 where all
    is well, with 125 where that cannot be told, and otherwise with 1 to 127; 128 and above, or a
    signal, breaks off. With -v its output is shown. Ctrl-C keeps what was found: --resume.
    """
    call.refuse_dry_run("bisect", hint="nothing is changed in the workspace anyway")
    if (options["resume"] or options["reset"]) and (good or bad or words):
        raise UsageError("--resume and --reset take no checkpoint and no command")
    with call.open("bisect") as tb:
        if options["reset"]:
            given_up = tb.reset_bisection()
            call.output.document("bisect_reset", {"given_up": given_up})
            call.output.line("Gave it up." if given_up else "Nothing was under way.")
            return 0
        if options["resume"]:
            return _run(call, tb, tb.bisection_under_way())
        if good is None or bad is None or not words:
            raise UsageError(
                "bisect needs a good checkpoint, a bad one, and a command",
                hint=("for example: ", Command("bisect", "turn:3", "@", "--", "make", "test")),
            )
        first, last = (call.look_up(tb, name, options["session"]) for name in (good, bad))
        asked = tb.bisection(
            first, last, words, copies=options["copies"], timeout=options["timeout"]
        )
        return _run(call, tb, asked)


def _run(call: Call, tb: Engine, bisection: Bisection) -> int:
    output = call.output

    def heard(run: Run) -> None:
        if call.json:
            output.document("bisect_run", bisections.run_document(run))
        else:
            output.note(bisections.run_line(run))

    try:
        with _Ended():
            found = bisection.run(heard, sys.stderr if call.verbose else None)
    except KeyboardInterrupt:
        output.note("What was found so far is kept: takeback bisect --resume")
        raise
    changes = tb.broken_by(found)
    output.document("bisect", bisections.found_document(found, changes))
    output.lines(bisections.found_lines(found, changes, output.paint))
    return _offer(call, tb, found) if found.told else _NOT_TOLD


class _Ended:
    """Makes a call that is ended, or whose terminal is closed, end the command that it runs.

    That one is in a process group of its own, so nobody else would.
    """

    def __enter__(self) -> None:
        self._before = {one: signal.signal(one, _interrupt) for one in _ENDING}

    def __exit__(self, *exc: object) -> None:
        for one, before in self._before.items():
            signal.signal(one, before)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _offer(call: Call, tb: Engine, found: Bisected) -> int:
    """Says how to take back what was found and, at a terminal, asks whether to do so."""
    turn = found.broken[-1].turn
    if turn is None:
        return 0
    name = _name(tb, found)
    call.output.line(f"Its diff: takeback diff {found.good.checkpoint.id} {turn.after.id}")
    call.output.line(f"Take it back: takeback revert {name}")
    if call.can_ask and agrees("Revert it now?"):
        return Dialogue(call, tb, proposal.revert([turn]), NO_OVERRIDES).ask_and_go()
    return 0


def _name(tb: Engine, found: Bisected) -> str:
    """Returns the short name of the turn that was found if it means that very turn here."""
    turn = found.broken[-1].turn
    assert turn is not None
    try:
        short = f"turn:{turn.turn.number}"
        if tb.turn(short).turn.id == turn.turn.id:
            return short
    except TakebackError:
        pass
    return turn.turn.id
