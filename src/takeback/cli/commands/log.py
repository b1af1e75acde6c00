"""takeback log"""

from __future__ import annotations

import time

import click

from takeback.cli import documents, render
from takeback.cli.options import Call, name_text, verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app import Takeback


@verb("log")
@click.option(
    "--session", metavar="ID", type=name_text, help="Only the checkpoints of one session."
)
@click.option("--all", "everything", is_flag=True, help="Undo snapshots too.")
@click.option("-n", "number", type=click.IntRange(min=0), metavar="N", help="At most N lines.")
@click.option("--operations", is_flag=True, help="The operation log instead: rewinds, undos.")
def command(
    call: Call, session: str | None, everything: bool, number: int | None, operations: bool
) -> int:
    """List the checkpoints, newest first, with what changed in each."""
    with call.open("log") as tb:
        limit = -1 if number is None else number
        if operations:
            return _operations(call, tb, session, limit)
        output, now = call.output, time.time()
        for entry in tb.checkpoints(session=session, undo=everything, limit=limit):
            output.document("checkpoint", documents.timeline_entry(entry))
            output.line(render.entry_line(entry, output.paint, now))
    return 0


def _operations(call: Call, tb: Takeback, session: str | None, limit: int) -> int:
    output, now = call.output, time.time()
    found = [done for done in tb.operations() if session in (None, done.session)]
    found.reverse()
    for done in found if limit < 0 else found[:limit]:
        output.document("operation", documents.operation(done))
        output.line(render.operation_line(done, output.paint, now))
    return 0
