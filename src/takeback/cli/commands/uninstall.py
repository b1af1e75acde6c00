"""takeback uninstall"""

from __future__ import annotations

import os

import click

from takeback.cli import edits
from takeback.cli.call import Call
from takeback.cli.options import completed_by, verb
from takeback.words.status import edits_document

DECLINED = 1


@verb("uninstall", shows=("--yes", "--dry-run"))
@click.argument("agents", metavar="[AGENT...]", nargs=-1, shell_complete=completed_by("agents"))
@click.option("--here", is_flag=True, help="Only what was connected for this project.")
def command(call: Call, agents: tuple[str, ...], here: bool) -> int:
    """Disconnect agents; every checkpoint is kept.

    Takes out of the agents' settings what `takeback init` wrote; a file that nobody has touched
    since is byte for byte what it was before.
    """
    from takeback.app import connect

    output, environ = call.output, os.environ
    planned = connect.plan_disconnecting(agents, environ, here=os.getcwd() if here else None)
    changing = [one for one in planned if one.changes]
    edits.show(call, changing)
    if call.dry_run:
        output.document("uninstall", edits_document(planned, done=False))
        return 0
    if not edits.agreed(call, changing, "uninstall"):
        output.note("Nothing was changed.")
        return DECLINED
    connect.disconnect(planned, environ)
    output.document("uninstall", edits_document(planned, done=True))
    names = ", ".join(one.connection.title for one in changing)
    done = f"Disconnected {names}." if names else "No agent was connected."
    output.line(f"{done} Every checkpoint is kept.")
    return 0
