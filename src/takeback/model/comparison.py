"""Two states side by side: which they are, and what each has at a path."""

from __future__ import annotations

from takeback.model.change import CountedChange
from takeback.model.ids import SnapshotId
from takeback.model.plan import Plan
from takeback.model.value import Value


class Portion(Value):
    """Two states of the workspace, of which some paths are to be compared."""

    old: SnapshotId
    new: SnapshotId
    paths: frozenset[bytes]


class Between(Value):
    """Two states of the workspace, to be compared; with ``parts``, only what these have of it.

    That is what a turn did, where it is not alone: a path may be in several, in their order.
    """

    old: SnapshotId
    new: SnapshotId
    parts: tuple[Portion, ...] | None = None

    @classmethod
    def of_trees(cls, old: bytes, new: bytes) -> Between:
        return cls(SnapshotId(old.hex()), SnapshotId(new.hex()))

    def of(self, path: bytes) -> tuple[tuple[SnapshotId, SnapshotId], ...]:
        """Returns the states to compare a path in: one pair, or one for each part that has it."""
        if self.parts is None:
            return ((self.old, self.new),)
        return tuple((part.old, part.new) for part in self.parts if path in part.paths)


class Side(Value):
    """What one state has at a path. ``target`` is where it leads if it is a link."""

    mode: int
    size: int
    target: bytes | None = None


class FileDiff(Value):
    """One path in two states; None stands for "not there".

    ``patch`` is git's unified diff of this path alone. It is None if there is nothing for git to
    compare (a directory), and for a file that is ``too_large``.
    """

    path: bytes
    old: Side | None
    new: Side | None
    patch: bytes | None = None
    too_large: bool = False


class Preview(Value):
    """What going to a checkpoint would change now.

    ``changes`` are the files that ``plan`` writes and deletes, with their lines counted;
    ``between`` leads from the present files to the target.
    """

    plan: Plan
    changes: tuple[CountedChange, ...]
    between: Between
