"""takeback log"""

from __future__ import annotations

import sys
import time

import click

from takeback.cli.earlier import mention
from takeback.cli.options import Call, completed_by, name_text, verb
from takeback.cli.pager import paged
from takeback.cli.terminal import terminal_width
from takeback.errors import UsageError
from takeback.words import documents
from takeback.words.listing import Columns, older, stand_elsewhere
from takeback.words.operations import operation_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.engine import Engine
    from takeback.ops.timeline import Listing

NEWEST = 30
"""How many entries a person is shown by default."""


@verb("log", paths=True)
@click.option(
    "--session",
    metavar="ID",
    type=name_text,
    help="Only the checkpoints of one session.",
    shell_complete=completed_by("sessions"),
)
@click.option(
    "--all", "everything", is_flag=True, help="Everything: rounds, ends and undo snapshots, too."
)
@click.option(
    "-n",
    "number",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"At most N of them. For people {NEWEST} without it, for --json and --all no limit.",
)
@click.option("--operations", is_flag=True, help="The operation log instead: rewinds, undos.")
def command(
    call: Call,
    session: str | None,
    everything: bool,
    number: int | None,
    operations: bool,
    paths: tuple[str, ...],
) -> int:
    """List turns and checkpoints with what changed, newest first.

    With paths, it is their history over all turns and sessions: what changed one of them, by whom,
    under the names that it had earlier, too.
    A session that a rewind made and nobody has gone on with stands below the turn that it was
    cut from. On a terminal the lines are as wide as it is, and a pager shows them: TAKEBACK_PAGER,
    else PAGER, else less, none of them from a workspace.
    """
    with call.open("log") as tb:
        limit = -1 if number is None else number
        if operations:
            if paths:
                raise UsageError("--operations takes no paths", hint=("leave one of them out",))
            return _operations(call, tb, session, limit)
        if number is None and not call.json and not everything:
            limit = NEWEST
        if call.json:
            for entry in tb.checkpoints(
                session=session, everything=everything, limit=limit, paths=paths
            ):
                call.output.document("checkpoint", documents.timeline_entry(entry))
        else:
            found = tb.listing(session=session, everything=everything, limit=limit, paths=paths)
            _print(call, tb, found, whose=bool(paths))
            if found.elsewhere is not None and not paths:
                call.output.note(stand_elsewhere(found.elsewhere, time.time()))
            if number is None and found.more:
                call.output.note(older(found.more, limit, paths))
        mention(call, tb)
    return 0


def _print(call: Call, tb: Engine, found: Listing, *, whose: bool) -> None:
    output, now = call.output, time.time()
    columns = Columns(found, output.paint, now, room=terminal_width(sys.stdout), whose=whose)
    with paged(call, tb):
        output.lines(columns.all_lines())


def _operations(call: Call, tb: Engine, session: str | None, limit: int) -> int:
    output, now = call.output, time.time()
    one = None if session is None else tb.session_meant(session)
    found = [done for done in tb.operation_log() if one in (None, done.session)]
    found.reverse()
    some = found if limit < 0 else found[:limit]
    with paged(call, tb):
        for done in some:
            output.document("operation", documents.operation(done))
            output.line(operation_line(done, output.paint, now))
    return 0
