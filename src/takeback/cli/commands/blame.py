"""takeback blame"""

from __future__ import annotations

import time

import click

from takeback.cli.call import Call
from takeback.cli.options import completed_by, name_text, session_option, verb
from takeback.cli.terminal import paged
from takeback.words import blame as words
from takeback.words.listing import session_names


@verb("blame")
@click.argument("path", metavar="PATH", shell_complete=completed_by("paths"))
@click.argument(
    "checkpoint",
    metavar="[CP]",
    type=name_text,
    required=False,
    shell_complete=completed_by("checkpoints"),
)
@session_option
def command(call: Call, path: str, checkpoint: str | None, session: str | None) -> int:
    """Say which turn wrote each line of a file.

    The file is that of now, or of a checkpoint. A line that a rewind brought back belongs to the
    turn that wrote it first; a renamed file is followed to its earlier names.
    """
    with call.open("blame") as tb:
        place = None if checkpoint is None else call.look_up(tb, checkpoint, session)
        found = tb.blame(path, place)
        output = call.output
        output.document("blame", words.document(found))
        if found.expired:
            output.note(words.expired_line(found))
        names = session_names(tb.known_sessions())
        with paged(call, tb):
            output.lines(words.blame_lines(found, names, output.paint, time.time()))
    return 0
