"""Safekeeping: what a snapshot cannot vouch for, what is saved first, and what was really done."""

from __future__ import annotations

import errno
import os
from stat import S_ISDIR

from takeback import kernel
from takeback.durable import is_scratch_name
from takeback.errors import StoreDamaged
from takeback.model.checkpoint import Change, Entry, entry_mode
from takeback.model.coverage import (
    EXCLUDED,
    IGNORED,
    MOUNT,
    NO_COVERAGE,
    OTHER_WORKSPACE,
    PURGED,
    PURGED_FOR_GOOD,
    SENSITIVE,
    UNSTABLE,
    Coverage,
    NotHeld,
    by_choice,
    then,
)
from takeback.model.operation import LeftAlone
from takeback.model.path_text import covers
from takeback.ordinary import all_names
from takeback.store import trees
from takeback.store.records import read_coverage
from takeback.store.trees import Held
from takeback.worktree import place as ondisk
from takeback.worktree.read import Kept, keep
from takeback.worktree.resume import KEPT_BESIDE, is_exactly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from takeback.capture.capture import Captured
    from takeback.context import Context
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.coverage import Reason
    from takeback.model.operation import Goal, Move
    from takeback.rewind.request import Scope
    from takeback.rewind.rewind import Carried
    from takeback.store.store import Store
    from takeback.worktree.apply import Inside, Unit
    from takeback.worktree.read import Intake
    from takeback.worktree.rules import LeftOut


# -- vouching: what a snapshot cannot say of a path, and which paths therefore are not as they were
#
# A checkpoint names what it does not hold. Nobody knows what was at such a path; one that has
# gone since cannot be restored, and that is reported. So is one that the checkpoint wanted but
# could not get, unless its times show that it has not changed since. Conversely, what is there
# now and was not captured stays, although the target vouches that it was not there.


_NOT_OURS = frozenset((EXCLUDED, SENSITIVE, OTHER_WORKSPACE))
"""What the user keeps away from takeback, or what has checkpoints of its own."""
_CAPTURE_SECONDS = 60
"""A file that changed this long before a checkpoint, or earlier, did so before it was captured."""
_SELDOM_SPOKEN_OF = frozenset((IGNORED, EXCLUDED, SENSITIVE, OTHER_WORKSPACE))
"""What comes and goes by itself: a new one that stays is not news."""


