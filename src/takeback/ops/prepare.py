"""Works out what going to a checkpoint means for each path, and saves what would be lost.

The undo snapshot holds what the capture held. Whatever else stands in the way (an ignored
file, one above the size limit, a whole ignored directory where the target has a file) is
saved beside it first; what cannot be saved is left alone and named.
"""

from __future__ import annotations

import errno
import os
from stat import S_ISDIR

from takeback import kernel
from takeback.durable import is_scratch_name
from takeback.errors import StoreDamaged, UsageError
from takeback.model.change import Change
from takeback.model.coverage import MOUNT, OTHER_WORKSPACE, Coverage, NotHeld
from takeback.model.path_text import covers, is_inside_git, to_text
from takeback.model.plan import LeftAlone
from takeback.model.snapshot import Entry, entry_mode
from takeback.store import trees
from takeback.store.checkpoints import read_coverage
from takeback.worktree import ondisk
from takeback.worktree.reading import Kept, keep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from takeback.model.checkpoint import Checkpoint
    from takeback.ops.capture import Captured
    from takeback.ops.context import Context
    from takeback.worktree.unit import Inside

_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_NOT_ASKED = "ignored by git; restored only if asked: --ignored"


class Scope:
    """What of the target is wanted: all of it or some paths, with or without ignored files.

    ``also`` are paths of ignored files that are wanted whatever the rest says: those that the
    operation which is being undone replaced or removed. With ``files`` false no file is wanted,
    as for a conversation alone.
    """

    def __init__(
        self,
        paths: tuple[bytes, ...] = (),
        *,
        ignored: bool = False,
        also: tuple[bytes, ...] = (),
        files: bool = True,
    ) -> None:
        self.paths = paths
        self.ignored = ignored
        self.files = files
        self._named = frozenset(paths) | frozenset(also)
        self._also = also

    def holds(self, path: bytes) -> bool:
        return self.files and (covers(self.paths, path) or path in self._named)

    def with_also(self, also: tuple[bytes, ...]) -> Scope:
        """Returns the same scope with more ignored files in it."""
        return Scope(self.paths, ignored=self.ignored, also=(*self._also, *also), files=self.files)

    def names(self, path: bytes) -> bool:
        """Tells whether this very path was asked for."""
        return path in self._named

    def wants_ignored(self, path: bytes) -> bool:
        if not self.files:
            return False
        if path in self._named or (self._also and covers(self._also, path)):
            return True
        return self.ignored and covers(self.paths, path)


