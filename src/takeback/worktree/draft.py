"""A directory while it is being listed."""

from __future__ import annotations

from takeback.model.coverage import IGNORED
from takeback.worktree.directory import (
    IGNORED_DIRECTORY,
    NEVER_TRUSTED,
    Directory,
    signature,
    undoubted,
)
from takeback.worktree.hashing import Task
from takeback.worktree.reading import GONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    from takeback.worktree.belief import Belief

IGNORE_FILE = b".gitignore"


class Draft:
    """A directory that is being listed: every entry with its status, before it is judged."""

    def __init__(
        self,
        path: bytes,
        known: Directory | None,
        *,
        ask_again: bool,
        young: dict[bytes, Task] | None = None,
    ) -> None:
        self.path = path
        self.known = known
        self.ask_again = ask_again
        self.result = Directory(path)
        self.marks = marks_of(known) if known is not None else {}
        self.young = young or {}
        """Files that this capture has read and the next one must read again."""
        for name, task in self.young.items():
            if not isinstance(task.outcome, str):
                self.marks[name] = (undoubted(task.outcome[1]), task.outcome[0])
        self.entries: dict[bytes, os.stat_result] = {}
        self.held: dict[bytes, tuple[bytes, bytes] | Task] = {}
        self.saved: dict[bytes, tuple[bytes, bytes] | Task] = {}
        self.settled = True
        self.questions: list[bytes] = []
        self.lost = False
        """A file that was listed was gone when it was to be read."""

    def ignore_file_changed(self) -> bool:
        """Tells whether what git said of the names below may be out of date."""
        if self.known is None:
            return False
        status = self.entries.get(IGNORE_FILE)
        before = self.marks.get(IGNORE_FILE)
        if before is None:  # one that is not held has no signature: it may be another by now
            return status is not None or IGNORE_FILE in self.known.gaps
        return status is None or undoubted(before[0]) != signature(status)

    def missing(self) -> bool:
        """Tells whether a name that was known is not listed any more."""
        if self.known is None:
            return False
        here = self.entries.keys() | self.result.gaps.keys()
        return not (self.marks.keys() <= here and self.known.subs.keys() <= here)

    def restless(self) -> set[bytes]:
        """Returns the names that are other than they were at the last listing."""
        if self.known is None:
            return set()
        before = self.marks.keys() | self.known.subs.keys() | self.known.gaps.keys()
        now = self.entries.keys() | self.result.gaps.keys()
        changed = {
            name
            for name, (mark, _) in self.marks.items()
            if name in self.entries and undoubted(mark) != signature(self.entries[name])
        }
        return (before ^ now | changed) - {b""}

    def rows(
        self, held: dict[bytes, tuple[bytes, bytes] | Task], belief: Belief
    ) -> list[tuple[bytes, bytes, bytes]]:
        """Returns (name, signature, oid) of the files that were read; names the others."""
        rows = []
        for name, kept in held.items():
            if not isinstance(kept, Task):
                mark, oid = kept
            elif isinstance(kept.outcome, str):
                if kept.outcome == GONE:
                    self.lost = True
                else:
                    self.result.gaps[name] = kept.outcome
                self.settled = False
                continue
            else:
                oid, read = kept.outcome
                mark = belief.of(read)
                if mark == NEVER_TRUSTED:
                    self.young[name] = kept
                    self.result.racy[name] = Directory(b"").file_mode(name, read)
            rows.append((name, mark, oid))
        return rows


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
