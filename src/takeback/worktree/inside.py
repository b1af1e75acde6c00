"""Tracked files inside ignored directories.

An ignored directory is not descended into, but what the project tracks in it is the
project's work all the same. These files are looked at by name, and the trees that hold
them hang below the directory that has the ignored one as a gap:

        build/            ignored: a gap, nothing below it is ever deleted
        build/keep.txt    tracked: held
"""

from __future__ import annotations

import os
from stat import S_ISDIR

from takeback import kernel
from takeback.git.objects import TREE, encode_tree
from takeback.model.snapshot import entry_mode
from takeback.worktree.directory import IGNORED_DIRECTORY, NEVER_TRUSTED, signature
from takeback.worktree.reading import Kept, keep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.ports import ObjectSink
    from takeback.worktree.known import Known
    from takeback.worktree.rules import Rules
    from takeback.worktree.statcache import Facts
    from takeback.worktree.times import Moment

_ABSENT = b""


class TrackedInside:
    """Keeps ``facts.inside`` true: rows of (path, signature, mode, object id)."""

    def __init__(self, root_fd: int, facts: Facts, sink: ObjectSink, moment: Moment) -> None:
        self._root_fd = root_fd
        self._facts = facts
        self._sink = sink
        self._moment = moment

    def find(self, known: Known, rules: Rules, *, index_changed: bool) -> None:
        """Finds the tracked names again, if the index or the ignored directories changed."""
        now = sorted(
            d.path + b"/" + name if d.path else name
            for d in known.special()
            for name, reason in d.gaps.items()
            if reason == IGNORED_DIRECTORY
        )
        if now == self._facts.ignored_directories and not index_changed:
            return
        self._facts.ignored_directories = now
        before = {row[0]: row for row in self._facts.inside}
        self._facts.inside = [
            before.get(path, (path, _ABSENT, 0, b""))
            for directory in now
            for path in rules.tracked_below(directory)
        ]

    def refresh(self, known: Known) -> set[bytes]:
        """Reads what changed, hangs the trees in, returns the directories that got new ones."""
        rows = [self._look(row) for row in self._facts.inside]
        self._facts.inside = rows
        wanted: dict[bytes, list[tuple[bytes, int, bytes]]] = {}
        for path, mark, mode, oid in rows:
            if mark != _ABSENT:
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
        """Takes away the trees of ignored directories that hold nothing tracked any more."""
        stale = set()
        keep_these = set(wanted)
        for top in self._facts.ignored_directories:
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

    def _look(self, row: tuple[bytes, bytes, int, bytes]) -> tuple[bytes, bytes, int, bytes]:
        path, mark, _, _ = row
        parent, _, name = path.rpartition(b"/")
        try:
            fd = kernel.open_directory_beneath(self._root_fd, parent, only_to_read=True)
        except OSError:
            return (path, _ABSENT, 0, b"")
        try:
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if mark == signature(status):
                return row
            kept = None if S_ISDIR(status.st_mode) else keep(fd, name, self._sink, size_limit=None)
        except OSError:
            return (path, _ABSENT, 0, b"")
        finally:
            os.close(fd)
        if not isinstance(kept, Kept):
            return (path, _ABSENT, 0, b"")
        settled = self._moment.settled(kept.status.st_mtime_ns, kept.status.st_ctime_ns)
        mark = signature(kept.status) if settled else NEVER_TRUSTED
        return (path, mark, entry_mode(kept.status.st_mode), kept.oid)

    def _mode_of(self, path: bytes) -> int:
        status = os.stat(path, dir_fd=self._root_fd, follow_symlinks=False)
        return entry_mode(status.st_mode)

    def _tree(self, top: bytes, held: list[tuple[bytes, int, bytes]]) -> bytes:
        entries = []
        below: dict[bytes, list[tuple[bytes, int, bytes]]] = {}
        for path, mode, oid in held:
            first, slash, _ = path[len(top) + 1 :].partition(b"/")
            if slash:
                below.setdefault(top + b"/" + first, []).append((path, mode, oid))
            else:
                entries.append((mode, first, oid))
        for directory, inner in below.items():
            name = directory.rpartition(b"/")[2]
            entries.append((self._mode_of(directory), name, self._tree(directory, inner)))
        return self._sink.add(TREE, encode_tree(entries))
