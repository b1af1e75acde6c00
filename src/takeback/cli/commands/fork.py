"""takeback fork, summarise: a new session from what is kept."""

from __future__ import annotations

import click

from takeback.app import proposal
from takeback.cli.call import Call
from takeback.cli.dialogue import Dialogue, override_options, overrides, require_yes
from takeback.cli.options import completed_by, name_text, session_option, verb
from takeback.errors import UsageError
from takeback.model.agent import FROM, LONGEST_SUMMARY, UP_TO
from takeback.model.coverage import NO_OVERRIDES

# -- takeback fork


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
def fork_command(
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


# -- takeback summarise


_MOST_BYTES = 4 * LONGEST_SUMMARY


@verb("summarise", shows=("--yes", "--dry-run"))
@click.argument(
    "checkpoint", metavar="CP", type=name_text, shell_complete=completed_by("checkpoints")
)
@click.option("--from", "from_there", is_flag=True, help="What was said from there on.")
@click.option("--up-to", is_flag=True, help="What was said up to there.")
@click.option("--text", metavar="FILE", help="Take the summary from a file, - is the input.")
@session_option
def summarise_command(
    call: Call,
    checkpoint: str,
    from_there: bool,
    up_to: bool,
    text: str | None,
    session: str | None,
) -> int:
    """Begin a new session in which some turns are one summary.

    The rest of the conversation is kept, the session it comes from stays as it is, and no file is
    touched. The summary is asked of your own agent, without a screen and without tools, or of the
    command in the setting summariser: what is sent to whom is shown and asked about first.
    With --text you write it yourself, and nothing is sent.
    """
    if from_there == up_to:
        raise UsageError(
            "say what becomes a summary: --from or --up-to", hint="takeback summarise --help"
        )
    own = None if text is None else _read(text)
    with call.open("summarise", note=call.dry_run) as tb:
        checkpoint, session = call.named(tb, checkpoint, session)
        target = tb.find(checkpoint, session=session)
        going = proposal.summarise(target, FROM if from_there else UP_TO, text=own, session=session)
        return Dialogue(call, tb, going, NO_OVERRIDES).hold()


def _read(name: str) -> str:
    """Returns the text of a file that the person names; raises UsageError."""
    try:
        with click.open_file(name, "rb") as file:
            data: bytes = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from None
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{name} is larger than {_MOST_BYTES:,} bytes, which is no summary")
    return data.decode(errors="replace")
