"""takeback compare"""

from __future__ import annotations

import time

import click

from takeback.cli.call import Call
from takeback.cli.options import completed_by, name_text, session_option, verb
from takeback.cli.terminal import paged
from takeback.words import branches as words


@verb("compare")
@click.argument("first", metavar="A", type=name_text, shell_complete=completed_by("checkpoints"))
@click.argument("second", metavar="B", type=name_text, shell_complete=completed_by("checkpoints"))
@session_option
def command(call: Call, first: str, second: str, session: str | None) -> int:
    """Show side by side what two branches changed.

    A and B are sessions, checkpoints, directories that `takeback fork --worktree` made, or . for
    the files as they are now. `takeback diff A B` shows the lines, `takeback apply` brings a turn
    of one to the other.
    """
    with call.open("compare") as tb:
        found = tb.compare(first, second, session=session)
        output = call.output
        output.document("compare", words.document(found))
        with paged(call, tb):
            output.lines(words.branch_lines(found, output.paint, time.time()))
    return 0