class Vouching:
    """What a target says of the paths that its snapshot does not show."""

    def __init__(self, goal: Goal, held: Held, saved: Mapping[bytes, Entry]) -> None:
        self._coverage = goal.coverage
        self._held = held
        self._saved = saved
        self._then = goal.checkpoint
        self._amid = goal.amid

    def reason_for(self, path: bytes) -> Reason | None:
        """Returns why the target cannot vouch that a path was absent; None if it can."""
        return self._coverage.reason_for(path)

    def was_moving(self, path: bytes) -> bool:
        """Tells whether the target says of this very path that it did not hold still.

        Then it may have been a file and a directory by turns, and what is there now is not
        replaced by the one that a capture happened to meet.
        """
        return NotHeld(path, UNSTABLE) in self._coverage

    def lacks(self, path: bytes) -> Reason | None:
        """Returns why the target lacks a path that may have existed; else None."""
        if path in self._held or path in self._saved:
            return None
        return self.reason_for(path)

    def tells(self, path: bytes, found: os.stat_result | None) -> bool:
        """Tells whether what is there now is right although the target does not hold it.

        What a rule leaves out does not matter; what was wanted but not captured must be unchanged
        since, which cannot be known for the contents of a directory. A goal that was made from the
        present state has it as it is.
        """
        reason = self.reason_for(path)
        if self._then is None or reason is None or by_choice(reason):
            return True
        return (
            found is not None
            and not S_ISDIR(found.st_mode)
            and found.st_ctime_ns < (self._then.time - _CAPTURE_SECONDS) * 1e9
        )

    def gone(
        self,
        scope: Scope,
        status: Callable[[bytes], os.stat_result | None],
        present: Coverage,
    ) -> Iterator[LeftAlone]:
        """Yields what existed then, is in no snapshot, and is gone now or may have changed.

        One stat for each path that the coverage names; no directory is entered.
        """
        for item in self._coverage.not_held:
            if item.reason == NO_COVERAGE:
                reason = f"{NO_COVERAGE}: what else was there is not known"
                yield LeftAlone(b"", reason)
                continue
            name = item.path.rpartition(b"/")[2]
            if not scope.holds(item.path) or is_scratch_name(name, self._amid):
                continue
            if item.reason == PURGED:
                yield LeftAlone(item.path, PURGED_FOR_GOOD, by_rule=True)
                continue
            saved = self._saved.get(item.path)
            if saved is not None and not saved.is_directory:
                continue
            try:
                found = status(item.path) if item.path else None
            except OSError:  # it exists, or nobody can know
                found, is_gone = None, False
            else:
                is_gone = found is None and item.path != b""
            if not is_gone:
                is_mount = item.reason == MOUNT == present.reason_for(item.path)
                if not is_mount and not self.tells(item.path, found):
                    reason = f"not held by the checkpoint ({item.reason} then), may have changed"
                    yield LeftAlone(item.path, reason)
            else:
                in_part = saved is not None or item.path in self._held
                part = "not all " if in_part else "not "
                reason = f"{part}held by the checkpoint ({then(item.reason)}), and gone now"
                yield LeftAlone(item.path, reason, item.reason in _NOT_OURS)

    def asked_for(self, scope: Scope) -> Iterator[LeftAlone]:
        """Yields each path that was named but that the target lacks."""
        for path in scope.asked_for:
            reason = self.lacks(path)
            if path and reason is not None and reason != NO_COVERAGE:
                yield LeftAlone(path, f"the checkpoint does not hold it ({then(reason)})")

    def stays(self, scope: Scope, present: Coverage) -> Iterator[LeftAlone]:
        """Yields what did not exist then, exists now, and cannot be removed."""
        for item in present.not_held:
            if item.reason in _SELDOM_SPOKEN_OF or not item.path or not scope.holds(item.path):
                continue
            if item.path in self._held or item.path in self._saved:
                continue
            if self.reason_for(item.path) is None:
                reason = f"not captured ({item.reason}), so it stays"
                yield LeftAlone(item.path, reason, by_choice(item.reason) or item.reason == MOUNT)


# -- safekeeping


_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class Unsavable(Exception):
    """Something that takeback never reads: a FIFO, a device, a repository's .git, a secret."""


