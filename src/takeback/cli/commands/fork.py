"""takeback fork"""

from __future__ import annotations

import click

from takeback.app import proposal
from takeback.cli.call import Call
from takeback.cli.dialogue import Dialogue, override_options, overrides, require_yes
from takeback.cli.options import completed_by, name_text, session_option, verb
from takeback.errors import UsageError


@verb("fork", shows=("--yes", "--dry-run"))
@click.argument(
    "checkpoint", metavar="CP", type=name_text, shell_complete=completed_by("checkpoints")
)
@click.option("--files", is_flag=True, help="Bring the files here back to it, too.")
@click.option(
    "--worktree", metavar="DIR", help="Put its files into a new, plain directory; those here stay."
)
@click.option("--git", is_flag=True, help="Make that directory a worktree of your git repository.")
@session_option
@override_options
def command(
    call: Call,
    checkpoint: str,
    files: bool,
    worktree: str | None,
    git: bool,
    session: str | None,
    **waived: bool,
) -> int:
    """Begin a new session with the conversation of a checkpoint.

    The session it comes from stays as it is. With --worktree two approaches can race, each in
    a directory of its own: plain files, or with --git a worktree of your repository, detached at
    the commit of then. Ignored files stay behind. Only with --git does takeback add to your .git:
    the record of that worktree.
    """
    if files and worktree is not None:
        raise UsageError("--files and --worktree exclude each other", hint="say one of them")
    if git and worktree is None:
        raise UsageError("--git goes with --worktree DIR", hint="say where the worktree is to be")
    allowed = overrides(**waived)
    with call.open("fork", note=call.dry_run) as tb:
        target = call.find(tb, checkpoint, session)
        going = proposal.fork(target, files=files, worktree=worktree, git=git)
        dialogue = Dialogue(call, tb, going, allowed)
        if call.dry_run:
            return dialogue.show_plan()
        if files:
            require_yes(call, "fork --files")
            return dialogue.ask_and_go()
        return dialogue.go_ahead()
