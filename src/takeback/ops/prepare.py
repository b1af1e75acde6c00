"""Works out what going to a checkpoint means for each path, and saves what would be lost.

The undo snapshot holds what the capture held. Whatever else stands in the way (an ignored
file, one above the size limit, a whole ignored directory where the target has a file) is
saved beside it first; what cannot be saved is left alone and named.
"""

from __future__ import annotations

import os
from stat import S_ISDIR

from takeback.errors import UsageError
from takeback.model.change import ADDED, Change
from takeback.model.coverage import MOUNT, OTHER_WORKSPACE
from takeback.model.path_text import is_inside_git, to_text
from takeback.model.plan import LeftAlone
from takeback.model.snapshot import DIRECTORY, Entry
from takeback.ops.destination import Destination
from takeback.ops.differences import Differences, parents
from takeback.ops.safekeeping import Safekeeping, Unsavable
from takeback.store.held import Held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from takeback.model.checkpoint import Checkpoint
    from takeback.ops.capture import Captured
    from takeback.ops.context import Context
    from takeback.ops.scope import Scope
    from takeback.worktree.unit import Inside


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
        self._leave = kept or {}
        self._above_kept = {above for path in self._leave for above in parents(path)}
        self._captured = captured
        self._scope = scope
        self._now = Held(context.store, captured.tree)
        self._safe = Safekeeping(context.workspace.fd, captured.sink, self._now, save=save)
        self._going = Destination(context, target, family)
        self.writes: list[Change] = []
        self.deletes: list[Change] = []
        self.displaced: dict[bytes, Inside] = {}
        self.unnamed: list[bytes] = []
        """Files and links that nobody named and that make way for the directory of a named path."""
        for path in scope.asked_for:
            self._check_known(path)
        found = Differences(context.store, captured, self._going, scope, self._now, self._safe)
        self.ignored_paths = found.ignored
        self.left_alone = {**found.damaged, **found.not_asked}
        self._by_rule = set(found.not_asked)
        self._decide_all(found.changes, found.wanted)
        self._compare_root()
        if scope.files:
            self._name_what_is_not_back()

    @property
    def extra(self) -> dict[bytes, Entry]:
        """What no snapshot holds and was saved because it is replaced or removed, by path."""
        return self._safe.extra

    @property
    def saved(self) -> dict[bytes, Entry]:
        """All that the undo snapshot must keep beside what the capture holds."""
        return {**self._safe.parents, **self._safe.extra}

    def named(self) -> tuple[LeftAlone, ...]:
        return tuple(
            LeftAlone(path, reason, path in self._by_rule)
            for path, reason in sorted(self.left_alone.items())
        )

    def _check_known(self, path: bytes) -> None:
        """Raises UsageError for a path that is nowhere: a slip must not read as "nothing to do"."""
        if path and not (
            path in self._now
            or path in self._going.held
            or path in self._going.saved
            or self._captured.coverage.reason_for(path) is not None
            or self._going.vouching.reason_for(path) is not None
            or self._safe.status(path) is not None
        ):
            target = self._going.target.id
            raise UsageError(
                f"{to_text(path)} is neither in the workspace nor in checkpoint {target}",
                hint=f"what it changed: takeback show {target}; or look for it: takeback search",
            )

    # -- what becomes of each

    def _decide_all(self, changes: Mapping[bytes, Change], wanted: set[bytes]) -> None:
        """Decides about parents first: below one that stays as it is there is nothing to do.

        What an undone operation did below a directory that cannot go is taken back all the same.
        """
        blocked: set[bytes] = set()
        stuck: set[bytes] = set()
        for path in sorted(changes):
            lost = stuck if path in self._scope.touched else blocked
            if path not in wanted and any(above in lost for above in parents(path)):
                continue
            try:
                reason = self._decide(changes[path])
            except OSError as error:
                reason = f"cannot be looked at: {os.strerror(error.errno or 0).lower()}"
            if reason is not None:
                self.left_alone[path] = reason
                blocked.add(path)
                if changes[path].new is not None:
                    stuck.add(path)
        self._make_no_directory_for_nothing()

    def _make_no_directory_for_nothing(self) -> None:
        """Drops directories of which nothing comes back, because all that was in them is kept."""
        idle = {
            change.path
            for change in self.writes
            if change.path in self._above_kept and change.kind == ADDED and _is_directory(change)
        }
        if idle:
            written = (change.path for change in self.writes if change.path not in idle)
            idle -= {above for path in written for above in parents(path)}
            self.writes = [change for change in self.writes if change.path not in idle]

    def _shelters(self, path: bytes) -> bool:
        """Tells whether something is in a directory that is to be kept."""
        if path not in self._above_kept:
            return False
        below = path + b"/"
        return any(
            kept.startswith(below) and self._safe.status(kept) is not None for kept in self._leave
        )

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
        reason = self._decide_replacement(change)
        if reason is None and not asked:
            self.unnamed.append(change.path)
        return reason

    def _decide_deletion(self, change: Change) -> str | None:
        path = change.path
        if self._shelters(path):
            return None  # it stays with what is kept in it, and that is named
        done = self._scope.touched.get(path)
        if done is not None and done.old is None and done.new is not None:
            return self._decide_unmaking(path, done.new)
        reason = self._going.vouching.reason_for(path)
        if reason is not None and any(above in self.displaced for above in parents(path)):
            return None  # it goes, saved, with the directory that makes way
        if reason is not None:
            # It is there, and what it was then nobody can say: that is no failure of this rewind
            # if a rule left it out, unless this very path was asked for.
            tells = self._going.vouching.tells(path, self._safe.status(path))
            if tells and path not in self._scope.asked_for:
                self._by_rule.add(path)
            return f"the target does not hold it ({reason} then)"
        if path in self.ignored_paths:
            saved = self._safe.kept(path)
            if saved is None:
                return "its content cannot be saved"
            change = change.replace(old=saved)
        self.deletes.append(change)
        return None

    def _decide_unmaking(self, path: bytes, made: Entry) -> str | None:
        """What the operation made where nothing was goes, if it is still exactly that.

        Within its scope, and held by the snapshot, it goes whatever it is by now.
        """
        found, now = self._safe.status(path), self._now[path]
        if found is None:
            return None
        vouched = self._scope.holds(path) and self._going.vouching.reason_for(path) is None
        if vouched and now is not None:
            self.deletes.append(Change(path, now, None))
            return None
        if any(above in self.displaced for above in parents(path)):
            return None  # it goes, saved, with the directory that makes way
        if not self._safe.is_still(path, made):
            return "changed since the operation made it"
        if S_ISDIR(found.st_mode):
            self._safe.keep_bits(path, found.st_mode)
        elif now is None and self._safe.kept(path) != made:
            self.extra.pop(path, None)
            return "its content cannot be saved"
        self.deletes.append(Change(path, made, None))
        return None

    def _decide_replacement(self, change: Change) -> str | None:
        if change.path not in self._now:
            saved = self._safe.kept(change.path)
            if saved is None:
                return "in the way, and its content cannot be saved"
            if saved == change.new:  # it is only ignored now; what is right is not touched
                del self.extra[change.path]
                return None
            change = change.replace(old=saved)
        self.writes.append(change)
        return None

    def _decide_displaced(self, change: Change) -> str | None:
        """A directory makes way for a file or link: all of it must be saved."""
        path = change.path
        if self._shelters(path):
            self._by_rule.add(path)
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
        """Tells whether a path below one that was not named is the operation's own."""
        done = self._scope.touched.get(path)
        if self._scope.holds(path) or done is None or done.new is None:
            return self._scope.holds(path)
        if present.is_directory:
            return present.mode == done.new.mode
        return present == done.new

    # -- what the snapshots do not show

    def _compare_root(self) -> None:
        """The permission bits of the root itself, which is an entry of no tree."""
        then, now = self._going.target.root_mode, self._captured.root_mode
        if then is not None and then != now and self._scope.holds(b""):
            old, new = (Entry(DIRECTORY | mode, b"") for mode in (now, then))
            self.writes.append(Change(b"", old, new))

    def _name_what_is_not_back(self) -> None:
        for item in self._going.vouching.asked_for(self._scope):
            # that something above it is left alone by a rule is no answer to who named it
            if not self._is_named(item.path, self.left_alone.keys() - self._by_rule):
                self._name(item)
        found = (
            *self._going.vouching.gone(self._scope, self._safe.status, self._captured.coverage),
            *self._going.vouching.stays(self._scope, self._captured.coverage),
        )
        for item in found:
            # that it is ignored now is no answer where the target wanted it and could not have it
            weak = {item.path} & self._by_rule if not item.by_rule else set()
            if not self._is_named(item.path, self.left_alone.keys() - weak):
                self._name(item)

    def _is_named(self, path: bytes, named: Collection[bytes]) -> bool:
        return (
            path in self._scope.touched
            or path in self._leave
            or any(place in named for place in (path, *parents(path)))
        )

    def _name(self, item: LeftAlone) -> None:
        self.left_alone[item.path] = item.reason
        if item.by_rule:
            self._by_rule.add(item.path)
        else:
            self._by_rule.discard(item.path)


def _is_directory(change: Change) -> bool:
    return change.new is not None and change.new.is_directory
