"""takeback show"""

from __future__ import annotations

import time

import click

from takeback.cli.options import Call, completed_by, name_text, session_option, verb
from takeback.cli.pager import paged
from takeback.words import documents, render


@verb("show")
@click.argument(
    "checkpoint",
    metavar="[CP]",
    type=name_text,
    required=False,
    shell_complete=completed_by("checkpoints"),
)
@session_option
def command(call: Call, checkpoint: str | None, session: str | None) -> int:
    """Show one checkpoint or turn in full; by default the newest.

    What changed in it and who did it, the tools that were used, what was checked out then, and
    what it does not hold.
    """
    with call.open("show") as tb:
        place = call.look_up(tb, "@" if checkpoint is None else checkpoint, session)
        found = tb.show(place if checkpoint is not None else tb.beginning_of(place))
        output = call.output
        output.document("checkpoint", documents.shown_checkpoint(found))
        with paged(call, tb):
            output.lines(render.shown_lines(found, output.paint, time.time()))
    return 0
