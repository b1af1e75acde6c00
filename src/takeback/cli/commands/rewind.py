"""takeback rewind, undo, redo, revert, apply: what moves the files and the conversation."""

from __future__ import annotations

import os

import click

from takeback.app import proposal
from takeback.cli.call import Call
from takeback.cli.dialogue import (
    Dialogue,
    conflicts_option,
    merged_override_options,
    override_options,
    overrides,
    patch_option,
    require_terminal,
    require_yes,
)
from takeback.cli.earlier import open_with
from takeback.cli.options import completed_by, name_text, session_option, verb
from takeback.errors import UsageError
from takeback.model.conflicts import ConflictChoices
from takeback.model.operation import BOTH, CONVERSATION, FILES, REDO, UNDO
from takeback.rewind.request import ALL_OTHERS, EDITS, NOTHING, keeping_of
from takeback.words.text import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.engine import Engine
    from takeback.app.proposal import Proposal
    from takeback.model.conflicts import ConflictChoice
    from takeback.model.operation import ScopeKind
    from takeback.rewind.request import Keeping, Kept


# -- takeback rewind


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
def rewind_command(
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


# -- takeback undo


@verb("undo", shows=("--yes", "--dry-run"))
@click.argument(
    "operation",
    metavar="[OP]",
    type=name_text,
    required=False,
    shell_complete=completed_by("operations"),
)
@override_options
def undo_command(call: Call, operation: str | None, **waived: bool) -> int:
    """Take back the last rewind: the files as they were before it.

    It can be repeated to go further back, and `takeback redo` goes forward again. With OP, an
    operation of `takeback log --operations`, the files go to before that one, and so all that
    came after it is taken back too; that is a rewind of its own, which undo takes back.
    """
    allowed = overrides(**waived)
    with call.open("undo", note=call.dry_run) as tb:
        if not call.dry_run:
            require_yes(call, "undo")
            proposal.recover_before(tb, UNDO)
        dialogue = Dialogue(call, tb, _proposal(tb, operation), allowed)
        return dialogue.show_plan() if call.dry_run else dialogue.ask_and_go()


def _proposal(tb: Engine, name: str | None) -> Proposal:
    """Returns the undo of the newest operation, or the way back to before a named one."""
    if name is not None:
        named = tb.operation(name)
        log = tb.operation_log()
        if not any(one.next == UNDO and one.operation.id == named.id for one in log):
            return proposal.rewind(tb.find(f"{named.id}.before"), scope=FILES)
    return proposal.next_step(tb, UNDO)


# -- takeback redo


@verb("redo", shows=("--yes", "--dry-run"))
@override_options
def redo_command(call: Call, **waived: bool) -> int:
    """Do again what the last undo took back."""
    allowed = overrides(**waived)
    with call.open("redo", note=call.dry_run) as tb:
        if not call.dry_run:
            require_yes(call, "redo")
            proposal.recover_before(tb, REDO)
        dialogue = Dialogue(call, tb, proposal.next_step(tb, REDO), allowed)
        return dialogue.show_plan() if call.dry_run else dialogue.ask_and_go()


# -- takeback revert


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
def revert_command(
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


# -- takeback apply


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
def apply_command(
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
            apply_command = f"takeback -C {quoted(to)}"
            return Dialogue(call, there, going, allowed, apply_command).hold(patch=patch)


def _is_inside(directory: str, root: bytes) -> bool:
    real = os.fsencode(os.path.realpath(directory))
    return real == root or real.startswith(root + b"/")
