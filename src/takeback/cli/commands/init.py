"""takeback init"""

from __future__ import annotations

import os
import sys

import click

from takeback import config
from takeback.cli import edits
from takeback.cli.call import Call
from takeback.cli.options import completed_by, verb
from takeback.cli.terminal import Unanswered, agrees
from takeback.paths import takeback_home
from takeback.visible import shown
from takeback.words.pruning import retention
from takeback.words.status import connected_line, edits_document

DECLINED = 1


@verb("init", shows=("--yes", "--dry-run"))
@click.argument("agents", metavar="[AGENT...]", nargs=-1, shell_complete=completed_by("agents"))
@click.option("--here", is_flag=True, help="Only for this project, not for all.")
def command(call: Call, agents: tuple[str, ...], here: bool) -> int:
    """Connect the coding agents on this machine.

    Their settings get hooks that call takeback; the edits are shown and asked about first, what
    else stands in the settings stays, and a second time changes nothing. AGENT is claude, codex,
    copilot, gemini, kilo, opencode, pi, qwen, or one of another package
    (docs/agents/your-own.md); without one it is all that are installed.

    At a terminal it offers to make the first checkpoint here, which takes longest. With --yes or
    without a terminal the first prompt makes it: the agent goes on after hook_seconds, and the
    capture goes on beside it.
    """
    from takeback.app import connect

    output, environ = call.output, os.environ
    connect.check_environment(environ, os.getcwd())
    place = os.getcwd() if here else None
    planned = connect.plan_connecting(agents, environ, here=place)
    changing = [one for one in planned if one.changes]
    if not call.json:
        output.aside(_about(takeback_home(environ), config.for_all(environ)))
    edits.show(call, changing)
    if not planned:
        output.line("No agent was found on this machine; name one: takeback init claude")
    if call.dry_run:
        output.document("init", edits_document(planned, done=False))
        return 0
    if not edits.agreed(call, changing, "init"):
        output.note("Nothing was changed.")
        return DECLINED
    connect.connect(planned, environ)
    output.document("init", edits_document(planned, done=True))
    for one in planned:
        output.line(connected_line(one, one.connection.hindrance(environ, place)))
    if call.can_ask and sys.stderr.isatty() and not call.yes:
        _offer_first(call)
    return 0


def _about(home: str, settings: config.Settings) -> list[str]:
    return [
        "takeback keeps the files of each project that an agent works in, and the transcripts,",
        f"in {shown(home)}, readable by you alone, sent nowhere. "
        "Opt out: takeback off. Delete: takeback forget DIR.",
        retention(settings),
    ]


def _offer_first(call: Call) -> None:
    """Offers the first capture here, which takes longer than any other."""
    from takeback.errors import NotAWorkspace

    try:
        call.open("init", note=False).close()
    except NotAWorkspace as error:
        try:
            wanted = error.new and agrees("Make the first checkpoint here now?")
        except Unanswered:
            raise Unanswered("No checkpoint was made.") from None  # but the agents are connected
        if wanted:
            with call.open("checkpoint", create=True, note=False) as tb:
                made = tb.checkpoint()
            call.output.line(f"Made a checkpoint: {made.checkpoint.id}")
