"""takeback forget"""

from __future__ import annotations

import os

import click

from takeback.cli.call import Call
from takeback.cli.options import completed_by, name_text, verb
from takeback.cli.terminal import ask
from takeback.errors import Refused
from takeback.model.path_text import to_bytes, to_text
from takeback.visible import shown
from takeback.words import documents
from takeback.words.text import count, shown_path, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.engine import Engine
    from takeback.app.gone import GoneWorkspace
    from takeback.ops.status import Status


@verb("forget", shows=("--yes", "--dry-run"))
@click.argument("workspace", metavar="DIR", shell_complete=completed_by("workspaces"))
@click.option("--name", metavar="NAME", help="The name of the workspace, instead of typing it.")
@click.option(
    "--earlier", metavar="ID", type=name_text, help="That of what stood at DIR before instead."
)
def command(call: Call, workspace: str, name: str | None, earlier: str | None) -> int:
    """Delete every checkpoint of one workspace, for good. Its files are not touched.

    The name of the workspace's directory has to be typed. DIR need not be there any more.
    """
    output = call.output
    with _opened(call, workspace, earlier) as tb:
        found = tb.status()
        what = f"{count(found.checkpoints, 'checkpoint')} of {shown_path(tb.root)}"
        if not call.dry_run:
            _require_name(call, tb, what, name)
            tb.forget()
    fields = _fields(found, deleted=not call.dry_run)
    output.document("forget", fields)
    if call.dry_run:
        output.line(f"Would delete {what} ({size(found.bytes)} in {shown(found.store)}).")
    else:
        output.done([f"Deleted {what}. The files are as they were."])
    return 0


def _opened(call: Call, workspace: str, earlier: str | None) -> Engine | GoneWorkspace:
    from takeback.app.gone import GoneWorkspace

    gone = GoneWorkspace.at(workspace, earlier, os.environ)
    if gone is not None:
        return gone
    if earlier is None:
        return call.open("forget", workspace)
    from takeback.app.engine import Engine
    from takeback.app.unclaimed import Unclaimed

    one = Engine.earlier_named(earlier, workspace)
    return Unclaimed.looking(one, workspace, warning="", holder="forget")


def _fields(found: Status, *, deleted: bool) -> documents.Document:
    return {
        **documents.path_fields(found.root, "workspace"),
        **documents.path_fields(to_bytes(found.store), "store"),
        "checkpoints": found.checkpoints,
        "bytes": found.bytes,
        "deleted": deleted,
    }


def _require_name(call: Call, tb: Engine | GoneWorkspace, what: str, name: str | None) -> None:
    wanted = to_text(os.path.basename(tb.root))
    if name is None and call.can_ask:
        name = ask(f"This deletes {what} for good.\nType its name, {shown(wanted)}, to go on: ")
    elif name is None or not (call.yes or call.can_ask):
        raise Refused(
            f"this deletes {what} for good, and there is no terminal to ask at",
            hint=f"say --yes --name {wanted}",
            flag="--yes --name",
        )
    if name != wanted:
        raise Refused(
            f"{name!r} is not the name of the workspace, which is {wanted!r}",
            hint=f"nothing was deleted; to delete it: --name {wanted}",
        )
