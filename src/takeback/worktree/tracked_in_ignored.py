"""Tracked files inside ignored directories.

We do not descend into an ignored directory, but what the project tracks in it is the project's work
all the same, even if the index later forgets it. These files are looked up by name, and the trees
that hold them hang below the directory that has the ignored one as a gap:

        build/            ignored: a gap, nothing below it is ever deleted
        build/keep.txt    tracked: held
"""

from __future__ import annotations

import errno
import os
from stat import S_ISDIR

from takeback import kernel
from takeback.c_modules import bisect_left
from takeback.git.objects import TREE, encode_tree
from takeback.model.checkpoint import DIRECTORY, entry_mode
from takeback.model.coverage import PURGED, UNREADABLE, NotHeld
from takeback.worktree.directory import IGNORED_DIRECTORY, doubted, signature
from takeback.worktree.read import GONE, Intake, Kept, is_of_this_process, keep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.ports import ObjectSink
    from takeback.worktree.cache import CacheHeader, Known
    from takeback.worktree.glance import Belief
    from takeback.worktree.read import Missed
    from takeback.worktree.rules import Rules
    from takeback.worktree.scan import ScanSetup

    Row = tuple[bytes, bytes, int, bytes]

_ABSENT = b""
_UNREAD = b"?"
"""Marks a file that exists and that we want but lack."""
_GONE = (errno.ENOENT, errno.ENOTDIR)


