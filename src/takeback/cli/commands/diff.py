"""takeback diff"""

from __future__ import annotations

import sys

import click

from takeback.cli.call import Call
from takeback.cli.options import completed_by, name_text, verb
from takeback.cli.terminal import paged
from takeback.model.coverage import PURGED_FOR_GOOD
from takeback.model.naming import is_whole_turn
from takeback.model.sensitive import is_sensitive
from takeback.words import documents
from takeback.words.text import patch_lines, shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from takeback.model.checkpoint import CountedChange
    from takeback.words.text import Paint


@verb("diff", paths=True)
@click.argument("old", metavar="A", type=name_text, shell_complete=completed_by("checkpoints"))
@click.argument(
    "new", metavar="[B]", type=name_text, required=False, shell_complete=completed_by("checkpoints")
)
@click.option("--stat", is_flag=True, help="Only the paths and how many lines changed.")
def command(call: Call, old: str, new: str | None, stat: bool, paths: tuple[str, ...]) -> int:
    """Show what is different between two checkpoints.

    From A to B, or from A to the files as they are now. From turn:3 to turn:3.end it is what the
    turn did, without what others did meanwhile.
    """
    output, of_turn = call.output, is_whole_turn(old, new)
    with call.open("diff") as tb:
        a = call.look_up(tb, old)
        b = None if new is None else call.look_up(tb, new)
        purged = tb.purged_in((a, b), paths)
        if call.json:
            changes, patch = tb.changes_and_diff(a, b, paths, of_turn=of_turn)
            fields: dict[str, object] = {
                "changes": documents.counted(changes),
                "purged": documents.path_list(purged),
            }
            if not stat:
                fields["patch"] = patch.decode("utf-8", "replace")
            output.document("diff", fields)
        elif stat:
            with paged(call, tb):
                output.lines(
                    _stat_lines(tb.changes_and_diff(a, b, paths, of_turn=of_turn)[0], output.paint)
                )
        else:
            on_terminal = sys.stdout.isatty()
            color = output.paint.on and not on_terminal
            changes, patch = tb.changes_and_diff(a, b, paths, color=color, of_turn=of_turn)
            for path in (change.path for change in changes if is_sensitive(change.path)):
                if not tb.hides(path):
                    output.note(f"{shown_file(path)}: be careful where you show its content")
            if on_terminal:  # coloured here: any other terminal codes are the file's own
                with paged(call, tb):
                    output.lines(patch_lines(patch, output.paint))
            else:
                output.raw(patch)
        for path in purged if not call.json else ():
            output.note(f"{shown_file(path)}: {PURGED_FOR_GOOD}")
    return 0


def _stat_lines(changes: Iterable[CountedChange], paint: Paint) -> Iterator[str]:
    for change in changes:
        counts = ""
        if change.added is not None and change.deleted is not None:
            counts = f"  {paint.added(f'+{change.added}')} {paint.deleted(f'-{change.deleted}')}"
        yield f"{change.kind:<8}  {shown_file(change.path)}{counts}"
