"""takeback prune, purge, forget, verify: the store itself."""

from __future__ import annotations

import os
import time
from contextlib import nullcontext

import click

from takeback.cli.call import Call
from takeback.cli.dialogue import DECLINED
from takeback.cli.options import completed_by, name_text, session_option, verb
from takeback.cli.terminal import agrees, ask
from takeback.errors import NotAWorkspace, Option, PartlyDone, Refused, UsageError
from takeback.model.path_text import to_bytes, to_text
from takeback.retention.prune import refused
from takeback.visible import shown
from takeback.words import documents, forgetting, pruning, purging, status
from takeback.words.text import NOTHING_CHANGED, count, shown_path, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.beginning import GoneWorkspace
    from takeback.app.engine import Engine
    from takeback.retention.earlier import Discarded
    from takeback.retention.prune import Prune


# -- takeback prune


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
def prune_command(
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


# -- takeback purge


@verb("purge", shows=("--dry-run",))
@click.argument("names", metavar="PATH|PATTERN...", nargs=-1, required=True)
@click.option(
    "--confirm",
    metavar="PATH",
    multiple=True,
    help="What is to be purged, once more, instead of typing it; for each PATH one.",
)
def purge_command(call: Call, names: tuple[str, ...], confirm: tuple[str, ...]) -> int:
    """Remove a secret from everything that is kept, for good.

    Every version of the files that match goes from every checkpoint, every saved file and every
    undo snapshot, also in the stores of all other workspaces; what quotes them in conversations,
    prompts and labels is blanked. All other checkpoints stay as they are. Then every object is
    searched, to prove it. A store that cannot be looked into is named, and the status is 3. The
    file in the workspace is not touched, and not captured from then on.

    A pattern such as '*.pem' matches at any depth; quote it for your shell.
    """
    output = call.output
    with call.open("purge", note=call.dry_run) as tb:
        planned = tb.plan_purge(*names)
        if call.dry_run:
            made = planned.outlook()
            output.document("purge", purging.document(made))
            output.lines(purging.outlook_lines(made))
            return PartlyDone.exit_status if made.unread else 0
        if not confirm and call.can_ask:
            output.aside(purging.outlook_lines(planned.outlook()))
            _ask(names)
        else:
            _check(names, confirm)
        done = tb.purge(planned)
    output.document("purge", purging.document(done))
    output.done(purging.done_lines(done))
    return 0 if done.is_sure else PartlyDone.exit_status


def _ask(names: tuple[str, ...]) -> None:
    wanted = " ".join(names)
    if ask(f"This cannot be undone. Type {shown(wanted)} to go on: ") != wanted:
        raise Refused(f"that is not {wanted!r}", hint="nothing was purged")


def _check(names: tuple[str, ...], confirm: tuple[str, ...]) -> None:
    wanted = " ".join(f"--confirm {name}" for name in names)
    if not confirm:
        raise Refused(
            "a purge cannot be undone, and there is no terminal to ask at",
            hint=f"look at it with --dry-run, then say {wanted}",
            flag="--confirm",
        )
    if sorted(confirm) != sorted(names):
        raise Refused(
            "what is confirmed is not what is to be purged",
            hint=f"nothing was purged; to purge it: {wanted}",
            flag="--confirm",
        )


# -- takeback forget


@verb("forget", shows=("--yes", "--dry-run"))
@click.argument(
    "workspace", metavar="[DIR]", required=False, shell_complete=completed_by("workspaces")
)
@click.option("--name", metavar="NAME", help="The name of the workspace, instead of typing it.")
@click.option(
    "--earlier", metavar="ID", type=name_text, help="That of what stood at DIR before instead."
)
@click.option("--now", is_flag=True, help="For good, at once, and what is in the trash of DIR.")
@click.option(
    "--restore",
    is_flag=True,
    is_eager=True,
    help="Bring back what was forgotten of DIR last; without DIR list what can be.",
)
def forget_command(
    call: Call,
    workspace: str | None,
    name: str | None,
    earlier: str | None,
    now: bool,
    restore: bool,
) -> int:
    """Put every checkpoint of one workspace into the trash. Its files are not touched.

    The name of the workspace's directory has to be typed. DIR need not be there any more. What was
    forgotten waits in the trash for grace_days, and --restore brings it back whole.
    """
    if restore:
        if now or name is not None:
            raise UsageError("--restore takes neither --now nor --name", hint="say one of them")
        return _bring_back(call, workspace, earlier)
    if workspace is None:
        raise UsageError("forget which workspace?", hint="takeback forget --help")
    trashed = _in_trash(workspace, earlier) if now else []
    opened = _opened(call, workspace, earlier, or_none=bool(trashed))
    with nullcontext() if opened is None else opened:
        return _forget(call, opened, trashed, name, now=now)


def _forget(
    call: Call,
    tb: Engine | GoneWorkspace | None,
    trashed: list[Discarded],
    name: str | None,
    *,
    now: bool,
) -> int:
    """Forgets what is kept of a workspace; with ``now`` for good, also what is in the trash."""
    from takeback.app.engine import Engine

    found = None if tb is None else tb.status()
    root = trashed[-1].root if found is None else found.root
    trashed = [one for one in trashed if one.root == root]
    checkpoints, total = (0, 0) if found is None else (found.checkpoints, found.bytes)
    for one in trashed:
        checkpoints, total = checkpoints + one.checkpoints, total + one.size
    store = found.store if found else trashed[-1].forgotten.location.directory
    fields: documents.Document = {
        **documents.path_fields(root, "workspace"),
        **documents.path_fields(to_bytes(store), "store"),
        "checkpoints": checkpoints,
        "bytes": total,
        "deleted": not call.dry_run,
    }
    output, what = call.output, f"{count(checkpoints, 'checkpoint')} of {shown_path(root)}"
    if call.dry_run:
        output.document("forget", {**fields, "final": now})
        where = f"({size(total)} in {shown(store)})"
        output.line(f"Would delete {what} {where}{'' if now else ', which waits in the trash'}.")
        return 0
    _require_name(call, root, f"deletes {what}{' for good' if now else ''}", name)
    kept = None if tb is None else tb.forget()
    if now:
        Engine.delete_forgotten([*trashed, *([kept] if kept else [])])
        kept = None
    output.document("forget", {**fields, "final": kept is None})
    output.done(forgetting.done_lines(what, kept))
    return 0


def _in_trash(workspace: str, earlier: str | None) -> list[Discarded]:
    from takeback.app.engine import Engine

    try:
        return Engine.forgotten(workspace, earlier)
    except (NotAWorkspace, UsageError):
        return []


def _opened(
    call: Call, workspace: str, earlier: str | None, *, or_none: bool
) -> Engine | GoneWorkspace | None:
    """Opens what is kept of a workspace; ``or_none`` if there need be nothing."""
    from takeback.app.beginning import GoneWorkspace

    try:
        gone = GoneWorkspace.at(workspace, earlier, os.environ)
        if gone is not None:
            return gone
        if earlier is None:
            return call.open("forget", workspace)
        from takeback.app.beginning import Unclaimed
        from takeback.app.engine import Engine

        one = Engine.earlier_named(earlier, workspace)
        return Unclaimed.looking(one, workspace, warning="", holder="forget")
    except (NotAWorkspace, UsageError):
        if or_none:
            return None
        raise


def _require_name(call: Call, root: bytes, does: str, name: str | None) -> None:
    wanted = to_text(os.path.basename(root))
    if name is None and call.can_ask:
        name = ask(f"This {does}.\nType its name, {shown(wanted)}, to go on: ")
    elif name is None or not (call.yes or call.can_ask):
        raise Refused(
            f"this {does}, and there is no terminal to ask at",
            hint=f"say --yes --name {wanted}",
            flag="--yes --name",
        )
    if name != wanted:
        raise Refused(
            f"{name!r} is not the name of the workspace, which is {wanted!r}",
            hint=f"nothing was deleted; to delete it: --name {wanted}",
        )


def _bring_back(call: Call, workspace: str | None, earlier: str | None) -> int:
    from takeback.app.engine import Engine

    output = call.output
    if workspace is None or call.dry_run:
        found = Engine.forgotten(workspace, earlier)
        output.document("forgotten", {"stores": [forgetting.kept_document(one) for one in found]})
        output.lines(forgetting.kept_lines(found, time.time()) if found else [forgetting.EMPTY])
        return 0
    made = Engine.bring_back(workspace, earlier)
    output.document("brought_back", {**forgetting.kept_document(made.kept), "aside": made.aside})
    output.done(forgetting.brought_back_lines(made))
    return 0


# -- takeback verify


@verb("verify")
@click.option("--read-data", is_flag=True, help="Read every byte of every object, too.")
def verify_command(call: Call, read_data: bool) -> int:
    """Check that everything that was kept reads back."""
    with call.open("verify") as tb:
        found = tb.verify(read_data=read_data)
    output = call.output
    output.document("verify", status.verified(found))
    checked = count(found.checkpoints, "checkpoint")
    if read_data:
        checked += f" and {count(found.objects, 'object')}"
    if not found.problems:
        output.done([f"Checked {checked}: everything reads back."])
        return 0
    output.lines(status.problem_lines(found, checked))
    return 1
