"""Differences between two states, path by path."""

from __future__ import annotations

from takeback.model.snapshot import Entry
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, Literal

    ChangeKind = Literal["added", "deleted", "modified", "mode", "type"]

ADDED: Final = "added"
DELETED: Final = "deleted"
MODIFIED: Final = "modified"
MODE: Final = "mode"
TYPE: Final = "type"


class Change(Value):
    """One path that differs between two snapshots. None stands for "not there"."""

    path: bytes
    old: Entry | None
    new: Entry | None

    @property
    def kind(self) -> ChangeKind:
        """Returns added, deleted, modified, mode (only the permission bits) or type."""
        if self.old is None:
            return ADDED
        if self.new is None:
            return DELETED
        if self.old.mode & 0o170000 != self.new.mode & 0o170000:
            return TYPE
        return MODE if self.old.oid == self.new.oid or self.new.is_directory else MODIFIED


class CountedChange(Value):
    """A change as people read it: the path, what happened, lines added and deleted.

    The counts are None if there are no lines to count: a binary, a link, a directory, a mode.
    """

    path: bytes
    kind: ChangeKind
    added: int | None
    deleted: int | None
