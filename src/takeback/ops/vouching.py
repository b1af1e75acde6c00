"""Vouching: what a snapshot cannot say of a path, and which paths therefore are not as they were.

A checkpoint names what it does not hold. Nobody knows what was at such a path; one that has gone
since cannot be restored, and that is reported. So is one that the checkpoint wanted but could not
get, unless its times show that it has not changed since. Conversely, what is there now and was not
captured stays, although the target vouches that it was not there.
"""

from __future__ import annotations

from stat import S_ISDIR

from takeback.durable import is_scratch_name
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
from takeback.model.plan import LeftAlone

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from takeback.model.coverage import Reason
    from takeback.model.goal import Goal
    from takeback.model.snapshot import Entry
    from takeback.ops.scope import Scope
    from takeback.store.held import Held

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