class Safekeeping:
    """Looks at paths of the workspace, and takes in what ``held`` lacks.

    ``extra`` is what was saved, by path; what was purged is never saved. Without ``save`` files are
    only hashed, as a plan needs.
    """

    def __init__(
        self, root_fd: int, intake: Intake, held: Held, left_out: LeftOut, *, save: bool
    ) -> None:
        self._root_fd = root_fd
        self._intake = intake
        self._held = held
        self._left_out = left_out
        self._save = save
        self.extra: dict[bytes, Entry] = {}
        self.parents: dict[bytes, Entry] = {}
        """The directories above ``extra`` that no snapshot holds either."""

    def status(self, path: bytes) -> os.stat_result | None:
        """Looks at a path without following a link at any of its components.

        None if nothing is there. Raises OSError if we may not look: then it is unknown.
        """
        parent, _, name = path.rpartition(b"/")
        try:
            fd = kernel.open_directory_beneath(self._root_fd, parent)
        except OSError as error:
            if error.errno in _NOT_THERE:
                return None
            raise
        try:
            return ondisk.status(fd, name)
        finally:
            os.close(fd)

    def is_directory(self, path: bytes) -> bool:
        try:
            found = self.status(path)
        except OSError:
            return False
        return found is not None and S_ISDIR(found.st_mode)

    def is_still(self, path: bytes, made: Entry) -> bool:
        """Tells whether a path is what an operation made; of a directory only the bits count."""
        parent, _, name = path.rpartition(b"/")
        if made.is_directory:
            found = self.status(path)
            return found is not None and (found.st_mode & 0o170777) == made.mode
        try:
            fd = kernel.open_directory_beneath(self._root_fd, parent)
        except OSError:
            return False
        try:
            return is_exactly(fd, name, made)
        finally:
            os.close(fd)

    def kept(self, path: bytes) -> Entry | None:
        """Saves a file that no snapshot holds; None if it cannot be saved."""
        parent, _, name = path.rpartition(b"/")
        if self._is_hidden(path):
            return None
        try:
            fd = kernel.open_directory_beneath(self._root_fd, parent)
        except OSError:
            return None
        try:
            entry = self._kept_at(fd, name)
        finally:
            os.close(fd)
        if entry is not None:
            self.extra[path] = entry
            self._note_parents(path)
        return entry

    def _is_hidden(self, path: bytes) -> bool:
        """Tells whether no byte of a file may be taken in: by the settings, or by a purge."""
        purged = self._intake.purged
        return self._left_out.is_secret(path) or (purged is not None and purged.hides(path))

    def _is_banned(self, oid: bytes) -> bool:
        purged = self._intake.purged
        return purged is not None and purged.bans(oid)

    def _note_parents(self, path: bytes) -> None:
        while path := path.rpartition(b"/")[0]:
            if path not in self._held and path not in self.parents:
                found = self.status(path)
                if found is not None and S_ISDIR(found.st_mode):
                    self.parents[path] = Entry(entry_mode(found.st_mode), b"")

    def _kept_at(self, fd: int, name: bytes) -> Entry | None:
        if not self._save:
            try:
                entry = ondisk.entry_at(fd, name)
            except OSError:
                return None
            if entry is None or entry.is_directory or self._is_banned(entry.oid):
                return None
            return entry
        kept = keep(fd, name, self._intake)
        if not isinstance(kept, Kept):
            return None
        return Entry(entry_mode(kept.status.st_mode), kept.oid)

    def keep_bits(self, path: bytes, mode: int) -> Entry:
        """Saves the permission bits of a directory that no snapshot holds; returns its entry."""
        entry = Entry(entry_mode(mode), b"")
        if path not in self._held:
            self.extra[path] = entry
            self._note_parents(path)
        return entry

    def inside(self, path: bytes) -> Inside:
        """Puts the contents of a directory that makes way into the sink, and returns them.

        By path relative to it, parents first. Raises Unsavable or OSError if not all of it can be
        saved. Afterwards ``keep_directory`` makes it part of ``extra``.
        """
        found = self._look_into(path)
        pending = sorted(found, reverse=True)
        while pending:  # one directory is open at a time, however deep it goes
            place = pending.pop()
            if found[place].is_directory:
                below = self._look_into(place)
                found.update(below)
                pending.extend(sorted(below, reverse=True))
        base = len(path) + 1
        return tuple((place[base:], found[place]) for place in sorted(found))

    def keep_directory(self, path: bytes, inside: Inside) -> Entry:
        """Notes what no snapshot holds of a directory and its contents; returns its own entry."""
        for place, entry in inside:
            full = path + b"/" + place
            if full not in self._held:
                self.extra[full] = entry
        found = self.status(path)
        if found is None or not S_ISDIR(found.st_mode):
            raise Unsavable(os.fsdecode(path))
        return self.keep_bits(path, found.st_mode)

    def _look_into(self, path: bytes) -> dict[bytes, Entry]:
        """Returns the direct contents of a directory, by full path, with its files in the sink."""
        found = {}
        fd = kernel.open_directory_beneath(self._root_fd, path)
        try:
            for name in sorted(map(os.fsencode, all_names(fd))):
                full = path + b"/" + name
                found[full] = self._saved_entry(fd, name, full)
        finally:
            os.close(fd)
        return found

    def _saved_entry(self, fd: int, name: bytes, full: bytes) -> Entry:
        status = ondisk.status(fd, name)
        if name == b".git" or status is None:
            raise Unsavable(os.fsdecode(full))
        if S_ISDIR(status.st_mode):
            return Entry(entry_mode(status.st_mode), b"")
        held = self._held[full]
        if self._is_hidden(full):
            raise Unsavable(os.fsdecode(full))
        entry = held if held is not None and not held.is_directory else self._kept_at(fd, name)
        if entry is None:
            raise Unsavable(os.fsdecode(full))
        return entry