class Preparation:
    """The changes, sorted into what is done and what is left alone. Reads, and saves if asked."""

    def __init__(
        self,
        context: Context,
        captured: Captured,
        target: Checkpoint,
        scope: Scope,
        *,
        save: bool,
        kept: Mapping[bytes, str] | None = None,
        family: frozenset[str] = frozenset(),
    ) -> None:
        self._context = context
        self._leave = kept or {}
        self._family = family
        self._captured = captured
        self._store = context.store
        self._target_tree = bytes.fromhex(target.snapshot)
        self._coverage = self._coverage_of(target)
        self._target_saved = self._saved_of(target)
        self._scope = scope
        self._save = save
        self.writes: list[Change] = []
        self.deletes: list[Change] = []
        self.left_alone: dict[bytes, str] = {}
        self._by_rule: set[bytes] = set()
        self.displaced: dict[bytes, Inside] = {}
        self.extra: dict[bytes, Entry] = {}
        self.ignored_paths: list[bytes] = []
        self._wanted: set[bytes] = set()
        for path in scope.paths:
            self._check_known(path, target)
        self._work_out()

    def _check_known(self, path: bytes, target: Checkpoint) -> None:
        """Raises UsageError for a path that is nowhere: a slip must not read as "nothing to do"."""
        held = (self._captured.tree, self._target_tree)
        if path and not (
            any(trees.lookup(self._store, tree, path) for tree in held)
            or path in self._target_saved
            or self._captured.coverage.reason_for(path) is not None
            or self._status(path) is not None
        ):
            raise UsageError(
                f"{to_text(path)} is neither in the workspace nor in checkpoint {target.id}"
            )

    def _coverage_of(self, target: Checkpoint) -> Coverage:
        """Returns the target's coverage; if it is damaged, one that vouches for nothing."""
        try:
            return read_coverage(self._store, target.commit)
        except StoreDamaged:
            return Coverage([NotHeld(b"", "its coverage is damaged, so unknown")])

    def _saved_of(self, target: Checkpoint) -> dict[bytes, Entry]:
        from takeback.ops.save import saved_since

        before_tools = saved_since(self._store, target, self._family).inside
        if target.saved is None:
            return before_tools
        try:
            return {**before_tools, **dict(trees.walk(self._store, bytes.fromhex(target.saved)))}
        except StoreDamaged as error:
            self._context.reporter.note(
                f"The ignored files saved with {target.id} cannot be read: {error.message}."
            )
            return before_tools

    def _work_out(self) -> None:
        changes = {
            change.path: change
            for change in trees.diff(
                self._store, self._captured.tree, self._target_tree, on_damage=self._damaged
            )
            if self._scope.holds(change.path) or self._leads_to_scope(change)
        }
        for change in self._ignored_changes():
            changes[change.path] = change
        blocked: set[bytes] = set()
        for path in sorted(changes):
            if path not in self._wanted and any(above in blocked for above in _above(path)):
                continue
            try:
                reason = self._decide(changes[path])
            except OSError as error:
                reason = f"cannot be looked at: {os.strerror(error.errno or 0).lower()}"
            if reason is not None:
                self.left_alone[path] = reason
                blocked.add(path)

    def _damaged(self, path: bytes, error: StoreDamaged) -> None:
        """A directory of the target cannot be read: nothing in it is touched."""
        if self._scope.holds(path):
            self.left_alone[path] = f"cannot be restored: {error.message}"

    def _leads_to_scope(self, change: Change) -> bool:
        """A directory that must exist for a wanted path to be written into it."""
        if change.new is None or not change.new.is_directory:
            return False
        below = change.path + b"/"
        return any(
            path.startswith(below) and trees.lookup(self._store, self._target_tree, path)
            for path in self._scope.paths
        )

    def _ignored_changes(self) -> Iterator[Change]:
        present, target = self._captured.saved, self._target_saved
        for path in sorted(present.keys() | target.keys()):
            now, then = present.get(path), target.get(path)
            if covers(tuple(self.left_alone), path) and self.left_alone:
                continue  # in a directory that cannot be read
            held_then = trees.lookup(self._store, self._target_tree, path)
            held_now = trees.lookup(self._store, self._captured.tree, path)
            if held_then is not None:
                continue  # the snapshot itself says what it should be
            if then is not None and then.is_directory:
                wanted = self._scope.wants_ignored(path) or self._has_wanted_below(path)
                if (wanted and not self._is_directory(path)) or self._scope.names(path):
                    self._wanted.add(path)
                    yield Change(path, held_now or now, then)
                continue
            if (held_now or now) == then or (then is None and held_now is not None):
                continue
            if self._scope.wants_ignored(path):
                self.ignored_paths.append(path)
                self._wanted.add(path)
                yield Change(path, held_now or now, then)
            elif self._scope.holds(path):
                self.left_alone[path] = _NOT_ASKED
                self._by_rule.add(path)

    def _has_wanted_below(self, path: bytes) -> bool:
        below = path + b"/"
        return any(
            other.startswith(below) and self._scope.wants_ignored(other)
            for other in self._target_saved
        )

    def _is_directory(self, path: bytes) -> bool:
        try:
            found = self._status(path)
        except OSError:
            return False
        return found is not None and S_ISDIR(found.st_mode)

    def _status(self, path: bytes) -> os.stat_result | None:
        """Looks at a path without following a link at any of its components.

        None if nothing is there. Raises OSError where we may not look: then nobody knows.
        """
        parent, _, name = path.rpartition(b"/")
        try:
            fd = kernel.open_directory_beneath(self._context.workspace.fd, parent)
        except OSError as error:
            if error.errno in _NOT_THERE:
                return None
            raise
        try:
            return ondisk.status(fd, name)
        finally:
            os.close(fd)

    def _decide(self, change: Change) -> str | None:
        """Puts one change where it belongs; returns the reason if it is left alone."""
        if change.path in self._leave:
            self._by_rule.add(change.path)
            return self._leave[change.path]
        if is_inside_git(change.path):
            return "takeback does not write to .git"
        elsewhere = self._captured.coverage.reason_for(change.path)
        if elsewhere in (MOUNT, OTHER_WORKSPACE):
            return f"not part of the workspace now ({elsewhere})"
        if change.new is None:
            return self._decide_deletion(change)
        found = self._status(change.path)
        if found is None:
            self.writes.append(change.replace(old=None))
            return None
        if S_ISDIR(found.st_mode) and change.new.is_directory:
            present = Entry(entry_mode(found.st_mode), b"")
            if present.mode != change.new.mode:
                if trees.lookup(self._store, self._captured.tree, change.path) is None:
                    self.extra[change.path] = present  # an ignored directory: its bits are saved
                self.writes.append(Change(change.path, present, change.new))
            return None
        if S_ISDIR(found.st_mode):
            return self._decide_displaced(change)
        return self._decide_replacement(change)

    def _decide_deletion(self, change: Change) -> str | None:
        reason = self._coverage.reason_for(change.path)
        if reason is not None:
            self._by_rule.add(change.path)
            return f"the target does not hold it ({reason} then)"
        if change.path in self.ignored_paths:
            saved = self._kept(change.path)
            if saved is None:
                return "its content cannot be saved"
            change = change.replace(old=saved)
        self.deletes.append(change)
        return None

    def _decide_replacement(self, change: Change) -> str | None:
        if trees.lookup(self._store, self._captured.tree, change.path) is None:
            saved = self._kept(change.path)
            if saved is None:
                return "in the way, and its content cannot be saved"
            if saved == change.new:  # it is only ignored now; what is right is not touched
                del self.extra[change.path]
                return None
            change = change.replace(old=saved)
        self.writes.append(change)
        return None

    def _kept(self, path: bytes) -> Entry | None:
        """Saves a file that no snapshot holds (or only hashes it, for a plan)."""
        parent, _, name = path.rpartition(b"/")
        try:
            fd = kernel.open_directory_beneath(self._context.workspace.fd, parent)
        except OSError:
            return None
        try:
            entry = self._kept_at(fd, name)
        finally:
            os.close(fd)
        if entry is not None:
            self.extra[path] = entry
        return entry

    def _kept_at(self, fd: int, name: bytes) -> Entry | None:
        if not self._save:
            try:
                entry = ondisk.entry_at(fd, name)
            except OSError:
                return None
            return None if entry is None or entry.is_directory else entry
        kept = keep(fd, name, self._captured.sink, size_limit=None)
        if not isinstance(kept, Kept):
            return None
        return Entry(entry_mode(kept.status.st_mode), kept.oid)

    def _decide_displaced(self, change: Change) -> str | None:
        """A directory makes way for a file or link: all of it must be saved."""
        try:
            fd = kernel.open_directory_beneath(self._context.workspace.fd, change.path)
        except OSError:
            return "in the way, and it cannot be read"
        try:
            mode = entry_mode(os.fstat(fd).st_mode)
            inside = list(self._save_inside(fd, change.path))
        except (OSError, _Unsavable) as error:
            return f"in the way, and not all in it can be saved: {error}"
        finally:
            os.close(fd)
        base = len(change.path) + 1
        for path, entry, held in inside:
            if not held:
                self.extra[path] = entry
        if trees.lookup(self._store, self._captured.tree, change.path) is None:
            self.extra[change.path] = Entry(mode, b"")
        self.displaced[change.path] = tuple((path[base:], entry) for path, entry, _ in inside)
        self.writes.append(change.replace(old=Entry(mode, b"")))
        return None

    def _save_inside(self, fd: int, path: bytes) -> Iterator[tuple[bytes, Entry, bool]]:
        """Yields (path, entry, held by the snapshot) of all below a directory, saving the rest."""
        with os.scandir(fd) as listing:
            names = sorted(os.fsencode(entry.name) for entry in listing)
        for name in names:
            full = path + b"/" + name
            held = trees.lookup(self._store, self._captured.tree, full)
            found = ondisk.status(fd, name)
            if name == b".git" or is_scratch_name(name) or found is None:
                raise _Unsavable(os.fsdecode(full))
            if S_ISDIR(found.st_mode):
                directory = Entry(entry_mode(found.st_mode), b"")
                yield full, directory, held is not None
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                inner = os.open(name, flags, dir_fd=fd)
                try:
                    yield from self._save_inside(inner, full)
                finally:
                    os.close(inner)
                continue
            entry = held if held is not None else self._kept_at(fd, name)
            if entry is None:
                raise _Unsavable(os.fsdecode(full))
            yield full, entry, held is not None

    def named(self) -> tuple[LeftAlone, ...]:
        return tuple(
            LeftAlone(path, reason, path in self._by_rule)
            for path, reason in sorted(self.left_alone.items())
        )


def _above(path: bytes) -> Iterator[bytes]:
    """Yields the directories above a path, nearest first."""
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path


class _Unsavable(Exception):
    """Something that takeback never reads: a FIFO, a device, a repository's .git."""
