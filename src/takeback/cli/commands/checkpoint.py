"""takeback checkpoint, label: a state kept by hand, and its name."""

from __future__ import annotations

import time

import click

from takeback.cli.call import Call
from takeback.cli.earlier import mention
from takeback.cli.options import completed_by, name_text, session_option, verb
from takeback.words import documents
from takeback.words.choices import labelled
from takeback.words.text import count, shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.turns.making import Made


# -- takeback checkpoint


_NAMED = 20
"""Of what was not captured. A project with more new files than fit would fill the screen."""


@verb("checkpoint")
@click.option(
    "-m",
    "--label",
    metavar="LABEL",
    type=name_text,
    help="A name for it, used by one checkpoint only.",
)
@session_option
@click.option(
    "--allow-large", is_flag=True, help="Leave no new file out for their size or number in all."
)
def checkpoint_command(
    call: Call, label: str | None, session: str | None, allow_large: bool
) -> int:
    """Make a checkpoint of the files as they are now.

    Files that git ignores are not part of it, except small ones, which are kept beside it.
    """
    call.refuse_dry_run("checkpoint", hint="what it would hold: takeback diff @ --stat")
    output = call.output
    with call.open("checkpoint", create=True, note=False) as tb:
        start = time.monotonic()
        made = tb.checkpoint(label, session=session, allow_large=allow_large)
        took = round((time.monotonic() - start) * 1000)
        changes = tb.show(made.checkpoint).entry.changes
        mention(call, tb)
    checkpoint = made.checkpoint
    if call.json:  # half a million of what was not captured take time to put into words
        output.document("checkpoint", documents.made(made, changed=len(changes), ms=took))
    else:
        output.aside(_left_out(made))
    if call.quiet:
        output.line(checkpoint.id)
        return 0
    files = count(checkpoint.files, "file")
    output.line(f"Made a checkpoint of {files}, {len(changes):,} changed: {checkpoint.id}")
    return 0


def _left_out(made: Made) -> Iterator[str]:
    for item in made.skipped[:_NAMED]:
        yield f"Not captured: {shown_file(item.path)} ({item.reason})."
    more = len(made.skipped) - _NAMED
    if more > 0:
        yield f"Not captured: {more:,} more; all of them: takeback show {made.checkpoint.id}"


# -- takeback label


@verb("label")
@click.argument(
    "checkpoint", metavar="CP", type=name_text, shell_complete=completed_by("checkpoints")
)
@click.argument("name", metavar="[NAME]", type=name_text, required=False)
def label_command(call: Call, checkpoint: str, name: str | None) -> int:
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
