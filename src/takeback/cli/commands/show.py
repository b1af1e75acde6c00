"""takeback show"""

from __future__ import annotations

import time

import click

from takeback.cli import documents, render
from takeback.cli.options import Call, name_text, verb


@verb("show")
@click.argument("checkpoint", metavar="[CP]", type=name_text, default="@")
def command(call: Call, checkpoint: str) -> int:
    """Show one checkpoint in full, by default the newest.

    What changed in it, what was checked out then, and what it does not hold.
    """
    with call.open("show") as tb:
        found = tb.show(checkpoint)
    output = call.output
    output.document("checkpoint", documents.shown_checkpoint(found))
    output.lines(render.shown_lines(found, output.paint, time.time()))
    return 0
