"""takeback rewind"""

from __future__ import annotations

import click

from takeback.app import proposal
from takeback.cli.call import Call
from takeback.cli.dialogue import (
    Dialogue,
    conflicts_option,
    override_options,
    overrides,
    patch_option,
    require_terminal,
)
from takeback.cli.earlier import open_with
from takeback.cli.options import completed_by, name_text, session_option, verb
from takeback.errors import UsageError
from takeback.model.operation import BOTH, CONVERSATION, FILES
from takeback.rewind.request import ALL_OTHERS, EDITS, NOTHING, keeping_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.merge import ConflictChoice
    from takeback.model.operation import ScopeKind
    from takeback.rewind.request import Keeping, Kept


@verb("rewind", shows=("--yes", "--dry-run"), paths=True)
@click.argument(
    "checkpoint",
    metavar="[CP]",
    type=name_text,
    required=False,
    shell_complete=completed_by("checkpoints"),
)
@click.option("--files", is_flag=True, help="The files only.")
@click.option("--conversation", is_flag=True, help="The conversation only.")
@click.option("--both", is_flag=True, help="Files and conversation.")
@click.option("--ignored", is_flag=True, help="Small files that git ignores, too.")
@click.option("--keep-edits", is_flag=True, help="Keep what you changed by hand since, merged.")
@click.option("--mine", is_flag=True, help="Only what that session changed; the rest stays.")
@patch_option
@conflicts_option
@session_option
@override_options
def command(
    call: Call,
    checkpoint: str | None,
    files: bool,
    conversation: bool,
    both: bool,
    ignored: bool,
    keep_edits: bool,
    mine: bool,
    patch: bool,
    conflicts: ConflictChoice | None,
    session: str | None,
    paths: tuple[str, ...],
    **waived: bool,
) -> int:
    """Go back to a checkpoint, by default to before the newest turn.

    Files and conversation go back together where there is a conversation; paths, --ignored, a
    time or another session's checkpoint mean the files alone. The plan is shown and asked about
    first. With --keep-edits your own edits since are merged into what comes back, with --mine only
    what the session itself changed goes; where both changed the same lines you are asked, and
    without a terminal it is refused unless --conflicts says what to do. With --patch you are asked
    about each hunk of the files. Whatever is replaced or deleted is saved before, the agent's own
    transcript is never edited, and `takeback undo` brings everything back.
    """
    allowed = overrides(**waived)
    scope = _scope(files=files, conversation=conversation, both=both)
    if patch:
        if scope not in (None, FILES) or ignored:
            raise UsageError(
                "--patch is about files that git does not ignore", hint="say --files, or nothing"
            )
        require_terminal(call, "rewind")
        scope = FILES
    keeping = _keeping(conflicts, keep_edits=keep_edits, mine=mine)
    name = checkpoint or ""
    with open_with(call, name, session) as tb:
        if checkpoint is None:
            meant = call.session_meant(tb, session)
            target = tb.before_newest_turn(meant)
        else:  # even an empty one: a script's variable that was never set must not mean the default
            target = call.find(tb, checkpoint, session)
            meant = session
        if scope is None:
            scope = tb.default_scope(name or target, target, paths, ignored=ignored, session=meant)
        going = proposal.rewind(target, paths, scope=scope, ignored=ignored, keeping=keeping)
        return Dialogue(call, tb, going, allowed).hold(patch=patch)


def _keeping(conflicts: ConflictChoice | None, *, keep_edits: bool, mine: bool) -> Keeping:
    if keep_edits and mine:
        raise UsageError(
            "--keep-edits and --mine exclude each other", hint="--mine keeps your edits, too"
        )
    what: Kept = EDITS if keep_edits else ALL_OTHERS if mine else NOTHING
    return keeping_of(what, conflicts)


def _scope(*, files: bool, conversation: bool, both: bool) -> ScopeKind | None:
    if files + conversation + both > 1:
        raise UsageError(
            "--files, --conversation and --both exclude each other", hint="say one of them"
        )
    if both:
        return BOTH
    return CONVERSATION if conversation else FILES if files else None
