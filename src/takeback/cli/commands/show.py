"""takeback show"""

from __future__ import annotations

import time

import click

from takeback.cli.call import Call
from takeback.cli.options import completed_by, name_text, session_option, verb
from takeback.cli.terminal import paged
from takeback.model.naming import NEWEST
from takeback.words import documents, outcomes
from takeback.words.text import patch_lines


@verb("show", paths=True)
@click.argument(
    "checkpoint",
    metavar="[CP]",
    type=name_text,
    required=False,
    shell_complete=completed_by("checkpoints"),
)
@session_option
def command(call: Call, checkpoint: str | None, session: str | None, paths: tuple[str, ...]) -> int:
    """Show one checkpoint or turn in full; by default the newest.

    What changed in it and who did it, the tools that were used, what was checked out then, and
    what it does not hold. With paths, of the changes only those, and line by line.
    """
    with call.open("show") as tb:
        place = call.look_up(tb, NEWEST if checkpoint is None else checkpoint, session)
        if checkpoint is None:
            place = tb.beginning_of(place)
        output = call.output
        patch = b""
        if paths:
            found, patch = tb.show_files(place, paths)
        else:
            found = tb.show(place)
        fields = documents.shown_checkpoint(found)
        if paths:
            fields["patch"] = patch.decode("utf-8", "replace")
        output.document("checkpoint", fields)
        with paged(call, tb):
            output.lines(outcomes.shown_lines(found, output.paint, time.time()))
            if patch:
                output.lines(["", *patch_lines(patch, output.paint)])
    return 0
