"""Elsewhere: a checkpoint's files in a new directory, so that two approaches can race.

The directory is a workspace of its own, with its own store. It is filled under a temporary
name beside it and renamed when it is whole.
"""

from __future__ import annotations

import os

from takeback import durable
from takeback.errors import Refused, UsageError
from takeback.model.change import Change
from takeback.model.path_text import to_text
from takeback.model.session import Origin, TranscriptPart
from takeback.model.turn import forked_from
from takeback.ops.capture import capture, draft, record
from takeback.ops.failures import write_failed
from takeback.ops.open import locate, open_store, open_workspace
from takeback.store import trees
from takeback.worktree.apply import Apply
from takeback.worktree.unit import make_units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.ops.child import Child
    from takeback.ops.context import Context
    from takeback.worktree.stage import BlobSource


def new_directory(context: Context, path: str) -> str:
    """Returns the real path of a directory to be made; raises UsageError if it cannot be."""
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


def fill(context: Context, target: Checkpoint, directory: str, blobs: BlobSource) -> None:
    """Writes a checkpoint's files into a new directory; does nothing if it is there already."""
    if os.path.isdir(directory):
        return
    temporary = f"{directory}.takeback-new"
    try:
        _remove(temporary)
        durable.mkdir(temporary, mode=0o755)
        fd = os.open(temporary, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            tree = trees.walk(context.store, bytes.fromhex(target.snapshot))
            changes = [Change(path, None, entry) for path, entry in tree]
            units = make_units(changes, [], {})
            applied = Apply(fd, units, target.id, blobs, context.reporter).run()
        finally:
            os.close(fd)
        if applied.left_alone:
            first = applied.left_alone[0]
            _remove(temporary)
            raise Refused(
                f"{to_text(first.path)} cannot be written into {directory}: {first.reason}",
                hint="nothing was forked",
            )
        durable.rename(temporary, directory)
        durable.sync_directory(os.path.dirname(directory))
    except OSError as error:
        raise write_failed("filling the new directory", error) from error


def _remove(path: str) -> None:
    """Deletes what a killed process had begun to fill."""
    if os.path.isdir(path):
        import shutil

        shutil.rmtree(path)


def begin(context: Context, child: Child, target: Checkpoint, data: bytes) -> None:
    """Makes the new directory a workspace with the child's first checkpoint in its own store."""
    assert child.worktree is not None
    place = locate(os.fsencode(child.worktree), context.environ, foreign_owner=False)
    store = open_store(place, context.environ, context.reporter, create=True)
    there = context.replace(workspace=open_workspace(place), store=store)
    try:
        with there.locked():
            if store.refs.list("refs/takeback/sessions/"):
                return  # done before a crash
            moment = forked_from(target.moment)
            captured = capture(there)
            drafted = draft(there, kind=moment.kind, session=child.id).replace(
                turn=moment.turn,
                phase=moment.phase,
                agent=child.agent,
                native=child.native,
                directory=child.directory,
                resume=target.resume,
                transcript=(TranscriptPart(child.path, len(data)),) if data else (),
                origin=Origin(target.session, target.id, os.fsdecode(context.workspace.root)),
            )
            record(there, captured, drafted, conversation=[data] if data else ())
    finally:
        there.workspace.close()
        store.close()
