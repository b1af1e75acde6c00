"""Elsewhere: a checkpoint's files in a new directory, so that two approaches can race.

The directory is a workspace of its own, with its own store. It is filled under a random temporary
name beside it and renamed when it is complete.
"""

from __future__ import annotations

import os

from takeback import durable
from takeback.errors import (
    GitFailed,
    Option,
    TakebackError,
    TimedOut,
    UsageError,
    WriteFailed,
)
from takeback.git.linked import LinkedWorktree
from takeback.model.change import Change
from takeback.model.ids import new_operation_id
from takeback.model.path_text import to_text
from takeback.model.session import Origin
from takeback.model.turn import forked_from
from takeback.ops.capture import capture, draft, record
from takeback.ops.context import Context
from takeback.ops.filling import write_files
from takeback.ops.open import locate, open_store, open_workspace
from takeback.store import trees
from takeback.store.conversation import Part
from takeback.store.namespace import SESSIONS
from takeback.worktree import project
from takeback.worktree.removal import remove_tree, rename_to_free_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.goal import Goal
    from takeback.model.session import TranscriptPart
    from takeback.ops.child import Child
    from takeback.worktree.stage import BlobSource


def new_directory(context: Context, path: str) -> str:
    """Returns the real path of a directory to be created; raises UsageError if it cannot be."""
    full = os.path.abspath(path)
    parent = os.path.realpath(os.path.dirname(full))
    full = os.path.join(parent, os.path.basename(full))
    if os.path.lexists(full):
        raise UsageError(f"{full} is there already", hint="name a directory that does not exist")
    if not os.path.isdir(parent):
        raise UsageError(f"{parent} is not a directory")
    root = os.fsdecode(context.workspace.root)
    if full.startswith(root + os.sep):
        raise UsageError(
            f"{full} lies inside the workspace {root}", hint="name a directory outside it"
        )
    return full


def temporary_name(directory: str) -> str:
    """Returns a unique name beside a new directory: anything found there is ours."""
    return f"{directory}.takeback-{new_operation_id()}"


def linked(context: Context, target: Checkpoint) -> LinkedWorktree:
    """Returns the git worktree that a fork's directory can become; raises UsageError.

    It is at the commit that was checked out then, if the project still has it, else at the
    present one.
    """
    git = project.git_directory(context.workspace.root)
    if git is not None and not project.is_own(git):
        raise UsageError(
            f"{to_text(context.workspace.root)}/.git leads to {to_text(git.git_dir)}, which does "
            "not know of this directory",
            hint=("without ", Option("--git"), " it is a plain directory"),
        )
    found = None
    if git is not None:
        place = os.fsdecode(git.git_dir)
        found = LinkedWorktree.at(context.store.find_git(), place, target.head, "HEAD")
    if found is None:
        raise UsageError(
            f"{to_text(context.workspace.root)} has no commit for a git worktree to be at",
            hint=("without ", Option("--git"), " it is a plain directory"),
        )
    return found


def link(worktree: LinkedWorktree, directory: str) -> None:
    """Makes a directory that a fork has filled a git worktree; raises WriteFailed."""
    try:
        worktree.attach(directory, temporary_name(directory))
    except (OSError, GitFailed, TimedOut) as error:
        raise WriteFailed(
            f"the files are in {directory}, but it could not be made a git worktree: {error}",
            hint="it is a plain directory; what git began: git worktree prune",
        ) from error


def fill(context: Context, goal: Goal, child: Child, blobs: BlobSource, *, again: bool) -> None:
    """Writes the files of a goal into the child's new directory; raises WriteFailed.

    ``again`` after a crash: then a directory that exists is the one that was filled. The journal
    keeps the temporary name, so that only what a killed process had begun is removed.
    """
    assert child.worktree is not None
    directory = child.worktree
    if again and os.path.isdir(directory):
        return
    temporary = child.filling or temporary_name(directory)
    parent = os.open(os.path.dirname(directory), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    name, final = (os.fsencode(os.path.basename(path)) for path in (temporary, directory))
    try:
        remove_tree(parent, name)
        durable.mkdir(name, dir_fd=parent)
        try:
            fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=parent)
            try:
                _write_files(context, goal, fd, directory, blobs)
            finally:
                os.close(fd)
            rename_to_free_name(name, final, dir_fd=parent)
        except (OSError, TakebackError):
            remove_tree(parent, name)
            raise
        durable.sync(parent)
    except OSError as error:
        raise WriteFailed.of("filling the new directory", error) from error
    finally:
        os.close(parent)


def _write_files(context: Context, goal: Goal, fd: int, directory: str, blobs: BlobSource) -> None:
    """Fills our directory, then gives it the permission bits of the root that it copies."""
    tree = trees.walk(context.store, bytes.fromhex(goal.tree))
    changes = [Change(path, None, entry) for path, entry in tree]
    write_files(context, fd, changes, blobs, into=directory)
    bits = goal.root_mode
    durable.chmod(fd, os.fstat(context.workspace.fd).st_mode if bits is None else bits)


def begin(
    context: Context, child: Child, target: Checkpoint, data: bytes, part: TranscriptPart
) -> None:
    """Makes the new directory a workspace with the child's first checkpoint in its own store."""
    assert child.worktree is not None
    location = locate(os.fsencode(child.worktree), context.environ, foreign_owner=False)
    store = open_store(location, context.environ, context.reporter, create=True)
    there = Context(
        workspace=open_workspace(location),
        store=store,
        policy=context.policy,
        clock=context.clock,
        reporter=context.reporter,
        environ=context.environ,
        holder=context.holder,
    )
    try:
        with there.locked() as locked:
            if store.refs.list(SESSIONS):
                return  # done before a crash
            moment = forked_from(target.moment)
            captured = capture(locked)
            drafted = draft(there, kind=moment.kind, session=child.id).replace(
                turn=moment.turn,
                phase=moment.phase,
                agent=child.agent,
                native=child.native,
                directory=child.directory,
                resume=target.resume,
                transcript=(part,) if data else (),
                origin=Origin(target.session, target.id, os.fsdecode(context.workspace.root)),
            )
            record(locked, captured, drafted, conversation=[Part(data)] if data else ())
    finally:
        there.workspace.close()
        store.close()
