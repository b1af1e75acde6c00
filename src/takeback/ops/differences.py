"""Differences: the paths in a scope that differ from the destination.

The two snapshots show most of them. The others are ignored files that are wanted, the directories
that lead to a wanted path, and what an undone operation did that no snapshot shows.
"""

from __future__ import annotations

from takeback.model.change import Change
from takeback.model.path_text import covers, parents
from takeback.model.plan import NOT_ASKED
from takeback.store import trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.errors import StoreDamaged
    from takeback.model.snapshot import Entry
    from takeback.ops.situation import Situation


class Differences:
    """What has to be decided, by path, and what need not be.

    ``ignored`` are paths of ``changes`` that no snapshot holds. ``wanted`` are decided whatever
    happens to the directory above them. ``damaged`` and ``not_asked`` are left alone, with the
    reasons.
    """

    def __init__(self, at: Situation) -> None:
        self._store = at.store
        self._going = at.going
        self._captured = at.captured
        self._then = at.going.held
        self._saved = at.going.saved
        self._scope = at.scope
        self._now = at.now
        self._safe = at.safe
        self.changes: dict[bytes, Change] = {}
        self.ignored: list[bytes] = []
        self.wanted: set[bytes] = set()
        self.damaged: dict[bytes, str] = {}
        self.not_asked: dict[bytes, str] = {}

    def compare(self) -> None:
        """Compares what was captured with the tree of the goal, and looks beside both."""
        leading = self._leading()
        self.changes = {
            change.path: change
            for change in self._between()
            if self._scope.holds(change.path)
            or (change.path in leading and _makes_directory(change))
        }
        for path in self._right_beside():
            self.changes.pop(path, None)
        self.changes.update((change.path, change) for change in self._ignored_changes())
        self._take_back()

    def _between(self) -> Iterator[Change]:
        if not self._scope.files:
            return iter(())
        return trees.diff(
            self._store, self._captured.tree, self._going.tree, on_damage=self._note_damage
        )

    def _note_damage(self, path: bytes, error: StoreDamaged) -> None:
        """A directory cannot be read in one of the snapshots: nothing in it is touched."""
        below = path + b"/" if path else b""
        if self._scope.holds(path) or any(p.startswith(below) for p in self._scope.paths):
            self.damaged[path] = f"cannot be restored: {error.message}"

    def _leading(self) -> set[bytes]:
        """Returns the directories that must exist for a wanted path to be written into them."""
        held = (self._then, self._saved)
        written = [path for path in self._scope.paths if any(path in tree for tree in held)]
        written += [path for path, done in self._scope.touched.items() if done.old is not None]
        return {above for path in written for above in parents(path)}

    def _right_beside(self) -> Iterator[bytes]:
        """Yields what the target ignored but saved, if it is now held with the same bytes."""
        for path, then in self._saved.items():
            if path not in self._then and not then.is_directory and self._now[path] == then:
                yield path

    def _ignored_changes(self) -> Iterator[Change]:
        unreadable = tuple(self.damaged)
        for path in sorted(self._captured.saved.keys() | self._saved.keys()):
            if path in self._scope.touched or path in self._then:
                continue  # what it should be follows from the operation or the snapshot
            if unreadable and covers(unreadable, path):
                continue
            then = self._saved.get(path)
            now = self._now[path] or self._captured.saved.get(path)
            if then is not None and then.is_directory:
                if self._is_needed(path):
                    self.wanted.add(path)
                    yield Change(path, now, then)
            elif now == then or (then is None and path in self._now):
                continue
            elif self._scope.wants_ignored(path):
                self.ignored.append(path)
                self.wanted.add(path)
                yield Change(path, now, then)
            elif self._scope.holds(path):
                self.not_asked[path] = NOT_ASKED

    def _is_needed(self, path: bytes) -> bool:
        """Tells whether a directory of the saved files has to be created or get its bits back."""
        if self._scope.puts_back(path):
            return True
        below = path + b"/"
        wanted = self._scope.wants_ignored(path) or any(
            other.startswith(below) and self._scope.wants_ignored(other) for other in self._saved
        )
        return wanted and not self._safe.is_directory(path)

    def _take_back(self) -> None:
        """Adds what an undo or redo does besides what the two snapshots show."""
        for path, done in self._scope.touched.items():
            now, then = self._now[path], done.old
            if _is_right(now, then) or (then is None and now is None and self._is_gone(path)):
                self.changes.pop(path, None)
                continue
            if now is None and (then is None or not then.is_directory):
                self.ignored.append(path)
            self.changes[path] = Change(path, now, then)

    def _is_gone(self, path: bytes) -> bool:
        try:
            return self._safe.status(path) is None
        except OSError:
            return False  # it is reported when it is decided


def _makes_directory(change: Change) -> bool:
    return change.new is not None and change.new.is_directory


def _is_right(now: Entry | None, then: Entry | None) -> bool:
    """Tells whether a file is as it was; for a directory its bits are checked on the disk."""
    return then is not None and not then.is_directory and now == then
