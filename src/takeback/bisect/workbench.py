"""The workbench: one directory that is taken from state to state, for a command to be tried on.

    $TAKEBACK_HOME/bisect-<token>/files/      see scratch; its path says nothing of the workspace

Only what differs is written, so that what a command builds there stays warm. What it changed of the
files themselves is put right first; what it added stays, unless the next state has something there.
"""

from __future__ import annotations

import os
import time
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG

from takeback import durable
from takeback.errors import Refused, WriteFailed
from takeback.fork.fork import write_files
from takeback.model.checkpoint import Change
from takeback.model.path_text import covers, parents, to_text
from takeback.model.value import Value
from takeback.ordinary import all_names, ordinary
from takeback.paths import takeback_home
from takeback.scratch import ScratchDirectory
from takeback.store import trees
from takeback.store.sink import StoreBlobs
from takeback.worktree.place import OpenDirectories
from takeback.worktree.removal import remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.context import Context
    from takeback.model.checkpoint import Entry

    Mark = tuple[int, ...]
    """The mode, and what else changes when a file does."""

# -- copies what no checkpoint holds, such as ``.venv`` or ``node_modules``, out of the workspace
#
# It is a copy, not a link: through a link a command would write into the workspace. Texts in it
# that name the workspace's path, and links that lead there, name the new place instead: the first
# line of a script, the ``.pth`` file of a package that is installed in place. Otherwise a program
# there would go on with the files of the workspace.


_PIECE = 1 << 20
"""A file that is not longer, and has no NUL, is a text."""
_ENDS = frozenset(b"/:;,'\"`()[]{}<>|&= \t\r\n\0")
"""What a path may be followed by; anything else makes it another path."""


class Removal(Value):
    """From where to where: the real path of the workspace, its other names, and the new place."""

    root: bytes
    there: bytes
    also: tuple[bytes, ...] = ()

    def text(self, text: bytes) -> bytes:
        """Returns a text in which the workspace, and each path in it, is at the new place.

        ``/a/b`` is in ``/a/b/c`` and in ``x=/a/b:/d``, not in ``/a/bc``.
        """
        for old in (*self.also, self.root):
            if old in text:
                text = _renamed(text, old, self.there)
        return text

    def path(self, path: bytes) -> bytes:
        """Returns a path; one that leads into the workspace, if only by links, is a new one."""
        path = self.text(path)
        if not path.startswith(b"/") or covers((self.there,), path):
            return path
        real = os.path.realpath(path)
        return self.there + real[len(self.root) :] if covers((self.root,), real) else path


def removal(root: bytes, there: str, called_in: str) -> Removal:
    """Returns what moves from a workspace; ``called_in`` is how a shell calls a place in it."""
    also, directory = [], os.fsencode(called_in)
    while directory.startswith(b"/") and directory != b"/":
        if directory != root and os.path.realpath(directory) == root:
            also.append(directory)
        directory = os.path.dirname(directory)
    return Removal(root, os.fsencode(there), tuple(also))


def copy_across(moved: Removal, path: bytes) -> None:
    """Copies a path of the workspace to the same path at the new place; raises OSError.

    Keeps permission bits, and the times of files, by which programs tell what is up to date.
    """
    source = os.path.join(moved.root, path)
    durable.make_directories(os.fsdecode(os.path.dirname(os.path.join(moved.there, path))))
    pending = [source]
    while pending:
        here = pending.pop()
        _copy(moved, here)
        if not os.path.islink(here) and os.path.isdir(here):
            names = map(os.fsencode, all_names(os.fsdecode(here)))
            pending += [os.path.join(here, name) for name in names]


def _copy(moved: Removal, source: bytes) -> None:
    """Copies one file, link or directory without what is in it; sockets and the like are left."""
    found = os.lstat(source)
    copy = moved.there + source[len(moved.root) :]
    if S_ISLNK(found.st_mode):
        durable.symlink(moved.path(os.readlink(source)), copy)
    elif S_ISDIR(found.st_mode):
        durable.mkdir(copy, mode=0o700 | S_IMODE(found.st_mode))
    elif S_ISREG(found.st_mode):
        _copy_file(moved, source, copy)
        durable.set_times(copy, found.st_atime_ns, found.st_mtime_ns)


def _copy_file(moved: Removal, source: bytes, copy: bytes) -> None:
    with open(source, "rb", opener=ordinary) as file:
        bits = S_IMODE(os.fstat(file.fileno()).st_mode)
        fd = durable.create(copy)
        try:
            data = file.read(_PIECE)
            if len(data) < _PIECE and b"\0" not in data:
                data = moved.text(data)
            while data:
                durable.write(fd, data)
                data = file.read(_PIECE)
            durable.chmod(fd, bits)
        finally:
            os.close(fd)


def _renamed(text: bytes, old: bytes, new: bytes) -> bytes:
    pieces, at = [], 0
    while (found := text.find(old, at)) >= 0:
        end = found + len(old)
        whole = end == len(text) or text[end] in _ENDS
        pieces += [text[at:found], new if whole else old]
        at = end
    return b"".join((*pieces, text[at:]))


# -- the workbench
#
#   $TAKEBACK_HOME/bisect-<token>/files/      its path says nothing of the workspace


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
