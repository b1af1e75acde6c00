"""Works out what going to a goal means for each path, and saves what would be lost.

The undo snapshot holds what the capture held. Whatever else is in the way (an ignored file, one
above the size limit, a whole ignored directory where the target has a file) is saved beside it
first; what cannot be saved is left alone and reported.
"""

from __future__ import annotations

import os

from takeback.errors import Command, UsageError
from takeback.model.change import ADDED, Change
from takeback.model.path_text import parents, to_text
from takeback.model.plan import LeftAlone
from takeback.model.snapshot import DIRECTORY, Entry
from takeback.model.value import Value
from takeback.ops.decisions import Decisions
from takeback.ops.differences import Differences
from takeback.ops.situation import situation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from takeback.ops.capture import Captured
    from takeback.ops.context import Context
    from takeback.ops.request import Request
    from takeback.ops.situation import Situation
    from takeback.worktree.unit import Inside


class Prepared(Value):
    """The changes, sorted into what is done and what is left alone.

    ``displaced`` are directories that make way, with their contents. ``unnamed`` are files and
    links that were not named but make way for the directory of a named path, ``ignored`` the
    changed paths that no snapshot holds. ``extra`` is what no snapshot holds and was saved because
    it is replaced or removed, ``saved`` everything that the undo snapshot must keep besides what is
    captured.
    """

    writes: tuple[Change, ...]
    deletes: tuple[Change, ...]
    left_alone: tuple[LeftAlone, ...]
    displaced: Mapping[bytes, Inside]
    unnamed: tuple[bytes, ...]
    ignored: frozenset[bytes]
    extra: Mapping[bytes, Entry]
    saved: dict[bytes, Entry]

    @property
    def paths(self) -> frozenset[bytes]:
        """Returns every path that is written or deleted."""
        return frozenset(change.path for change in (*self.writes, *self.deletes))


def prepare(context: Context, captured: Captured, request: Request, *, save: bool) -> Prepared:
    """Works out what happens to each path; with ``save`` also saves what would be lost."""
    at = situation(context, captured, request, save=save)
    for path in at.scope.asked_for:
        if path not in request.mentioned:
            _check_known(at, path)
    found = Differences(at)
    found.compare()
    return _Preparation(at, found).work_out()


def _check_known(at: Situation, path: bytes) -> None:
    """Raises UsageError for a path that is nowhere: a typo must not read as "nothing to do"."""
    if path and not (
        path in at.now
        or path in at.going.held
        or path in at.going.saved
        or at.captured.coverage.reason_for(path) is not None
        or at.going.vouching.reason_for(path) is not None
        or at.safe.status(path) is not None
    ):
        goal = at.going.goal
        target = goal.name if goal.id is None else f"checkpoint {goal.id}"
        looked = () if goal.id is None else ("what it changed: ", Command("show", goal.id), "; or ")
        raise UsageError(
            f"{to_text(path)} is neither in the workspace nor in {target}",
            hint=(*looked, "look for it: ", Command("search")),
        )


class _Preparation:
    """Decides about everything that differs from the goal, and names what stays as it is."""

    def __init__(self, at: Situation, found: Differences) -> None:
        self._captured = at.captured
        self._scope = at.scope
        self._leave = at.kept
        self._safe = at.safe
        self._going = at.going
        self._found = found
        self._decisions = Decisions(at, found.ignored)
        self._left_alone = {**found.damaged, **found.not_asked}

    def work_out(self) -> Prepared:
        """Decides everything; reads, and saves if asked."""
        found, made = self._found, self._decisions
        made.by_rule |= set(found.not_asked)
        self._decide_all(found.changes, found.wanted)
        self._compare_root()
        if self._scope.files:
            self._name_what_is_not_back()
        return Prepared(
            writes=tuple(made.writes),
            deletes=tuple(made.deletes),
            left_alone=tuple(
                LeftAlone(path, reason, path in made.by_rule)
                for path, reason in sorted(self._left_alone.items())
            ),
            displaced=made.displaced,
            unnamed=tuple(made.unnamed),
            ignored=frozenset(found.ignored),
            extra=self._safe.extra,
            saved={**self._safe.parents, **self._safe.extra},
        )

    # -- what becomes of each

    def _decide_all(self, changes: Mapping[bytes, Change], wanted: set[bytes]) -> None:
        """Decides parents first: below one that stays as it is there is nothing to do.

        What an undone operation did below a directory that has to stay is taken back all the same.
        """
        blocked: set[bytes] = set()
        stuck: set[bytes] = set()
        for path in sorted(changes):
            lost = stuck if path in self._scope.touched else blocked
            if path not in wanted and any(above in lost for above in parents(path)):
                continue
            try:
                reason = self._decisions.decide(changes[path])
            except OSError as error:
                reason = f"cannot be looked at: {os.strerror(error.errno or 0).lower()}"
            if reason is not None:
                self._left_alone[path] = reason
                blocked.add(path)
                if changes[path].new is not None:
                    stuck.add(path)
        self._make_no_directory_for_nothing()

    def _make_no_directory_for_nothing(self) -> None:
        """Drops directories into which nothing comes back, because all that was in them is kept."""
        made = self._decisions
        idle = {
            change.path
            for change in made.writes
            if change.path in made.above_kept and change.kind == ADDED and _is_directory(change)
        }
        if idle:
            written = (change.path for change in made.writes if change.path not in idle)
            idle -= {above for path in written for above in parents(path)}
            made.writes = [change for change in made.writes if change.path not in idle]

    # -- what the snapshots do not show

    def _compare_root(self) -> None:
        """Compares the permission bits of the root itself, for which no tree has an entry."""
        then, now = self._going.goal.root_mode, self._captured.root_mode
        if then is not None and then != now and self._scope.holds(b""):
            old, new = (Entry(DIRECTORY | mode, b"") for mode in (now, then))
            self._decisions.writes.append(Change(b"", old, new))

    def _name_what_is_not_back(self) -> None:
        for item in self._going.vouching.asked_for(self._scope):
            # if the path was named, a rule for something above it is not an answer
            if not self._is_named(item.path, besides=self._decisions.by_rule):
                self._name(item)
        found = (
            *self._going.vouching.gone(self._scope, self._safe.status, self._captured.coverage),
            *self._going.vouching.stays(self._scope, self._captured.coverage),
        )
        for item in found:
            # if the target wanted it but could not get it, being ignored now is not an answer
            weak = {item.path} & self._decisions.by_rule if not item.by_rule else set()
            if not self._is_named(item.path, besides=weak):
                self._name(item)

    def _is_named(self, path: bytes, *, besides: Collection[bytes]) -> bool:
        places = (path, *parents(path))
        return (
            path in self._scope.touched
            or path in self._leave
            or any(place in self._left_alone and place not in besides for place in places)
        )

    def _name(self, item: LeftAlone) -> None:
        self._left_alone[item.path] = item.reason
        if item.by_rule:
            self._decisions.by_rule.add(item.path)
        else:
            self._decisions.by_rule.discard(item.path)


def _is_directory(change: Change) -> bool:
    return change.new is not None and change.new.is_directory
