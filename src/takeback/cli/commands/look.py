"""takeback log, sessions, tree, search, show, diff, cat, blame, compare: what is kept, seen."""

from __future__ import annotations

import os
import sys
import time

import click

from takeback.cli.call import Call
from takeback.cli.options import completed_by, name_text, session_option, verb
from takeback.cli.plain_words import MOST_ROWS, log
from takeback.cli.terminal import paged, terminal_width
from takeback.errors import UsageError
from takeback.model.coverage import PURGED_FOR_GOOD
from takeback.model.naming import NEWEST, is_whole_turn
from takeback.model.sensitive import is_sensitive
from takeback.words import blame, branches, documents, outcomes
from takeback.words.listing import session_names
from takeback.words.sessions import command as command_for
from takeback.words.sessions import found_lines, session_line, tree_lines
from takeback.words.text import patch_lines, shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from takeback.model.checkpoint import CountedChange
    from takeback.words.text import Paint


# -- takeback log


@verb("log", paths=True)
@click.option(
    "--session",
    metavar="ID",
    type=name_text,
    help="Only the checkpoints of one session.",
    shell_complete=completed_by("sessions"),
)
@click.option(
    "--all", "everything", is_flag=True, help="Everything: rounds, ends and undo snapshots, too."
)
@click.option(
    "-n",
    "number",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"At most N of them. For people {MOST_ROWS} without it, for --json and --all no limit.",
)
@click.option("--operations", is_flag=True, help="The operation log instead: rewinds, undos.")
def log_command(
    call: Call,
    session: str | None,
    everything: bool,
    number: int | None,
    operations: bool,
    paths: tuple[str, ...],
) -> int:
    """List turns and checkpoints with what changed, newest first.

    With paths, it is their history over all turns and sessions: what changed one of them, by whom,
    under the names that it had earlier, too.
    A session that a rewind made and nobody has gone on with stands below the turn that it was
    cut from. On a terminal the lines are as wide as it is, and a pager shows them: TAKEBACK_PAGER,
    else PAGER, else less, none of them from a workspace.
    """
    return log(
        call,
        session=session,
        everything=everything,
        number=number,
        operations=operations,
        paths=paths,
    )


# -- takeback sessions


@verb("sessions")
def sessions_command(call: Call) -> int:
    """List the sessions of the agents, the latest first."""
    with call.open("sessions") as tb:
        found = tb.sessions()
        output, now = call.output, time.time()
        with paged(call, tb):
            for entry in found:
                output.document("session", documents.session(entry))
                output.line(session_line(entry, output.paint, now))
    if not found and not call.json:
        output.line("No agent has worked here yet.")
    return 0


# -- takeback tree


@verb("tree")
def tree_command(call: Call) -> int:
    """Show sessions and turns as a tree, and what was forked."""
    with call.open("tree") as tb:
        roots = tb.tree()
        output = call.output
        output.document("tree", {"sessions": [documents.node(root) for root in roots]})
        with paged(call, tb):
            output.lines(tree_lines(roots, output.paint, time.time()))
    if not roots and not call.json:
        output.line("No agent has worked here yet.")
    return 0


# -- takeback search


NOTHING_FOUND = 1


@verb("search")
@click.argument("words", metavar="TEXT...", type=name_text, nargs=-1, required=True)
@click.option("--content", is_flag=True, help="In the files of all snapshots instead.")
@click.option("-n", "number", type=click.IntRange(min=0), metavar="N", help="At most N of them.")
def search_command(call: Call, words: tuple[str, ...], content: bool, number: int | None) -> int:
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


# -- takeback show


@verb("show", paths=True)
@click.argument(
    "checkpoint",
    metavar="[CP]",
    type=name_text,
    required=False,
    shell_complete=completed_by("checkpoints"),
)
@session_option
def show_command(
    call: Call, checkpoint: str | None, session: str | None, paths: tuple[str, ...]
) -> int:
    """Show one checkpoint or turn in full; by default the newest.

    What changed in it and who did it, the tools that were used, what was checked out then, and
    what it does not hold. With paths, of the changes only those, and line by line.
    """
    with call.open("show") as tb:
        place = call.look_up(tb, NEWEST if checkpoint is None else checkpoint, session)
        if checkpoint is None:
            place = tb.beginning_of(place)
        output = call.output
        patch = b""
        if paths:
            found, patch = tb.show_files(place, paths)
        else:
            found = tb.show(place)
        fields = documents.shown_checkpoint(found)
        if paths:
            fields["patch"] = patch.decode("utf-8", "replace")
        output.document("checkpoint", fields)
        with paged(call, tb):
            output.lines(outcomes.shown_lines(found, output.paint, time.time()))
            if patch:
                output.lines(["", *patch_lines(patch, output.paint)])
    return 0


