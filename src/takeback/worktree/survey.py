"""Lists directories and sorts what is in them: held, saved, or not held and why.

New directories are found level by level, so that git is asked about all new names of one
depth in one go, and never about what lies below an ignored directory.
"""

from __future__ import annotations

import errno
import os
import time
from stat import S_ISDIR, S_ISLNK, S_ISREG

from takeback import kernel
from takeback.durable import is_scratch_name
from takeback.git.objects import EMPTY_TREE
from takeback.model.coverage import (
    EXCLUDED,
    IGNORED,
    MOUNT,
    OTHER_WORKSPACE,
    PURGED,
    SENSITIVE,
    SPECIAL,
    UNREADABLE,
    UNSTABLE,
)
from takeback.model.snapshot import entry_mode
from takeback.ordinary import all_names
from takeback.worktree.directory import (
    HELD_BELOW,
    IGNORED_DIRECTORY,
    LINKED,
    REPOSITORY,
    UNRULED,
    Directory,
    directory_signature,
)
from takeback.worktree.draft import IGNORE_FILE, Draft, marks_of
from takeback.worktree.movement import Movement
from takeback.worktree.project import RULES_LIMIT, git_directory
from takeback.worktree.reading import is_of_this_process
from takeback.worktree.sorting import Sorting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.worktree.belief import Belief
    from takeback.worktree.hashing import Task
    from takeback.worktree.known import Known
    from takeback.worktree.reader import FileReader
    from takeback.worktree.scan import ScanSetup
    from takeback.worktree.watching import WatchedLook

