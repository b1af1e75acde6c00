"""Retention: which checkpoints keep their files, by the settings; a pure function.

Nothing is dropped as long as it is young and fits. What is too old goes at once; when there is too
much, old turns are thinned before any is dropped:

    newest ──────────────────────────────────────────────────────────────> oldest
    │ all of two days │ one an hour, for a week │ one a day │ too old: max_age_days
                        └── only when there are too many, or they are too large

A turn is the unit: the checkpoint before it and that after it stay or go together, so what it
changed can be told as long as it is there. Those in its middle go first. Never dropped: what is
pinned (a label, the newest turns, undo snapshots within their grace, a running turn, the newest
checkpoint of all, and of each session that is not too old itself).
"""

from __future__ import annotations

from takeback.model.checkpoint import UNDO
from takeback.model.ids import CheckpointId, SessionId
from takeback.model.turn import ROUND, STEER
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    Weigh = Callable[[Iterable["Stored"]], int]
    """Returns how many bytes the files of some checkpoints take, in all."""
    Unit = list["Stored"]

DAY = 86_400.0
_HOUR = 3_600.0
_ALL_FOR = 2 * DAY
_HOURLY_FOR = 9 * DAY

LABELLED = "labelled"
NEWEST = "among the newest"
UNDOABLE = "undo goes there"
RUNNING = "its turn is running"
TIP = "the newest of its session"
HERE = "the newest of all"

TOO_OLD = "too old"
IN_BETWEEN = "within a turn that is thinned"
THINNED = "thinned"
TOO_MANY = "too many"
TOO_LARGE = "too large"
NAMED = "named"


class Stored(Value):
    """A checkpoint that has its files, as far as retention asks.

    ``line`` is the session that its own one descends from; ``turn`` numbers the turn that it
    belongs to, None for one that stands alone. ``newest`` is that of a session, ``here`` that of
    all.
    """

    id: CheckpointId
    session: SessionId
    line: SessionId
    kind: str
    time: float
    sequence: int
    snapshot: str
    turn: int | None = None
    labelled: bool = False
    running: bool = False
    newest: bool = False
    here: bool = False


class Bounds(Value):
    """How much is kept; 0 is no bound for every ``max_``."""

    max_bytes: int = 2 << 30
    max_age: float = 30 * DAY
    max_snapshots: int = 0
    keep_newest: int = 20
    keep_labelled: bool = True
    undo_grace: float = 7 * DAY
    thin: bool = True
    by_line: bool = False
    grace: float = 7 * DAY
    """Seconds for which what was dropped can be brought back."""


class Verdict(Value):
    """What becomes of the stored: why each pinned one stays and each dropped one goes."""

    pinned: dict[CheckpointId, str]
    dropped: dict[CheckpointId, str]


def decide(stored: Sequence[Stored], bounds: Bounds, *, now: float, weigh: Weigh) -> Verdict:
    """Says what stays and what goes; ``weigh`` is asked only where bytes are bounded."""
    sweep = _Sweep(stored, bounds, now, weigh)
    sweep.drop_old()
    if bounds.thin:
        for thin in (
            sweep.drop_in_between,
            sweep.thin_to_hours,
            sweep.thin_to_days,
            sweep.drop_every_middle,
        ):
            if not sweep.fits():
                thin()
    sweep.drop_too_many()
    sweep.drop_too_large()
    return Verdict(sweep.pinned, sweep.dropped)


def drop_named(
    stored: Sequence[Stored], named: Collection[str], bounds: Bounds, *, now: float
) -> Verdict:
    """Says what goes of what a person named: whole turns, unless they are really needed."""
    pins = _needed(stored, bounds.replace(keep_labelled=True), now)
    wanted = [unit for unit in _units(stored) if any(one.id in named for one in unit)]
    free = [unit for unit in wanted if not any(one.id in pins for one in unit)]
    kept = {one.id: pins[one.id] for unit in wanted for one in unit if one.id in pins}
    return Verdict(kept, {one.id: NAMED for unit in free for one in unit})


def with_their_turns(
    stored: Iterable[Stored], pinned: Mapping[CheckpointId, str]
) -> dict[CheckpointId, str]:
    """Returns pinned checkpoints with the other end of their turns: both stay."""
    found = dict(pinned)
    for unit in _units(stored):
        why = next((pinned[one.id] for one in unit if one.id in pinned), None)
        if why is not None:
            found.update((one.id, why) for one in _ends(unit) if one.id not in found)
    return found


def _needed(stored: Iterable[Stored], bounds: Bounds, now: float) -> dict[CheckpointId, str]:
    """Returns what never goes, whoever asks for it, and why."""
    pinned: dict[CheckpointId, str] = {}
    for one in stored:
        if one.here:
            pinned[one.id] = HERE
        if one.kind == UNDO and one.time > now - bounds.undo_grace:
            pinned[one.id] = UNDOABLE
        if one.running and one.kind not in (ROUND, STEER):
            pinned[one.id] = RUNNING
        if one.labelled and bounds.keep_labelled:
            pinned[one.id] = LABELLED
    return pinned


