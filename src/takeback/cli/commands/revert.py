"""takeback revert"""

from __future__ import annotations

import click

from takeback.app import proposal
from takeback.cli.call import Call
from takeback.cli.dialogue import (
    Dialogue,
    conflicts_option,
    merged_override_options,
    overrides,
    patch_option,
    require_terminal,
)
from takeback.cli.options import completed_by, name_text, session_option, verb
from takeback.model.merge import ConflictChoices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.merge import ConflictChoice


@verb("revert", shows=("--yes", "--dry-run"), paths=True)
@click.argument(
    "turns",
    metavar="TURN...",
    type=name_text,
    nargs=-1,
    required=True,
    shell_complete=completed_by("checkpoints"),
)
@patch_option
@conflicts_option
@session_option
@merged_override_options
def command(
    call: Call,
    turns: tuple[str, ...],
    patch: bool,
    conflicts: ConflictChoice | None,
    session: str | None,
    paths: tuple[str, ...],
    **waived: bool,
) -> int:
    """Take back only some turns, and keep what came after them.

    turn:3 is a whole turn, turn:3.2 its second step as `takeback show turn:3` lists them. What was
    changed again since is merged line by line; where the same lines changed you are asked, and
    without a terminal it is refused with the list, unless --conflicts says what to do. With --patch
    you are asked about each hunk. The conversation stays as it is, and the agent is told.
    `takeback undo` brings everything back.
    """
    allowed = overrides(**waived)
    if patch:
        require_terminal(call, "revert")
    with call.open("revert", note=call.dry_run) as tb:
        meant = [call.find_turn(tb, name, session) for name in turns]
        going = proposal.revert(meant, paths, choices=ConflictChoices(otherwise=conflicts))
        return Dialogue(call, tb, going, allowed).hold(patch=patch)
