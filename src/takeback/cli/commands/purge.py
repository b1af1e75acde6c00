"""takeback purge"""

from __future__ import annotations

import click

from takeback.cli.call import Call
from takeback.cli.options import verb
from takeback.cli.terminal import ask
from takeback.errors import PartlyDone, Refused
from takeback.visible import shown
from takeback.words import purging


@verb("purge", shows=("--dry-run",))
@click.argument("names", metavar="PATH|PATTERN...", nargs=-1, required=True)
@click.option(
    "--confirm",
    metavar="PATH",
    multiple=True,
    help="What is to be purged, once more, instead of typing it; for each PATH one.",
)
def command(call: Call, names: tuple[str, ...], confirm: tuple[str, ...]) -> int:
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