# -- verification: what an operation really did, as seen in a capture after it
#
# The snapshots before and after an operation show most of what it did. What they do not show within
# its scope it must record itself, or undo would not know about it: see ``touched``.


class Verification:
    """One look at the workspace after an operation."""

    def __init__(self, context: Context, carried: Carried, after: Captured) -> None:
        store, goal, applied = context.store, carried.goal, carried.applied
        self._context = context
        self._operation = carried.entry.operation
        self._has_units = bool(carried.entry.units)
        self._before = carried.before
        self._goal = goal
        self._after = after
        self._now = Held(store, after.tree)
        self._hidden = _coverage(context, carried.before)
        self._then = Held(store, bytes.fromhex(goal.tree))
        self._saved_then = Held(store, bytes.fromhex(goal.saved or ""))
        self._lacks = {item.path for item in goal.coverage.not_held}
        skipped = {item.path for item in applied.left_alone} - {*applied.written, *applied.deleted}
        self._done = {change.path: change for change in _changes(carried.entry.units, skipped)}

    def left_alone(self, items: Iterable[LeftAlone]) -> dict[bytes, LeftAlone]:
        """Returns what is left alone, by path, without what is right anyway."""
        left = {item.path: item for item in items}
        if self._operation.moves_files:
            for item in self._surfaced():
                left.setdefault(item.path, item)
        return {
            path: item
            for path, item in left.items()
            if item.reason in KEPT_BESIDE
            or path in self._lacks
            or path not in self._then
            or self._now[path] != self._then[path]
        }

    def is_at_target(self, left: Mapping[bytes, LeftAlone]) -> bool:
        """Tells whether every path in scope is as the target has it.

        What is left alone by the user's own choice is not checked, nor are its parents; anything
        else that is left alone means no.
        """
        if not self._operation.moves_files:
            return True
        if not all(item.by_rule for item in left.values()):
            return False
        if self._operation.of is not None and not self._has_units:
            return True  # what it goes back over changed no file, so nor does it: rewind/rewind.py
        return self._root_is_right() and self._trees_agree(left) and self._all_done()

    def touched(self) -> tuple[Change, ...]:
        """Returns what was done that the snapshots before and after do not show in the scope."""
        held = Held.of(self._context.store, self._before)
        return tuple(
            change.replace(old=_bare(change.old), new=_bare(change.new))
            for path, change in sorted(self._done.items())
            if path
            and (
                not covers(self._operation.paths, path)
                or not _same(change.old, held[path])
                or not _same(change.new, self._now[path])
                or self._hidden.reason_for(path) is not None
            )
        )

    def _surfaced(self) -> Iterator[LeftAlone]:
        """Yields what no snapshot held when the rewind began and the target does not know.

        For example an ignored directory whose ignore rule the rewind took back: it stays, and shows
        up now.
        """
        found: list[bytes] = []
        for change in self._differences(on_damage=lambda path, error: None):
            reason = self._hidden.reason_for(change.path)
            if change.new is not None or reason is None:
                continue
            if self._is_done(change) or (found and covers(tuple(found), change.path)):
                continue
            found.append(change.path)
            text = f"not captured when the rewind began ({reason})"
            yield LeftAlone(change.path, text, by_rule=by_choice(reason))

    def _differences(self, on_damage: trees.OnDamage) -> Iterator[Change]:
        """Yields each path in scope that differs from the target now."""
        wanted = bytes.fromhex(self._goal.tree)
        for change in trees.diff(
            self._context.store, self._after.tree, wanted, on_damage=on_damage
        ):
            if covers(self._operation.paths, change.path):
                yield change

    def _trees_agree(self, left: Mapping[bytes, LeftAlone]) -> bool:
        damaged: list[bytes] = []
        allowed = tuple(left)
        for change in self._differences(on_damage=lambda path, error: damaged.append(path)):
            if allowed and covers(allowed, change.path):
                continue
            if any(path.startswith(change.path + b"/") for path in left):
                continue
            if self._is_done(change) or (
                change.new is None and _same(change.old, self._saved_then[change.path])
            ):
                continue  # ignored then: it was restored, or was right, and is held now
            if change.old is None and self._is_on_disk(change.path, change.new):
                continue  # right, and only ignored by a restored rule
            return False
        return not damaged

    def _is_done(self, change: Change) -> bool:
        """Tells whether a path is as the operation left it, whatever the target's tree has."""
        done = self._done.get(change.path)
        return done is not None and _same(done.new, change.old)

    def _root_is_right(self) -> bool:
        wanted = self._goal.root_mode
        in_scope = covers(self._operation.paths, b"")
        return not in_scope or wanted is None or wanted == self._after.root_mode

    def _all_done(self) -> bool:
        """Tells whether everything was written and deleted, also where no snapshot shows it."""
        return all(
            _same(change.new, self._now[path]) or self._is_on_disk(path, change.new)
            for path, change in self._done.items()
            if path
        )

    def _is_on_disk(self, path: bytes, entry: Entry | None) -> bool:
        parent, _, name = path.rpartition(b"/")
        try:
            fd = kernel.open_directory_beneath(self._context.workspace.fd, parent)
        except OSError:
            return entry is None
        try:
            if entry is not None and entry.is_directory:
                found = ondisk.status(fd, name)
                return found is not None and found.st_mode & 0o170777 == entry.mode
            return is_exactly(fd, name, entry)
        finally:
            os.close(fd)


