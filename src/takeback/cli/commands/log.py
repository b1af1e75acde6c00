"""takeback log"""

from __future__ import annotations

import click

from takeback.cli.call import Call
from takeback.cli.options import completed_by, name_text, verb
from takeback.cli.plain_words import NEWEST, log


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
    return log(
        call,
        session=session,
        everything=everything,
        number=number,
        operations=operations,
        paths=paths,
    )
