"""The workbench: one directory that is taken from state to state, for a command to be tried on.

    $TAKEBACK_HOME/bisect-<token>/files/      see scratch.py; its path says nothing of the workspace

Only what differs is written, so that what a command builds there stays warm. What it changed of the
files themselves is put right first; what it added stays, unless the next state has something there.
"""

from __future__ import annotations

import os
import time
from stat import S_ISDIR

from takeback import durable
from takeback.errors import Refused, WriteFailed
from takeback.model.change import Change
from takeback.model.path_text import covers, parents, to_text
from takeback.ops.copies import copy_across, removal
from takeback.ops.filling import write_files
from takeback.ops.scratch import ScratchDirectory
from takeback.paths import takeback_home
from takeback.store import trees
from takeback.store.blobs import StoreBlobs
from takeback.worktree.opened import OpenDirectories
from takeback.worktree.removal import remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.model.snapshot import Entry
    from takeback.ops.context import Context

    Mark = tuple[int, ...]
    """The mode, and what else changes when a file does."""

_PURPOSE = "bisect"
_TICK = 0.02
"""The times that files get are up to 10 ms behind the clock."""
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Workbench:
    """A directory of ours with the files of one snapshot after another. Close it after use."""

    def __init__(self, context: Context, copies: Iterable[bytes] = ()) -> None:
        """``copies`` are paths in the workspace of which a copy is put there, too."""
        self._context = context
        self._blobs = StoreBlobs(context.store)
        self._copies = tuple(copies)
        self._scratch = ScratchDirectory(takeback_home(context.environ), _PURPOSE)
        self.path = self._scratch.inside("files")
        """Where a command is run."""
        here = context.environ.get("PWD", "")
        self.moved = removal(context.workspace.root, self.path, here)
        self._tree: bytes | None = None
        self._marks: dict[bytes, Mark] = {}
        self._written: dict[bytes, int] = {}

    def close(self) -> None:
        """Removes it; what a process that the command left behind writes there later stays."""
        try:
            self._scratch.remove()
        except OSError:
            return  # the next workbench removes the rest

    def __enter__(self) -> Workbench:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def go_to(self, tree: bytes) -> None:
        """Makes the files there those of a snapshot, exactly; raises Refused or WriteFailed."""
        try:
            if self._tree is not None and self._moved_to(tree):
                return
            self._begin(tree)
        except OSError as error:
            self._tree = None
            raise WriteFailed.of("writing a state of the files for the command", error) from error

    # -- all of it

    def _begin(self, tree: bytes) -> None:
        """Fills the directory from nothing."""
        parent = os.open(os.path.dirname(self.path), _FLAGS)
        try:
            remove_tree(parent, b"files")
            durable.mkdir(b"files", dir_fd=parent)
        finally:
            os.close(parent)
        self._marks.clear()
        changes = [Change(path, None, entry) for path, entry in self._entries(tree).items()]
        self._wait_for_another_second(changes)
        fd = os.open(self.path, _FLAGS)
        try:
            write_files(self._context, fd, changes, self._blobs, into="the scratch directory")
        finally:
            os.close(fd)
        for copied in self._copies:
            self._check_not_held(tree, copied)
            copy_across(self.moved, copied)
        self._remember(changes)
        self._tree = tree

    def _entries(self, tree: bytes) -> dict[bytes, Entry]:
        found = dict(trees.walk(self._context.store, tree))
        for path, entry in found.items():
            self._check_link(path, entry)
        return found

    def _check_not_held(self, tree: bytes, path: bytes) -> None:
        if trees.lookup(self._context.store, tree, path) is not None:
            raise Refused(
                f"{to_text(path)} is in the checkpoints: only what is in none can be copied",
                hint="leave it out: the command finds it as it was then",
            )

    def _check_link(self, path: bytes, entry: Entry) -> None:
        """Raises Refused for a link through which a command would write into the workspace."""
        if not entry.is_link:
            return
        here = os.path.join(os.fsencode(self.path), os.path.dirname(path))
        target = os.path.realpath(os.path.join(here, self._blobs.blob(entry.oid)))
        if covers((self._context.workspace.root,), target):
            raise Refused(
                f"{to_text(path)} is a link to {to_text(target)}: what the command writes there "
                "would change the workspace",
                hint="bisect between checkpoints that do not have it",
            )

    # -- only what differs

    def _moved_to(self, tree: bytes) -> bool:
        """Goes to a snapshot by writing what differs; False if it has to be filled anew."""
        assert self._tree is not None
        touched = self._touched()
        if touched is None:
            return False
        store = self._context.store
        changes = {change.path: change for change in trees.diff(store, self._tree, tree)}
        for path in touched - changes.keys():
            entry = trees.lookup(store, tree, path)
            changes[path] = Change(path, entry, entry)
        if any(self._needs_all_anew(change) for change in changes.values()):
            return False
        for change in changes.values():
            if change.new is not None:
                self._check_link(change.path, change.new)
        self._wait_for_another_second(changes.values())
        fd = os.open(self.path, _FLAGS)
        try:
            self._clear(fd, changes)
            new = [c.replace(old=None) for c in changes.values() if c.new is not None]
            write_files(self._context, fd, new, self._blobs, into="the scratch directory")
        except (OSError, Refused):
            return False  # the command has made something there that is in the way
        finally:
            os.close(fd)
        for path in changes:
            self._marks.pop(path, None)
        self._remember(new)
        self._tree = tree
        return True

    def _needs_all_anew(self, change: Change) -> bool:
        """Tells whether a directory gets other permission bits, or comes or goes with a copy."""
        before, now = (
            entry is not None and entry.is_directory for entry in (change.old, change.new)
        )
        holds_copy = any(covers((change.path,), copied) for copied in self._copies)
        return (before and now) or ((before or now) and holds_copy)

    def _clear(self, fd: int, changes: dict[bytes, Change]) -> None:
        """Removes what is at the paths that change, also what the command has put there."""
        opened = OpenDirectories(fd)
        try:
            for path in sorted(changes):
                if any(above in changes for above in parents(path)):
                    continue  # its directory goes, or comes, as a whole
                parent, _, name = path.rpartition(b"/")
                remove_tree(opened[parent], name)
        finally:
            opened.close()

    def _touched(self) -> set[bytes] | None:
        """Returns the files that the command changed; None if it changed directories of ours."""
        found = set()
        for path, mark in self._marks.items():
            now = self._mark(path)
            if now != mark:
                if S_ISDIR(mark[0]):
                    return None
                found.add(path)
        return found

    def _remember(self, written: Iterable[Change]) -> None:
        for change in written:
            mark = self._mark(change.path)
            if mark is not None:
                self._marks[change.path] = mark
                self._written[change.path] = int(time.time())

    def _mark(self, path: bytes) -> Mark | None:
        try:
            found = os.lstat(os.path.join(os.fsencode(self.path), path))
        except OSError:
            return None
        return _directory_mark(found) if S_ISDIR(found.st_mode) else _file_mark(found)

    def _wait_for_another_second(self, changes: Iterable[Change]) -> None:
        """Lets no two versions of a file have times in the same second.

        Some programs (Python, for what it has compiled) take a file of the same size and second
        for the same file.
        """
        again = (self._written.get(c.path, 0) for c in changes if c.new is not None)
        over = max(again, default=0) + 1 + _TICK
        while time.time() < over:
            time.sleep(_TICK)


def _directory_mark(found: os.stat_result) -> Mark:
    return (found.st_mode, found.st_ino)


def _file_mark(found: os.stat_result) -> Mark:
    return (found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
