"""takeback log"""

from __future__ import annotations

import time

import click

from takeback.cli.earlier import mention
from takeback.cli.options import Call, completed_by, name_text, verb
from takeback.words import documents, render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app import Takeback


@verb("log")
@click.option(
    "--session",
    metavar="ID",
    type=name_text,
    help="Only the checkpoints of one session.",
    shell_complete=completed_by("sessions"),
)
@click.option("--all", "everything", is_flag=True, help="Rounds, ends and undo snapshots too.")
@click.option("-n", "number", type=click.IntRange(min=0), metavar="N", help="At most N lines.")
@click.option("--operations", is_flag=True, help="The operation log instead: rewinds, undos.")
def command(
    call: Call, session: str | None, everything: bool, number: int | None, operations: bool
) -> int:
    """List turns and checkpoints with what changed, newest first."""
    with call.open("log") as tb:
        limit = -1 if number is None else number
        if operations:
            return _operations(call, tb, session, limit)
        output, now = call.output, time.time()
        here = tb.current_place()
        for entry in tb.checkpoints(session=session, everything=everything, limit=limit):
            output.document("checkpoint", documents.timeline_entry(entry))
            output.lines(render.entry_lines(entry, output.paint, now, here))
        mention(call, tb)
    return 0


def _operations(call: Call, tb: Takeback, session: str | None, limit: int) -> int:
    output, now = call.output, time.time()
    one = None if session is None else tb.session_meant(session)
    found = [done for done in tb.operations() if one in (None, done.session)]
    found.reverse()
    for done in found if limit < 0 else found[:limit]:
        output.document("operation", documents.operation(done))
        output.line(render.operation_line(done, output.paint, now))
    return 0
