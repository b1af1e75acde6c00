"""takeback search"""

from __future__ import annotations

import sys
import time

import click

from takeback.cli.call import Call
from takeback.cli.options import name_text, verb
from takeback.cli.terminal import paged, terminal_width
from takeback.words import documents
from takeback.words.sessions import command as command_for
from takeback.words.sessions import found_lines

NOTHING_FOUND = 1


@verb("search")
@click.argument("words", metavar="TEXT...", type=name_text, nargs=-1, required=True)
@click.option("--content", is_flag=True, help="In the files of all snapshots instead.")
@click.option("-n", "number", type=click.IntRange(min=0), metavar="N", help="At most N of them.")
def command(call: Call, words: tuple[str, ...], content: bool, number: int | None) -> int:
    """Find checkpoints by what was asked or which files changed.

    All words have to be in one prompt, path or, with --content, line of a file, in any order;
    capital letters do not matter. The newest comes first, each with what became of it and the
    command that goes back to the place before it, of a file that was created to one that has it.
    The exit status is 1 if nothing was found.
    """
    with call.open("search") as tb:
        limit = -1 if number is None else number
        found = tb.search(*words, limit=limit, content=content)
        output = call.output
        for item in found:
            output.document("found", documents.found(item, command_for(item, tb.root)))
        with paged(call, tb):
            output.lines(
                found_lines(
                    found,
                    tb.known_sessions() if found else (),
                    output.paint,
                    time.time(),
                    root=tb.root,
                    room=terminal_width(sys.stdout),
                )
            )
    return 0 if found else NOTHING_FOUND
