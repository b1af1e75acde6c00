"""takeback forget"""

from __future__ import annotations

import os
import time
from contextlib import nullcontext

import click

from takeback.cli.call import Call
from takeback.cli.options import completed_by, name_text, verb
from takeback.cli.terminal import ask
from takeback.errors import NotAWorkspace, Refused, UsageError
from takeback.model.path_text import to_bytes, to_text
from takeback.visible import shown
from takeback.words import documents, forgetting
from takeback.words.text import count, shown_path, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.beginning import GoneWorkspace
    from takeback.app.engine import Engine
    from takeback.retention.earlier import Discarded


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
def command(
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
        return _restore(call, workspace, earlier)
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


def _restore(call: Call, workspace: str | None, earlier: str | None) -> int:
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
