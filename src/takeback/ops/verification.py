"""Verification: what an operation really did, as seen in a capture after it.

The snapshots before and after an operation show most of what it did. What they do not show within
its scope it must record itself, or undo would not know about it: see ``touched``.
"""

from __future__ import annotations

import os

from takeback import kernel
from takeback.errors import StoreDamaged
from takeback.model.change import Change
from takeback.model.coverage import NO_COVERAGE, Coverage, by_choice
from takeback.model.path_text import covers
from takeback.model.plan import LeftAlone
from takeback.model.snapshot import Entry
from takeback.store import trees
from takeback.store.checkpoints import read_coverage
from takeback.store.held import Held
from takeback.worktree import ondisk
from takeback.worktree.resume import KEPT_BESIDE, is_exactly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.goal import Goal
    from takeback.model.operation import Move
    from takeback.ops.capture import Captured
    from takeback.ops.conclude import Carried
    from takeback.ops.context import Context
    from takeback.store.store import Store
    from takeback.worktree.unit import Unit


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
            return True  # what it goes back over changed no file, so nor does it: ops/undo.py
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
