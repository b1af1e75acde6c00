"""A directory while it is being listed, and files that move from one to another meanwhile."""

from __future__ import annotations

import os
import time

from takeback import kernel
from takeback.model.coverage import IGNORED
from takeback.worktree.directory import (
    HELD_BEFORE,
    HELD_BELOW,
    IGNORED_DIRECTORY,
    NEVER_TRUSTED,
    PATH,
    UNRULED,
    Directory,
    FileTable,
    directory_signature,
    signature,
    undoubted,
)
from takeback.worktree.glance import moved_directories
from takeback.worktree.read import GONE, Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from takeback.worktree.cache import Known
    from takeback.worktree.glance import Belief
    from takeback.worktree.watch import WatchedLook


# -- notices files that moved from one directory to another while these were being listed
#
#         list b   ->   mv a/f b/f   ->   list a            f is in neither list
#
# So each directory is checked once more when everything is listed and read: if its times have
# changed since it was listed, it is listed again. A file may also have moved to a directory that
# was not listed at all, because nothing in it had changed by then: if a known name vanished
# during the capture, the times of all directories are compared again, or a watch tells where
# something happened.


_STEP = 10_000_000
"""Kernels give out times in steps of up to 10 ms; a change within one step may not show."""


class Movement:
    """What the directories were like when this capture listed them."""

    def __init__(
        self, root_fd: int, *, everywhere: bool = True, watching: WatchedLook | None = None
    ) -> None:
        self._root_fd = root_fd
        self._everywhere = everywhere
        """False if whatever other directories get meanwhile is left to the next capture."""
        self._watching = watching
        self._listed: dict[bytes, tuple[bytes, int]] = {}
        self.vanished = False
        """A name that was there has vanished, while we were looking."""

    def saw(self, path: bytes, status: os.stat_result, when: int) -> bytes:
        """Notes the state of a directory just before it is listed; returns its signature."""
        step_ends = status.st_ctime_ns + _STEP
        young = when - _STEP < status.st_ctime_ns <= when
        mark = directory_signature(status)
        self._listed[path] = (mark, step_ends if young else 0)
        return mark

    def __contains__(self, path: bytes) -> bool:
        return path in self._listed

    def forget(self, path: bytes) -> None:
        self._listed.pop(path, None)

    def moved(self, known: Known) -> list[bytes]:
        """Returns the directories that must be listed again for the capture to be correct.

        Costs one stat for each directory that was listed, and one for each other directory only if
        a name vanished. If a directory changed just before it was listed, waits until a change
        would show, 10 ms at most.
        """
        found = []
        wait_until = 0
        for path, (mark, step_ends) in self._listed.items():
            status = self._status(path)
            if status is None or directory_signature(status) != mark or step_ends:
                found.append(path)
                wait_until = max(wait_until, step_ends)
        if self.vanished and self._everywhere:
            self.vanished = False
            found += self._elsewhere(known)
        left = wait_until - time.time_ns()
        if 0 < left <= _STEP:
            time.sleep(left / 1_000_000_000)
        return found

    def _elsewhere(self, known: Known) -> list[bytes]:
        """Returns the directories that were not listed and have changed since the capture began."""
        heard = None if self._watching is None else self._watching.meanwhile(known)
        if heard is not None:
            return [path for path in heard if path not in self._listed]
        others = (row for row in known.listings() if row[PATH] not in self._listed)
        return moved_directories(self._root_fd, others)

    def _status(self, path: bytes) -> os.stat_result | None:
        try:
            return os.stat(path or b".", dir_fd=self._root_fd, follow_symlinks=False)
        except OSError:  # gone; or its path is too long for one call
            pass
        try:
            fd = kernel.open_directory_beneath(self._root_fd, path, only_to_read=True)
        except OSError:
            return None
        try:
            return os.fstat(fd)
        finally:
            os.close(fd)


# -- a directory while it is being listed


IGNORE_FILE = b".gitignore"
_NOTHING: dict[bytes, Any] = {}
"""Shared by all that hold nothing any more."""


class Draft:
    """A directory that is being listed: every entry with its status, before it is sorted."""

    __slots__ = (
        "_held_before",
        "ask_again",
        "entries",
        "held",
        "is_pressed",
        "known",
        "lost",
        "marks",
        "path",
        "questions",
        "result",
        "saved",
        "settled",
        "young",
    )

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
        self._held_before: frozenset[bytes] | None = None
        self.settled = True
        self.questions: Sequence[bytes] = ()
        self.is_pressed = False
        self.lost = False
        """A file that was listed had vanished when it was about to be read."""

    def ignore_file_changed(self) -> bool:
        """Tells whether git's verdicts on the names below may be out of date."""
        if self.known is None:
            return False
        if (self.known.flags ^ self.result.flags) & UNRULED:
            return True
        status = self.entries.get(IGNORE_FILE)
        before = self.marks.get(IGNORE_FILE)
        if before is None:  # not held, so without a signature: it may be a different one by now
            return status is not None or IGNORE_FILE in self.known.gaps
        return status is None or undoubted(before[0]) != signature(status)

    def was_held(self, name: bytes, *, directory: bool) -> bool:
        """Tells whether the last snapshot held a name, as a directory or as something else.

        What it held before it became unreadable counts, too.
        """
        if self.known is None:
            return False
        if self.known.gaps.get(name, "").endswith(HELD_BELOW if directory else HELD_BEFORE):
            return True
        if directory:
            return name in self.known.subs and name not in self.known.gaps
        if self._held_before is None:
            self._held_before = frozenset(self.known.files.names.split(b"/"))
        return name in self._held_before

    def is_unchanged(self, name: bytes, status: os.stat_result) -> bool:
        """Tells whether a known file looks as it did, trusted or not; if unknown, by its size."""
        mark = self.marks[name][0]
        if mark != NEVER_TRUSTED or self.known is None:
            return undoubted(mark) == signature(status)
        return self.known.racy.get(name, (0, status.st_size))[1] == status.st_size

    def miss(self, name: bytes, reason: str) -> None:
        """Reports a file that exists and belongs in the snapshot, but is missing from it."""
        held = self.was_held(name, directory=False)
        self.result.gaps[name] = reason + HELD_BEFORE if held else reason

    def missing(self) -> bool:
        """Tells whether a known name is no longer listed."""
        if self.known is None:
            return False
        here = self.entries.keys() | self.result.gaps.keys()
        return not (self.marks.keys() <= here and self.known.subs.keys() <= here)

    def restless(self) -> set[bytes]:
        """Returns the names that changed since the last listing."""
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

    def press(self, belief: Belief) -> None:
        """Puts what was read into columns, once all of it is, and gives back what led there."""
        if self.is_pressed:
            return
        self.is_pressed = True
        self.result.files = FileTable.of(self._rows(self.held, belief))
        self.result.saved = FileTable.of(self._rows(self.saved, belief))
        self.held = self.saved = self.marks = self.entries = _NOTHING
        self.young = self.young or _NOTHING
        self.questions = ()
        self._held_before = None

    def _rows(
        self, held: dict[bytes, tuple[bytes, bytes] | Task], belief: Belief
    ) -> list[tuple[bytes, bytes, bytes]]:
        """Returns (name, signature, oid) of the files that were read; reports the others."""
        rows = []
        for name, kept in held.items():
            if not isinstance(kept, Task):
                mark, oid = kept
            elif isinstance(kept.outcome, str):
                if kept.outcome == GONE:
                    self.lost = True
                else:
                    self.miss(name, kept.outcome)
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
