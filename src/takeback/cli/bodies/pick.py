"""Opens the picker, or the numbered list where there is no screen."""

from __future__ import annotations

import os
import sys
import time

from takeback.cli.earlier import mention, open_or_offer
from takeback.cli.terminal import ask, is_terminal, terminal_width
from takeback.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.engine import Engine
    from takeback.cli.call import Call


def pick(call: Call) -> int:
    """Shows it until the person leaves."""
    if call.json:
        raise UsageError(
            "the picker is for people and has no JSON", hint="for programs: takeback log --json"
        )
    call.refuse_dry_run("pick", hint="nothing is done in it before its plan was shown")
    return open_screen() if can_show() else _numbered_list(call)


def can_show() -> bool:
    """Tells whether there is a terminal on which a screen can be drawn."""
    streams = (sys.stdin, sys.stdout, sys.stderr)  # it is drawn on stderr
    return all(map(is_terminal, streams)) and os.environ.get("TERM", "dumb") != "dumb"


def open_screen() -> int:
    """Opens the picker; what it has to say while open appears on its screen."""
    from takeback.app.engine import Engine
    from takeback.app.polled_reporter import PolledReporter
    from takeback.tui.run import open_picker
    from takeback.words.earlier import offer

    reporter = PolledReporter()

    def opening() -> Engine:
        return Engine.open(".", create=False, reporter=reporter, holder="pick", bounded=True)

    def opened() -> Engine:
        tb = open_or_offer(opening, can_ask=True)
        line = offer(tb.earlier_stores, time.time())
        if line:
            reporter.note(line)
        return tb

    return open_picker(opened, environ=os.environ, reporter=reporter)


def _numbered_list(call: Call) -> int:
    from takeback.cli.plain import pick_plain

    with open_or_offer(lambda: call.open("pick", note=False), can_ask=call.can_ask) as tb:
        mention(call, tb)
        return pick_plain(
            tb, ask=ask, say=call.output.line, now=time.time(), room=terminal_width(sys.stdout)
        )
