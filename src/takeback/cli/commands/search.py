"""takeback search"""

from __future__ import annotations

import time

import click

from takeback.cli.options import Call, name_text, verb
from takeback.words import documents
from takeback.words.sessions import found_line

NOTHING_FOUND = 1


@verb("search")
@click.argument("text", metavar="TEXT", type=name_text)
@click.option("-n", "number", type=click.IntRange(min=0), metavar="N", help="At most N lines.")
def command(call: Call, text: str, number: int | None) -> int:
    """Find checkpoints by what was asked or which files changed.

    The newest comes first. The exit status is 1 if nothing was found.
    """
    with call.open("search") as tb:
        found = tb.search(text, limit=-1 if number is None else number)
    output, now = call.output, time.time()
    for item in found:
        output.document("found", documents.found(item))
        output.line(found_line(item, output.paint, now))
    return 0 if found else NOTHING_FOUND
