"""takeback prune"""

from __future__ import annotations

import time

import click

from takeback.cli.call import Call
from takeback.cli.dialogue import DECLINED
from takeback.cli.options import completed_by, name_text, session_option, verb
from takeback.cli.terminal import agrees
from takeback.errors import Option, PartlyDone, Refused, UsageError
from takeback.retention.prune import refused
from takeback.words import documents, pruning
from takeback.words.text import NOTHING_CHANGED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.engine import Engine
    from takeback.retention.prune import Prune


@verb("prune", shows=("--yes", "--dry-run"))
@click.argument(
    "checkpoints",
    metavar="[CP]...",
    nargs=-1,
    type=name_text,
    shell_complete=completed_by("checkpoints"),
)
@session_option
@click.option("--all", "everything", is_flag=True, help="With --session: all of that session.")
@click.option(
    "--restore",
    metavar="[ID]",
    is_flag=False,
    flag_value="",
    type=name_text,
    help="Bring back what was dropped: the newest, or that of a prune or a checkpoint.",
)
def command(
    call: Call,
    checkpoints: tuple[str, ...],
    session: str | None,
    everything: bool,
    restore: str | None,
) -> int:
    """Drop the files of old checkpoints, or of those named.

    The settings say which are old. Prompts, labels, turn numbers and conversations stay: such a
    checkpoint has expired. What is pinned (a label, the newest turns, undo snapshots) keeps its
    files. What was dropped waits in the trash for grace_days, and --restore brings it back. It
    also happens by itself.
    """
    if everything and session is None:
        raise UsageError("--all goes with --session ID", hint="say which session")
    if restore is not None and (checkpoints or session is not None):
        raise UsageError("--restore takes one id and nothing else", hint="say --restore ID")
    if checkpoints and session is not None:
        raise UsageError("checkpoints and --session exclude each other", hint="say one of them")
    with call.open("prune", note=call.dry_run) as tb:
        if restore is not None:
            return _restore(call, tb, restore or None)
        meant = None if session is None else call.session_meant(tb, session)
        found = [call.find(tb, name) for name in checkpoints]
        return _prune(call, tb, tb.plan_prune(found, session=meant, everything=everything))


def _prune(call: Call, tb: Engine, planned: Prune) -> int:
    output, made = call.output, planned.outlook()
    stores = tb.all_stores() if planned.is_by_settings else None
    idle = made.is_idle and not (stores and stores.too_many)
    if call.dry_run or idle:
        if idle and planned.is_named:
            raise refused(made)
        gone, there = tb.gone_workspaces(), tb.trash()
        output.document(
            "prune",
            {
                **pruning.document(made),
                "done": False,
                "gone": [documents.path_fields(root) for root in gone],
                "together": pruning.together_document(stores),
            },
        )
        output.lines(pruning.outlook_lines(made))
        output.lines(pruning.together_lines(stores))
        output.lines(pruning.trash_lines(there, time.time()))
        output.lines(pruning.gone_lines(gone))
        return 0
    if not call.yes:
        if not call.can_ask:
            raise Refused(
                "prune drops files of checkpoints, and there is no terminal to ask at",
                hint=("look at it with ", Option("--dry-run"), ", then say ", Option("--yes")),
                flag="--yes",
            )
        output.aside(pruning.outlook_lines(made))
        output.aside(pruning.together_lines(stores))
        if not agrees(pruning.QUESTION):
            output.note(NOTHING_CHANGED)
            return DECLINED
    done = tb.prune(planned)
    stores = tb.all_stores() if planned.is_by_settings else None
    output.document(
        "prune",
        {
            **pruning.document(done),
            "done": True,
            "gone": [],
            "together": pruning.together_document(stores),
        },
    )
    output.done(pruning.done_lines(done, tb.settings["grace_days"]))
    output.aside(pruning.together_lines(stores))
    if not (planned.is_named and done.pinned):
        return 0
    output.aside(pruning.kept_lines(done))
    return PartlyDone.exit_status


def _restore(call: Call, tb: Engine, name: str | None) -> int:
    output = call.output
    if call.dry_run:
        there = tb.trash()
        output.document("trash", {"trash": pruning.trash_documents(there)})
        output.lines(pruning.trash_lines(there, time.time()) if there else ["The trash is empty."])
        return 0
    made = tb.restore(name)
    output.document("restore", pruning.restored(made))
    output.done(pruning.restored_lines(made))
    return 0