class TrackedInside:
    """Keeps ``header.inside`` true: rows of (path, signature, mode, object id)."""

    def __init__(
        self,
        setup: ScanSetup,
        header: CacheHeader,
        sink: ObjectSink,
        belief: Belief,
    ) -> None:
        self._root_fd = setup.workspace.fd
        self._rules = setup.rules
        self._header = header
        self._sink = sink
        self._purged = setup.purged
        self._intake = Intake(sink, dirty_ns=belief.time.dirty_ns, purged=setup.purged)
        self._belief = belief
        self._brought = setup.brought
        self.gaps: list[NotHeld] = []
        """Tracked files that exist but could not be read, or that the settings leave out."""
        self.lost = False
        """A file that was held is not there any more."""

    def find(self, known: Known, *, index_changed: bool) -> None:
        """Finds the tracked names again, if the index or the ignored directories changed."""
        now = sorted(
            d.path + b"/" + name if d.path else name
            for d in known.special()
            for name, reason in d.gaps.items()
            if reason == IGNORED_DIRECTORY
        )
        brought, self._brought = self._brought, None
        changed = index_changed or now != self._header.ignored_directories
        if not changed and brought is None:
            return
        self._header.ignored_directories = now
        if brought is not None:
            known_rows = {row[0] for row in self._header.inside if row[1] != _ABSENT}
            self._header.inside += [
                (path, _UNREAD, 0, b"")
                for directory in now
                for path in brought.below(directory)
                if path not in known_rows
            ]
        before = {row[0]: row for row in self._header.inside}
        if not changed:  # what is tracked is known; reading the index of 100,000 files takes 0.2 s
            self._header.inside = [*before.values()]
            return
        held = sorted(row[0] for row in self._header.inside if row[1] != _ABSENT)
        self._header.inside = [
            before.get(path, (path, _ABSENT, 0, b""))
            for directory in now
            for path in dict.fromkeys(
                (*self._rules.tracked_below(directory), *_below(held, directory))
            )
        ]

    def refresh(self, known: Known) -> set[bytes]:
        """Reads what changed, attaches the trees, and returns the directories that got new ones.

        What was held stays held, tracked or not, for as long as it exists.
        """
        self.gaps, self.lost = [], False
        looked = [(row[1], self._look(row)) for row in self._header.inside]
        rows = [
            row
            for mark, row in looked
            if row[1] != _ABSENT or mark == _ABSENT or _is_tracked(self._rules, row[0])
        ]
        self._header.inside = rows
        wanted: dict[bytes, list[tuple[bytes, int, bytes]]] = {}
        for path, mark, mode, oid in rows:
            if mark not in (_ABSENT, _UNREAD):
                top = self._top_of(path, known)
                if top is not None:
                    wanted.setdefault(top, []).append((path, mode, oid))
        stale = self._unhang(known, wanted)
        for top, held in wanted.items():
            parent, _, name = top.rpartition(b"/")
            hung = (self._mode_of(top), self._tree(top, held))
            if known[parent].subs.get(name) != hung:
                known[parent].subs[name] = hung
                stale.add(parent)
        return stale

    def _unhang(self, known: Known, wanted: Iterable[bytes]) -> set[bytes]:
        """Detaches the trees of ignored directories that no longer hold anything tracked."""
        stale = set()
        keep_these = set(wanted)
        for top in self._header.ignored_directories:
            parent, _, name = top.rpartition(b"/")
            if top not in keep_these and parent in known and name in known[parent].subs:
                del known[parent].subs[name]
                stale.add(parent)
        return stale

    def _top_of(self, path: bytes, known: Known) -> bytes | None:
        """Returns the ignored directory that ``path`` lies in."""
        at = path.find(b"/")
        while at >= 0:
            parent, _, name = path[:at].rpartition(b"/")
            directory = known.get(parent)
            if directory is None:
                return None
            if directory.gaps.get(name) == IGNORED_DIRECTORY:
                return path[:at]
            at = path.find(b"/", at + 1)
        return None

    def _look(self, row: Row) -> Row:
        path, mark, _, _ = row
        parent, _, name = path.rpartition(b"/")
        try:
            fd = kernel.open_directory_beneath(self._root_fd, parent, only_to_read=True)
        except OSError as error:
            return self._without(row, error, (*_GONE, errno.ELOOP))
        try:
            try:
                status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            except OSError as error:
                return self._without(row, error, _GONE)
            reason = self._rules.left_out.reason(path)
            if reason is not None:
                self.gaps.append(NotHeld(path, reason))
                return (path, _ABSENT, 0, b"")
            if mark == signature(status):
                return row
            if S_ISDIR(status.st_mode):
                return self._absent(row, GONE)
            if self._purged is not None and self._purged.hides(path):
                return self._absent(row, PURGED)
            kept = keep(fd, name, self._intake)
        finally:
            os.close(fd)
        if not isinstance(kept, Kept):
            return self._absent(row, kept)
        mark = signature(kept.status)
        mark = self._belief.of(doubted(mark) if kept.doubtful else mark)
        return (path, mark, entry_mode(kept.status.st_mode), kept.oid)

    def _without(self, row: Row, error: OSError, gone: tuple[int, ...]) -> Row:
        if is_of_this_process(error, self._root_fd):
            raise error
        return self._absent(row, GONE if error.errno in gone else UNREADABLE)

    def _absent(self, row: Row, reason: Missed) -> Row:
        if reason != GONE:
            self.gaps.append(NotHeld(row[0], reason))
            return (row[0], _UNREAD, 0, b"")
        if row[1] != _ABSENT:
            self.lost = True
        return (row[0], _ABSENT, 0, b"")

    def _mode_of(self, path: bytes) -> int:
        try:
            status = os.stat(path, dir_fd=self._root_fd, follow_symlinks=False)
        except OSError:  # it vanished, or cannot be looked at; its contents were read all the same
            return DIRECTORY | 0o755
        return entry_mode(status.st_mode)

    def _tree(self, top: bytes, held: list[tuple[bytes, int, bytes]]) -> bytes:
        """Writes the trees from ``top`` down to the files, deepest first."""
        below: dict[bytes, list[tuple[int, bytes, bytes]]] = {top: []}
        for path, mode, oid in held:
            parent, _, name = path.rpartition(b"/")
            below.setdefault(parent, []).append((mode, name, oid))
            while parent != top:
                parent = parent.rpartition(b"/")[0]
                below.setdefault(parent, [])
        for path in sorted(below, key=lambda path: -path.count(b"/")):
            oid = self._sink.add(TREE, encode_tree(below[path]))
            if path != top:
                parent, _, name = path.rpartition(b"/")
                below[parent].append((self._mode_of(path), name, oid))
        return oid


def _below(paths: list[bytes], directory: bytes) -> list[bytes]:
    """Returns those of some sorted paths that lie below a directory."""
    return paths[bisect_left(paths, directory + b"/") : bisect_left(paths, directory + b"0")]


def _is_tracked(rules: Rules, path: bytes) -> bool:
    parent, _, name = path.rpartition(b"/")
    return rules.is_tracked(parent, name)
