"""A directory while it is being listed."""

from __future__ import annotations

from takeback.model.coverage import IGNORED
from takeback.worktree.directory import IGNORED_DIRECTORY, Directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    from takeback.worktree.hashing import Task


class Draft:
    """A directory that is being listed: every entry with its status, before it is judged."""

    def __init__(self, path: bytes, known: Directory | None, *, ask_again: bool) -> None:
        self.path = path
        self.known = known
        self.ask_again = ask_again
        self.result = Directory(path)
        self.marks = marks_of(known) if known is not None else {}
        self.entries: dict[bytes, os.stat_result] = {}
        self.held: dict[bytes, tuple[bytes, bytes] | Task] = {}
        self.saved: dict[bytes, tuple[bytes, bytes] | Task] = {}
        self.settled = True
        self.questions: list[bytes] = []


def marks_of(known: Directory) -> dict[bytes, tuple[bytes, bytes]]:
    """Returns (signature, oid) of every held or saved file of a directory."""
    found = {name: (mark, oid) for name, mark, oid in known.files}
    found.update((name, (mark, oid)) for name, mark, oid in known.saved)
    return found


def was_ignored(known: Directory | None, name: bytes) -> bool:
    """Returns the verdict that git gave when the entry was new."""
    if known is None:
        return False
    return (
        known.gaps.get(name) in (IGNORED, IGNORED_DIRECTORY)
        or name in known.tracked
        or (known.saved.names != b"" and name in known.saved.names.split(b"/"))
    )