# -- takeback diff


@verb("diff", paths=True)
@click.argument("old", metavar="A", type=name_text, shell_complete=completed_by("checkpoints"))
@click.argument(
    "new", metavar="[B]", type=name_text, required=False, shell_complete=completed_by("checkpoints")
)
@click.option("--stat", is_flag=True, help="Only the paths and how many lines changed.")
def diff_command(call: Call, old: str, new: str | None, stat: bool, paths: tuple[str, ...]) -> int:
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


# -- takeback cat


@verb("cat")
@click.argument(
    "checkpoint", metavar="CP", type=name_text, shell_complete=completed_by("checkpoints")
)
@click.argument("path", metavar="[PATH]", default="", shell_complete=completed_by("paths"))
@click.option("--conversation", is_flag=True, help="The conversation as it was there instead.")
@click.option("--messages", is_flag=True, help="With --conversation: as a person reads it.")
@session_option
def cat_command(
    call: Call, checkpoint: str, path: str, conversation: bool, messages: bool, session: str | None
) -> int:
    """Print one file, or the conversation, as it is in a checkpoint."""
    if conversation == bool(path) or (messages and not conversation):
        raise UsageError(
            "name a path, or say --conversation", hint="how it is called: takeback cat --help"
        )
    if messages:
        return _messages(call, checkpoint, session)
    with call.open("cat") as tb:
        found = call.look_up(tb, checkpoint, session)
        data = tb.conversation(found) if conversation else tb.cat(found, path)
    if not call.json:
        call.output.raw(data)
        return 0
    from base64 import b64encode

    fields = {"bytes_b64": b64encode(data).decode()}
    if not conversation:
        fields = {**documents.file_fields(os.fsencode(path)), **fields}
    call.output.document("conversation" if conversation else "file", fields)
    return 0


def _messages(call: Call, checkpoint: str, session: str | None) -> int:
    """Prints the conversation as messages, each with who said it and what it is the prompt of."""
    from takeback.words import documents as words

    with call.open("cat") as tb:
        page = tb.messages(call.look_up(tb, checkpoint, session))
    if call.json:
        call.output.document("messages", words.page(page))
        return 0
    for placed in page.messages:
        call.output.lines(words.lines(placed))
    return 0


# -- takeback blame


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
def blame_command(call: Call, path: str, checkpoint: str | None, session: str | None) -> int:
    """Say which turn wrote each line of a file.

    The file is that of now, or of a checkpoint. A line that a rewind brought back belongs to the
    turn that wrote it first; a renamed file is followed to its earlier names.
    """
    with call.open("blame") as tb:
        place = None if checkpoint is None else call.look_up(tb, checkpoint, session)
        found = tb.blame(path, place)
        output = call.output
        output.document("blame", blame.document(found))
        if found.expired:
            output.note(blame.expired_line(found))
        names = session_names(tb.known_sessions())
        with paged(call, tb):
            output.lines(blame.blame_lines(found, names, output.paint, time.time()))
    return 0


# -- takeback compare


@verb("compare")
@click.argument("first", metavar="A", type=name_text, shell_complete=completed_by("checkpoints"))
@click.argument("second", metavar="B", type=name_text, shell_complete=completed_by("checkpoints"))
@session_option
def compare_command(call: Call, first: str, second: str, session: str | None) -> int:
    """Show side by side what two branches changed.

    A and B are sessions, checkpoints, directories that `takeback fork --worktree` made, or . for
    the files as they are now. `takeback diff A B` shows the lines, `takeback apply` brings a turn
    of one to the other.
    """
    with call.open("compare") as tb:
        found = tb.compare(first, second, session=session)
        output = call.output
        output.document("compare", branches.document(found))
        with paged(call, tb):
            output.lines(branches.branch_lines(found, output.paint, time.time()))
    return 0