class Brought:
    """What an operation's target held: once restored, it is held again, whatever ignores it."""

    def __init__(self, store: Store, operation: Move, goal: Goal) -> None:
        self._paths = operation.paths
        self._store = store
        self._then = Held(store, bytes.fromhex(goal.tree))
        self._coverage = goal.coverage

    def holds(self, path: bytes, *, directory: bool) -> bool:
        """Tells whether the target held a path as the same kind as now."""
        entry = self._then[path] if covers(self._paths, path) else None
        if entry is None or entry.is_directory != directory:
            return False
        return not directory or self._coverage.reason_for(path) in (None, NO_COVERAGE)

    def below(self, directory: bytes) -> list[bytes]:
        """Returns the files that the target held in a directory that was ignored then."""
        entry = self._then[directory]
        if entry is None or not entry.is_directory:
            return []
        below = trees.walk(self._store, entry.oid, directory + b"/")
        try:
            return [p for p, e in below if not e.is_directory and covers(self._paths, p)]
        except StoreDamaged:  # named already, by the plan
            return []


def _coverage(context: Context, checkpoint: Checkpoint) -> Coverage:
    try:
        return read_coverage(context.store, checkpoint.commit)
    except StoreDamaged:  # named already, by the plan
        return Coverage()


def _changes(units: Sequence[Unit], skipped: set[bytes]) -> Iterator[Change]:
    """Yields what units did, path by path, the insides of directories included."""
    for unit in units:
        if unit.path in skipped:
            continue
        for path, entry in unit.inside_old:
            yield Change(unit.path + b"/" + path, entry, None)
        for path, entry in unit.inside_new:
            yield Change(unit.path + b"/" + path, None, entry)
        yield Change(unit.path, unit.old, unit.new)


def _bare(entry: Entry | None) -> Entry | None:
    """Returns an entry without the id of a directory: its contents are listed separately."""
    return Entry(entry.mode, b"") if entry is not None and entry.is_directory else entry


def _same(one: Entry | None, other: Entry | None) -> bool:
    return _bare(one) == _bare(other)
