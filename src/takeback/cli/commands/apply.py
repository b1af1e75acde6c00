"""takeback apply"""

from __future__ import annotations

import os

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
from takeback.words.text import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.merge import ConflictChoice


@verb("apply", shows=("--yes", "--dry-run"), paths=True)
@click.argument("turn", metavar="TURN", type=name_text, shell_complete=completed_by("checkpoints"))
@click.option(
    "--to",
    metavar="SESSION|DIR",
    help="Where it goes: a directory (a fork), or the session that the files here are at.",
)
@patch_option
@conflicts_option
@session_option
@merged_override_options
def command(
    call: Call,
    turn: str,
    to: str | None,
    patch: bool,
    conflicts: ConflictChoice | None,
    session: str | None,
    paths: tuple[str, ...],
    **waived: bool,
) -> int:
    """Bring what one turn changed to another branch.

    The turn (other/turn:3, or one step of it) stays where it is; what it changed is merged into the
    files here, or with --to into those of a directory, such as one that `takeback fork --worktree`
    made. Where the same lines changed there you are asked, as by revert. `takeback undo` there
    takes it back.
    """
    allowed = overrides(**waived)
    if patch:
        require_terminal(call, "apply")
    with call.open("apply", note=call.dry_run) as tb:
        named = call.find_turn(tb, turn, session)
        choices = ConflictChoices(otherwise=conflicts)
        if to is None or not os.path.isdir(to):
            if to is not None:
                tb.check_at(to)
            going = proposal.apply(tb.brought(named), paths, choices=choices)
            return Dialogue(call, tb, going, allowed).hold(patch=patch)
        brought = tb.brought(named, elsewhere=not _is_inside(to, tb.root))
        with call.open("apply", to, create=not call.dry_run, note=call.dry_run) as there:
            going = proposal.apply(brought, paths, choices=choices)
            command = f"takeback -C {quoted(to)}"
            return Dialogue(call, there, going, allowed, command).hold(patch=patch)


def _is_inside(directory: str, root: bytes) -> bool:
    real = os.fsencode(os.path.realpath(directory))
    return real == root or real.startswith(root + b"/")
