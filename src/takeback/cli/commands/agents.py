"""takeback init, uninstall, off, on: which agents are recorded, and where."""

from __future__ import annotations

import os
import sys

import click

from takeback import config
from takeback.check.settings import edit_for_workspace, set_setting
from takeback.cli.call import Call
from takeback.cli.dialogue import require_yes
from takeback.cli.options import completed_by, verb
from takeback.cli.terminal import Unanswered, agrees, ask
from takeback.paths import takeback_home
from takeback.visible import shown
from takeback.words.pruning import retention
from takeback.words.status import connected_line, edit_lines, edits_document, summary_lines
from takeback.words.text import shown_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.app.connect import Connecting


# -- edits of agents' settings at the terminal: a line each, the diffs on request, a question


_QUESTION = "Make these edits (d shows them)? [y/N] "


def show(call: Call, changing: Sequence[Connecting]) -> None:
    """Says on stderr which files would be edited; in full for a dry run and with -v."""
    whole = call.dry_run or call.verbose
    for one in changing if not call.json else ():
        lines = edit_lines if whole else summary_lines
        call.output.aside(lines(one, call.output.paint_stderr))


def agreed(call: Call, changing: Sequence[Connecting], what: str) -> bool:
    """Asks whether to make the edits, unless already told; raises Refused if nobody is there."""
    if not changing or call.yes:
        return True
    require_yes(call, what)
    while True:
        typed = ask(_QUESTION).lower()
        if typed != "d":
            return typed in ("y", "yes")
        for one in changing:
            call.output.aside(edit_lines(one, call.output.paint_stderr))


# -- switches the recording of agents' events in one workspace


def switch(call: Call, *, capture: str) -> int:
    """Writes the setting for this workspace and says what it means."""
    with call.open(capture, create=True, note=False) as tb:
        root = tb.root
        if not call.dry_run:
            set_setting(edit_for_workspace(tb.store_directory, "capture", capture))
    done = not call.dry_run
    call.output.document("capture", {"capture": capture, "done": done})
    words = "not recorded" if capture == "off" else "recorded"
    would = "" if done else " (nothing was changed: a dry run)"
    call.output.line(f"What agents do in {shown_path(root)} is {words} from now on{would}.")
    return 0


# -- takeback init


DECLINED = 1


@verb("init", shows=("--yes", "--dry-run"))
@click.argument("agents", metavar="[AGENT...]", nargs=-1, shell_complete=completed_by("agents"))
@click.option("--here", is_flag=True, help="Only for this project, not for all.")
def init_command(call: Call, agents: tuple[str, ...], here: bool) -> int:
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
    show(call, changing)
    if not planned:
        output.line("No agent was found on this machine; name one: takeback init claude")
    if call.dry_run:
        output.document("init", edits_document(planned, done=False))
        return 0
    if not agreed(call, changing, "init"):
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


# -- takeback uninstall


@verb("uninstall", shows=("--yes", "--dry-run"))
@click.argument("agents", metavar="[AGENT...]", nargs=-1, shell_complete=completed_by("agents"))
@click.option("--here", is_flag=True, help="Only what was connected for this project.")
def uninstall_command(call: Call, agents: tuple[str, ...], here: bool) -> int:
    """Disconnect agents; every checkpoint is kept.

    Takes out of the agents' settings what `takeback init` wrote; a file that nobody has touched
    since is byte for byte what it was before.
    """
    from takeback.app import connect

    output, environ = call.output, os.environ
    planned = connect.plan_disconnecting(agents, environ, here=os.getcwd() if here else None)
    changing = [one for one in planned if one.changes]
    show(call, changing)
    if call.dry_run:
        output.document("uninstall", edits_document(planned, done=False))
        return 0
    if not agreed(call, changing, "uninstall"):
        output.note("Nothing was changed.")
        return DECLINED
    connect.disconnect(planned, environ)
    output.document("uninstall", edits_document(planned, done=True))
    names = ", ".join(one.connection.title for one in changing)
    done = f"Disconnected {names}." if names else "No agent was connected."
    output.line(f"{done} Every checkpoint is kept.")
    return 0


# -- takeback off


@verb("off")
def off_command(call: Call) -> int:
    """Stop recording what agents do in this workspace.

    What is kept stays, and checkpoints by hand, rewind and undo go on working. `takeback on`
    records again. For one agent: start it with TAKEBACK=off. For many directories: the
    settings never, only.
    """
    return switch(call, capture="off")


# -- takeback on


@verb("on")
def on_command(call: Call) -> int:
    """Record again what agents do in this workspace."""
    return switch(call, capture="on")
