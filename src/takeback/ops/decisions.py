"""Decisions: what happens to each path that differs from the goal.

What is in the way and in no snapshot is saved first; what cannot be saved is left alone.
"""

from __future__ import annotations

from stat import S_ISDIR

from takeback.model.change import Change
from takeback.model.coverage import MOUNT, OTHER_WORKSPACE, SENSITIVE, UNSTABLE, then
from takeback.model.path_text import is_inside_git, parents
from takeback.ops.safekeeping import Unsavable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from takeback.model.snapshot import Entry
    from takeback.ops.situation import Situation
    from takeback.worktree.unit import Inside


class Decisions:
    """The changes that are made, in the order in which they were decided.

    ``displaced`` are directories that make way, with their contents. ``unnamed`` are files and
    links that were not named but make way for the directory of a named path. ``by_rule`` are paths
    that are left alone on purpose.
    """

    def __init__(self, at: Situation, ignored: Collection[bytes]) -> None:
        self._captured = at.captured
        self._scope = at.scope
        self._now = at.now
        self._safe = at.safe
        self._going = at.going
        self._leave = at.kept
        self._ignored = frozenset(ignored)
        self.above_kept = {above for path in at.kept for above in parents(path)}
        self.writes: list[Change] = []
        self.deletes: list[Change] = []
        self.displaced: dict[bytes, Inside] = {}
        self.unnamed: list[bytes] = []
        self.by_rule: set[bytes] = set()

    def decide(self, change: Change) -> str | None:
        """Sorts one change; returns the reason if it is left alone."""
        if change.path in self._leave:
            self.by_rule.add(change.path)
            return self._leave[change.path]
        if is_inside_git(change.path):
            return "takeback does not write to .git"
        elsewhere = self._captured.coverage.reason_for(change.path)
        if elsewhere in (MOUNT, OTHER_WORKSPACE):
            return f"not part of the workspace now ({elsewhere})"
        if elsewhere == SENSITIVE:
            if change.path not in self._scope.asked_for:
                self.by_rule.add(change.path)
            return "your settings leave it out (sensitive), so it is neither saved nor replaced"
        if change.new is None:
            return self._decide_deletion(change)
        asked = self._scope.holds(change.path) or change.path in self._scope.touched
        found = self._safe.status(change.path)
        if found is None:
            self.writes.append(change.replace(old=None))
            return None
        if S_ISDIR(found.st_mode) and change.new.is_directory:
            if asked and found.st_mode & 0o777 != change.new.mode & 0o777:
                present = self._safe.keep_bits(change.path, found.st_mode)
                self.writes.append(Change(change.path, present, change.new))
            return None
        if S_ISDIR(found.st_mode):
            return self._decide_displaced(change)
        if change.new.is_directory and self._going.vouching.was_moving(change.path):
            return f"the target does not hold it ({UNSTABLE} then)"
        reason = self._decide_replacement(change)
        if reason is None and not asked:
            self.unnamed.append(change.path)
        return reason

    def _shelters(self, path: bytes) -> bool:
        """Tells whether a directory contains something that is to be kept."""
        if path not in self.above_kept:
            return False
        below = path + b"/"
        return any(
            kept.startswith(below) and self._safe.status(kept) is not None for kept in self._leave
        )

    def _decide_deletion(self, change: Change) -> str | None:
        path = change.path
        if self._shelters(path):
            return None  # it stays with what is kept in it, and that is reported
        done = self._scope.touched.get(path)
        if done is not None and done.old is None and done.new is not None:
            return self._decide_unmaking(path, done.new)
        reason = self._going.vouching.reason_for(path)
        if reason is not None and any(above in self.displaced for above in parents(path)):
            return None  # it goes, saved, with the directory that makes way
        if reason is not None:
            # It exists, and nobody can say what it was then: that is not a failure of this rewind
            # if a rule left it out, unless this very path was asked for.
            tells = self._going.vouching.tells(path, self._safe.status(path))
            if tells and path not in self._scope.asked_for:
                self.by_rule.add(path)
            return f"the target does not hold it ({then(reason)})"
        return self._delete(change)

    def _delete(self, change: Change) -> str | None:
        if change.path in self._ignored:
            saved = self._safe.kept(change.path)
            if saved is None:
                return "its content cannot be saved"
            change = change.replace(old=saved)
        self.deletes.append(change)
        return None

    def _decide_unmaking(self, path: bytes, made: Entry) -> str | None:
        """Removes what the operation made where nothing was, if it is still exactly that.

        Within its scope it is removed whatever it is by now, if it is held, or if it is ignored,
        saved and wanted.
        """
        found, now = self._safe.status(path), self._now[path]
        if found is None:
            return None
        vouched = self._scope.holds(path) and self._going.vouching.reason_for(path) is None
        wanted = path in self._captured.saved and self._scope.wants_ignored(path)
        if vouched and (now is not None or wanted):
            return self._delete(Change(path, now, None))
        if any(above in self.displaced for above in parents(path)):
            return None  # it goes, saved, with the directory that makes way
        if not self._safe.is_still(path, made):
            return "changed since the operation made it"
        if S_ISDIR(found.st_mode):
            self._safe.keep_bits(path, found.st_mode)
        elif now is None and self._safe.kept(path) != made:
            self._safe.extra.pop(path, None)
            return "its content cannot be saved"
        self.deletes.append(Change(path, made, None))
        return None

    def _decide_replacement(self, change: Change) -> str | None:
        if change.path not in self._now:
            saved = self._safe.kept(change.path)
            if saved is None:
                return "in the way, and its content cannot be saved"
            if saved == change.new:  # it is merely ignored now; what is right is not touched
                del self._safe.extra[change.path]
                return None
            change = change.replace(old=saved)
        self.writes.append(change)
        return None

    def _decide_displaced(self, change: Change) -> str | None:
        """A directory makes way for a file or link: all of it must be saved."""
        path = change.path
        if self._shelters(path):
            self.by_rule.add(path)
            return "it holds what is kept"
        try:
            inside = self._safe.inside(path)
            if not self._scope.holds(path) and not all(
                self._may_go(path + b"/" + place, entry) for place, entry in inside
            ):
                return "it holds what the operation did not make"
            directory = self._safe.keep_directory(path, inside)
        except (OSError, Unsavable) as error:
            return f"in the way, and not all in it can be saved: {error}"
        self.displaced[path] = inside
        self.writes.append(change.replace(old=directory))
        return None

    def _may_go(self, path: bytes, present: Entry) -> bool:
        """Tells whether a path below an unnamed one was made by the operation itself."""
        done = self._scope.touched.get(path)
        if self._scope.holds(path) or done is None or done.new is None:
            return self._scope.holds(path)
        if present.is_directory:
            return present.mode == done.new.mode
        return present == done.new
