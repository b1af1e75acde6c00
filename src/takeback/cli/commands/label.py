"""takeback label"""

from __future__ import annotations

import click

from takeback.cli.call import Call
from takeback.cli.options import completed_by, name_text, verb
from takeback.words.choices import labelled


@verb("label")
@click.argument(
    "checkpoint", metavar="CP", type=name_text, shell_complete=completed_by("checkpoints")
)
@click.argument("name", metavar="[NAME]", type=name_text, required=False)
def command(call: Call, checkpoint: str, name: str | None) -> int:
    """Give a checkpoint a name; without a name, take it off."""
    call.refuse_dry_run("label", hint="which label it has: takeback show CP")
    output = call.output
    with call.open("label") as tb:
        before = call.look_up(tb, checkpoint)
        after = tb.label(before, name)
    document = {"id": after.id, "label": after.label, "label_by": after.label_by}
    output.document("label", {**document, "before": before.label})
    output.done([labelled(before, after)])
    return 0
