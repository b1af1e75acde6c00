"""Edits of agents' settings at the terminal: a line each, the diffs on request, a question."""

from __future__ import annotations

from takeback.cli.dialogue import require_yes
from takeback.cli.terminal import ask
from takeback.words.status import edit_lines, summary_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.app.connect import Connecting
    from takeback.cli.call import Call

_QUESTION = "Make these edits (d shows them)? [y/N] "


def show(call: Call, changing: Sequence[Connecting]) -> None:
    """Says on stderr which files would be edited; in full for a dry run and with -v."""
    whole = call.dry_run or call.verbose
    for one in changing if not call.json else ():
        lines = edit_lines if whole else summary_lines
        call.output.aside(lines(one, call.output.paint_stderr))


def agreed(call: Call, changing: Sequence[Connecting], what: str) -> bool:
    """Asks whether to make the edits, unless already told; raises Refused if nobody is there."""
    if not changing or call.yes:
        return True
    require_yes(call, what)
    while True:
        typed = ask(_QUESTION).lower()
        if typed != "d":
            return typed in ("y", "yes")
        for one in changing:
            call.output.aside(edit_lines(one, call.output.paint_stderr))