class _Sweep:
    """One decision on its way: what is pinned, and what was dropped so far."""

    def __init__(self, stored: Sequence[Stored], bounds: Bounds, now: float, weigh: Weigh) -> None:
        self._stored = sorted(stored, key=lambda one: one.sequence)
        self._bounds = bounds
        self._now = now
        self._weigh = weigh
        self._units = _units(self._stored)
        self.pinned = self._pins()
        self.dropped: dict[CheckpointId, str] = {}

    def _pins(self) -> dict[CheckpointId, str]:
        bounds = self._bounds
        pinned = _needed(self._stored, bounds, self._now)
        for one in self._stored:
            if one.newest and not (bounds.max_age and one.time < self._now - bounds.max_age):
                pinned.setdefault(one.id, TIP)
        for units in self._groups(self._units).values():
            turns = [unit for unit in units if unit[0].kind != UNDO]
            for unit in turns[max(0, len(turns) - bounds.keep_newest) :]:
                pinned.update((one.id, NEWEST) for one in _ends(unit) if one.id not in pinned)
        return pinned

    def _groups(self, units: Iterable[Unit]) -> dict[SessionId | None, list[Unit]]:
        """Sorts units by line, or leaves them together, as the settings say."""
        groups: dict[SessionId | None, list[Unit]] = {}
        for unit in units:
            groups.setdefault(unit[0].line if self._bounds.by_line else None, []).append(unit)
        return groups

    def _free(self) -> list[Unit]:
        """Returns the units of which nothing is pinned and something is left, oldest first."""
        return [
            unit
            for unit in self._units
            if not any(one.id in self.pinned for one in unit)
            and any(one.id not in self.dropped for one in unit)
        ]

    def _drop(self, found: Iterable[Stored], reason: str) -> None:
        for one in found:
            if one.id not in self.pinned:
                self.dropped.setdefault(one.id, reason)

    def _left(self, units: Iterable[Unit]) -> list[Stored]:
        return [one for unit in units for one in unit if one.id not in self.dropped]

    def fits(self) -> bool:
        """Tells whether what is left is within all bounds."""
        most = self._bounds.max_snapshots
        groups = self._groups(self._units).values()
        too_many = most and any(len(self._unpinned_snapshots(units)) > most for units in groups)
        return not too_many and self._fits_in_bytes(self._left(self._units))

    def _fits_in_bytes(self, left: list[Stored]) -> bool:
        return not self._bounds.max_bytes or self._weigh(left) <= self._bounds.max_bytes

    def _unpinned_snapshots(self, units: Iterable[Unit]) -> set[str]:
        pinned = {one.snapshot for one in self._stored if one.id in self.pinned}
        return {one.snapshot for one in self._left(units)} - pinned

    def drop_old(self) -> None:
        """Drops what is older than any checkpoint may be."""
        if self._bounds.max_age:
            oldest = self._now - self._bounds.max_age
            for unit in self._free():
                if unit[-1].time < oldest:
                    self._drop(unit, TOO_OLD)

    def drop_in_between(self) -> None:
        """Drops what was kept in the middle of old turns; both ends of each stay."""
        for unit in self._units:
            if unit[-1].time < self._now - _ALL_FOR:
                self._drop(_middle(unit), IN_BETWEEN)

    def drop_every_middle(self) -> None:
        """Drops the middle of all turns, of those that run too.

        How much a turn keeps is in the hands of its model, which must not push out whole turns.
        """
        self._drop((one for unit in self._units for one in _middle(unit)), IN_BETWEEN)

    def thin_to_hours(self) -> None:
        """Leaves the last turn of each hour, of those older than two days."""
        self._thin(_HOUR, older_than=_ALL_FOR)

    def thin_to_days(self) -> None:
        """Leaves the last turn of each day, of those older than nine days."""
        self._thin(DAY, older_than=_HOURLY_FOR)

    def _thin(self, span: float, *, older_than: float) -> None:
        seen: set[tuple[SessionId, float]] = set()
        for unit in reversed(self._free()):
            if unit[-1].time >= self._now - older_than:
                continue
            slot = (unit[0].line, unit[-1].time // span)
            if slot in seen:
                self._drop(unit, THINNED)
            seen.add(slot)

    def drop_too_many(self) -> None:
        """Drops the oldest turns until there are no more snapshots than the settings allow."""
        most = self._bounds.max_snapshots
        if not most:
            return
        free = {unit[0].id for unit in self._free()}
        for units in self._groups(self._units).values():
            for unit in units:
                if len(self._unpinned_snapshots(units)) <= most:
                    break
                if unit[0].id in free:
                    self._drop(unit, TOO_MANY)
            if len(self._unpinned_snapshots(units)) > most:
                self._drop((one for unit in units for one in _middle(unit)), TOO_MANY)

    def drop_too_large(self) -> None:
        """Drops the fewest of the oldest turns with which the rest fits."""
        if self._fits_in_bytes(self._left(self._units)):
            return
        free = self._free()
        few, many = 0, len(free)
        while few < many:
            middle = (few + many) // 2
            gone = {one.id for unit in free[:middle] for one in unit}
            if self._fits_in_bytes([o for o in self._left(self._units) if o.id not in gone]):
                many = middle
            else:
                few = middle + 1
        for unit in free[:many]:
            self._drop(unit, TOO_LARGE)
        if not self._fits_in_bytes(self._left(self._units)):
            self._drop((one for unit in self._units for one in _middle(unit)), TOO_LARGE)


def _units(stored: Iterable[Stored]) -> list[Unit]:
    """Returns the turns, and what belongs to none, by the time of their newest checkpoint."""
    found: dict[object, list[Stored]] = {}
    for one in sorted(stored, key=lambda one: one.sequence):
        alone = one.turn is None or one.kind == UNDO
        found.setdefault(one.id if alone else (one.session, one.turn), []).append(one)
    return sorted(found.values(), key=lambda unit: unit[-1].sequence)


def _middle(unit: Unit) -> list[Stored]:
    """Returns what rounds and prompts within a turn made: neither end of it."""
    return [one for one in unit[1:-1] if one.kind in (ROUND, STEER)]


def _ends(unit: Unit) -> list[Stored]:
    middle = _middle(unit)
    return [one for one in unit if one not in middle]