_STAYS = frozenset((IGNORED, IGNORED_DIRECTORY, EXCLUDED, SENSITIVE, SPECIAL, PURGED))
"""Gaps that cannot close unless the directory or the rules change."""
_AT_ONCE = 1000
"""How many directories of one depth are listed before what is in them is sorted."""
_PORTION = 25_000
"""How many files are found before they are read: a million at once would take half a gigabyte."""
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class Survey:
    """Finds what is there now. ``finish`` lists and has files read, then ``settle`` is due."""

    def __init__(
        self,
        setup: ScanSetup,
        known: Known,
        belief: Belief,
        *,
        mounts: set[bytes],
        inside: Iterable[bytes],
        watching: WatchedLook | None = None,
    ) -> None:
        self._workspace = setup.workspace
        self._watching = watching
        self._known = known
        self._belief = belief
        self._mounts = mounts
        self._operation = setup.operation
        self._movement = Movement(
            setup.workspace.fd, everywhere=setup.within is None, watching=watching
        )
        self._queue: dict[bytes, bool] = {}
        self._drafts: dict[bytes, Draft] = {}
        self._portion: list[Draft] = []
        """Those of which files may still have to be read."""
        self._restless: set[bytes] = set()
        self._young: dict[bytes, dict[bytes, Task]] = {}
        self._sorting = Sorting(setup, known, inside)
        self.removed: set[bytes] = set()
        self.removed_from: set[bytes] = set()

    def begin_anew(self) -> None:
        """Lists everything; what is known of unchanged files is still used."""
        self._queue[b""] = True

    def look_again(self, paths: Iterable[bytes]) -> None:
        """Lists these known directories again."""
        for path in paths:
            self._queue.setdefault(path, False)

    def finish(self, reader: FileReader) -> None:
        """Lists what is queued and every new directory below it, and has the files in them read.

        If there are many they are read in portions, so that little is known of each when its
        portion is done.
        """
        while self._queue:
            level = self._next_level()
            for first in range(0, len(level), _AT_ONCE):
                drafts = [self._list(*listed) for listed in level[first : first + _AT_ONCE]]
                whole = [draft for draft in drafts if draft is not None]
                self._sorting.judge(whole)
                for draft in whole:
                    self._descend(draft)
                    self._forget_vanished(draft)
                    draft.entries = {}  # a million of them take most of a gigabyte
                self._portion += whole
                if self._sorting.found >= _PORTION:
                    self._read_portion(reader)
        reader.read(self._sorting.take_tasks(last=True))
        self._portion = []

    def _read_portion(self, reader: FileReader) -> None:
        """Has the files read that were found so far, but for those that have to wait."""
        reader.read(self._sorting.take_tasks(last=False), last=False)
        waiting = self._sorting.waiting()
        rest = []
        for draft in self._portion:
            if draft.path in waiting:
                rest.append(draft)
            else:
                draft.press(self._belief)
        self._portion = rest

    def _next_level(self) -> list[tuple[bytes, bool]]:
        """Takes the shallowest queued paths: listing a parent may show that a child is gone."""
        depth = min(_depth(path) for path in self._queue)
        level = sorted(path for path in self._queue if _depth(path) == depth)
        return [(path, self._queue.pop(path)) for path in level]

    def _list(self, path: bytes, ask_again: bool) -> Draft | None:
        known = self._known.get(path)
        draft = Draft(path, known, ask_again=ask_again, young=self._young.pop(path, None))
        if path in self._mounts:
            self._drop(path, MOUNT)
            return None
        try:
            fd = kernel.open_directory_beneath(self._workspace.fd, path, only_to_read=True)
        except OSError as error:
            if is_of_this_process(error, self._workspace.fd):
                raise
            self._drop(path, MOUNT if error.errno == errno.EXDEV else UNREADABLE)
            return None
        try:
            again = path in self._movement
            if self._watching is not None:
                self._watching.lists(path, fd)
            when = time.time_ns()
            status = os.fstat(fd)
            draft.result.mode = status.st_mode
            draft.result.listed = self._movement.saw(path, status, when)
            draft.settled = self._belief.time.settled(status.st_mtime_ns, status.st_ctime_ns)
            for name in map(os.fsencode, all_names(fd)):
                self._look(draft, fd, name)
        except OSError as error:
            if is_of_this_process(error, fd):
                raise
            self._drop(path, UNREADABLE)
            return None
        finally:
            os.close(fd)
        if path and draft.result.flags & REPOSITORY and self._is_another_workspace(path, known):
            self._drop(path, OTHER_WORKSPACE)
            return None
        ignore_file = draft.entries.get(IGNORE_FILE)
        if ignore_file is not None and not _is_readable_by_git(ignore_file):
            draft.result.flags |= UNRULED
        if draft.ignore_file_changed():
            draft.ask_again = True
        if again:
            self._restless |= draft.restless()
        if draft.missing() and not draft.settled:  # else it vanished before we began to look
            self._movement.vanished = True
        self._drafts[path] = draft
        return draft

    def _look(self, draft: Draft, fd: int, name: bytes) -> None:
        if name == b".git":
            draft.result.flags |= REPOSITORY
            return
        if is_scratch_name(name, self._operation):
            draft.result.gaps[name] = EXCLUDED
            draft.settled = False
            return
        try:
            draft.entries[name] = status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if status.st_nlink > 1 and S_ISREG(status.st_mode):
                draft.result.flags |= LINKED
        except FileNotFoundError:
            draft.settled = False
            self._movement.vanished = True
        except OSError:
            draft.miss(name, UNREADABLE)
            draft.settled = False

    def _drop(self, path: bytes, reason: str) -> None:
        """Makes a directory a gap of its parent, which was listed before it."""
        self._forget_below(path)
        if not path:
            root = Directory(b"")
            root.gaps[b""] = reason
            self._known[b""] = root
            self._drafts[b""] = draft = Draft(b"", None, ask_again=False)
            draft.result.gaps[b""] = reason
            draft.settled = False
            return
        parent, _, name = path.rpartition(b"/")
        draft_of_parent = self._drafts.get(parent)
        if draft_of_parent is not None:
            draft_of_parent.result.subs.pop(name, None)
            gaps, draft_of_parent.settled = draft_of_parent.result.gaps, False
            held = draft_of_parent.was_held(name, directory=True)
        else:
            directory = self._known.get(parent)
            if directory is None:  # the parent vanished a moment ago
                return
            held = directory.subs.pop(name, None) is not None
            gaps, directory.listed = directory.gaps, b""
            self.removed_from.add(parent)
        reason = reason + HELD_BELOW if held and reason != OTHER_WORKSPACE else reason
        try:
            if S_ISDIR(self._status(parent, name).st_mode):
                gaps[name] = reason
            else:
                self._queue.setdefault(parent, False)
        except OSError as error:
            if error.errno in _ABSENT:
                self._movement.vanished = True
            else:
                gaps[name] = reason

    def _status(self, directory: bytes, name: bytes) -> os.stat_result:
        fd = kernel.open_directory_beneath(self._workspace.fd, directory, only_to_read=True)
        try:
            return os.stat(name, dir_fd=fd, follow_symlinks=False)
        finally:
            os.close(fd)

    def _descend(self, draft: Draft) -> None:
        """Queues the sub-directories that are new, or may be."""
        prefix = draft.path + b"/" if draft.path else b""
        for name in draft.result.subs:
            path = prefix + name
            known = self._known.get(path)
            draft.result.subs[name] = (0, known.tree if known is not None else b"")
            if known is None or draft.ask_again:
                self._queue[path] = draft.ask_again
            elif path not in self._movement and known.listed != directory_signature(
                draft.entries[name]
            ):  # another one took its place since it was checked
                self._queue.setdefault(path, False)

    def _is_another_workspace(self, path: bytes, known: Directory | None) -> bool:
        """Tells whether a directory is a linked worktree; one that holds files stays ours.

        git makes a worktree only where there is nothing, and a pointer is easily forged.
        """
        if known is not None and known.tree not in (b"", EMPTY_TREE):
            return False
        git = git_directory(os.path.join(self._workspace.root, path))
        return git is not None and git.linked

    def _forget_vanished(self, draft: Draft) -> None:
        if draft.known is None:
            return
        for name in draft.known.subs:
            if name not in draft.result.subs:
                self._forget_below(draft.path + b"/" + name if draft.path else name)

    def _forget_below(self, path: bytes) -> None:
        """Drops what was known of a vanished directory and everything below it."""
        stack = [path]
        while stack:
            gone = stack.pop()
            self._queue.pop(gone, None)
            self._drafts.pop(gone, None)
            self._movement.forget(gone)
            directory = self._known.pop(gone)
            if directory is not None:
                self.removed.add(gone)
                prefix = gone + b"/" if gone else b""
                stack.extend(prefix + name for name in directory.subs)

    def settle(self) -> list[Directory]:
        """Turns what was listed and read into directories.

        Afterwards, ``moved`` tells whether the result is correct; if not, more can be listed.
        """
        fresh = []
        for path, draft in sorted(self._drafts.items()):
            if not self._still_listed(path):  # its parent was listed again and found it gone
                self._known.pop(path)
                continue
            result = draft.result
            draft.press(self._belief)
            self._movement.vanished |= draft.lost
            if draft.young:
                self._young[path] = draft.young
            open_gap = IGNORE_FILE in result.gaps or any(
                reason not in _STAYS for reason in result.gaps.values()
            )
            if open_gap or not draft.settled:
                result.listed = b""
            if draft.known is not None:
                result.tree = draft.known.tree
            self._known[path] = result
            fresh.append(result)
        for directory in fresh:
            prefix = directory.path + b"/" if directory.path else b""
            for name in list(directory.subs):
                child = self._known.get(prefix + name)
                if child is None:
                    del directory.subs[name]
                else:
                    directory.subs[name] = (entry_mode(child.mode), child.tree)
        self._drafts = {}
        return fresh

    def moved(self, *, vanished: bool = False) -> list[bytes]:
        """Returns the directories in which names came or went during the listing and reading.

        ``vanished``: a known file vanished that is in no directory of this survey.
        """
        self._movement.vanished |= vanished
        return self._movement.moved(self._known)

    def give_up(self, paths: Iterable[bytes]) -> None:
        """Reports directories that keep changing: something may be in them that is not listed.

        For the root only the names that came and went, in it or another such directory, are
        reported: one file that is replaced all the time must not put everything in doubt.
        """
        for path in paths:
            directory = self._known.get(path)
            if directory is None:
                continue
            names = {b""}
            if not path:
                names = self._restless - marks_of(directory).keys() - directory.subs.keys()
            directory.gaps.update((name, UNSTABLE) for name in names if name not in directory.gaps)
            directory.listed = b""
            self.removed_from.add(path)

    def _still_listed(self, path: bytes) -> bool:
        parent, _, name = path.rpartition(b"/")
        above = self._known.get(parent)  # settled already: parents come first
        return path == b"" or (above is not None and name in above.subs)


def _depth(path: bytes) -> int:
    return path.count(b"/") + 1 if path else 0


def _is_readable_by_git(ignore_file: os.stat_result) -> bool:
    """Tells whether git may be asked: it waits for ever on a FIFO, and reads whole files."""
    mode = ignore_file.st_mode
    if S_ISREG(mode):
        return ignore_file.st_size <= RULES_LIMIT
    return S_ISLNK(mode) or S_ISDIR(mode)
