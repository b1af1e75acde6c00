"""Writes the files of snapshots into directories of takeback's own making."""

from __future__ import annotations

from takeback.errors import Refused, StoreDamaged
from takeback.model.ids import new_operation_id
from takeback.model.path_text import is_inside_git, to_text
from takeback.worktree.apply import Apply
from takeback.worktree.unit import make_units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.model.change import Change
    from takeback.ops.context import Context
    from takeback.worktree.stage import BlobSource


def write_files(
    context: Context, fd: int, changes: Sequence[Change], blobs: BlobSource, *, into: str
) -> None:
    """Writes what is new into an open directory of ours, exactly.

    Raises Refused for a path that its file system does not take, and OSError if the disk fails.
    """
    for change in changes:
        if is_inside_git(change.path):
            raise StoreDamaged(f"a snapshot names {to_text(change.path)}, which none holds")
    units = make_units(changes, [], {})
    applied = Apply(fd, units, new_operation_id(), blobs, context.reporter).run()
    if applied.left_alone:
        first = applied.left_alone[0]
        raise Refused(
            f"{to_text(first.path)} cannot be written into {into}: {first.reason}",
            hint="nothing was changed in the workspace",
        )
