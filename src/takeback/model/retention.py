"""Retention: which checkpoints keep their files, by the settings; a pure function.

Nothing is dropped as long as it is young and fits. What is too old goes at once; when there is too
much, old turns are thinned before any is dropped:

    newest ──────────────────────────────────────────────────────────────> oldest
    │ all of two days │ one an hour, for a week │ one a day │ too old: max_age_days
                        └── only when there are too many, or they are too large

A turn is the unit: the checkpoint before it and that after it stay or go together, so what it
changed can be told as long as it is there. Those in its middle go first, those too that somebody
made by hand while it ran. Never dropped: what is pinned (a label, the newest turns, undo snapshots
within their grace, a running turn, the newest checkpoint of all, and of each session that is not
too old itself).

How much one turn adds is in the hands of its model. So each has a part of the bounds, and what it
added beyond that goes before anything else does: its middles, then it with what came after and
still holds it. What cannot go, as it is pinned, is left out of the sum: nothing goes for it.

    before ── T ───────────────── after ── now
              │ middles │ T and after, as far as they hold what T added
                                           └── pinned: beside the bound, and said
"""

from __future__ import annotations

from takeback.model.checkpoint import MANUAL, UNDO
from takeback.model.ids import CheckpointId, SessionId
from takeback.model.turn import PROMPT, ROUND, STEER
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    Weigh = Callable[[Iterable["Stored"]], int]
    """Returns how many bytes the files of some checkpoints take, in all."""
    Unit = list["Stored"]
    Doing = tuple[SessionId, int]
    """A turn, as far as it is what something was done in: its session and its number."""
    Exceed = Callable[[Iterable["Stored"]], Mapping[Doing, int]]
    """Returns by how much turns have added more to some checkpoints than their part."""
    Beyond = Callable[[], Mapping[Doing, int]]
    Fits = Callable[[Doing], bool]

DAY = 86_400.0
_HOUR = 3_600.0
_ALL_FOR = 2 * DAY
_HOURLY_FOR = 9 * DAY
_PARTS = 10
_LEAST = 1 << 20
_FEW = 2
"""The part of a bound that one turn may fill, and the bytes and snapshots that are never many."""

LABELLED = "labelled"
NEWEST = "among the newest"
UNDOABLE = "undo goes there"
RUNNING = "its turn is running"
TIP = "the newest of its session"
HERE = "the newest of all"

TOO_OLD = "too old"
EXCESS = "more than its turn's part"
IN_BETWEEN = "within a turn that is thinned"
THINNED = "thinned"
TOO_MANY = "too many"
TOO_LARGE = "too large"
NAMED = "named"


class Stored(Value):
    """A checkpoint that has its files, as far as retention asks.

    ``line`` is the session that its own one descends from; ``turn`` numbers the turn that it
    belongs to, None for one that stands alone. ``doing`` is the turn that ran when it was made; of
    several at once the one that began first. ``newest`` is that of a session, ``here`` that of all.
    """

    id: CheckpointId
    session: SessionId
    line: SessionId
    kind: str
    time: float
    sequence: int
    snapshot: str
    turn: int | None = None
    doing: Doing | None = None
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

    @property
    def part(self) -> int:
        """So many bytes one turn may add like any other; see above."""
        return max(_LEAST, self.max_bytes // _PARTS)


class Verdict(Value):
    """What becomes of the stored: why each pinned one stays and each dropped one goes."""

    pinned: dict[CheckpointId, str]
    dropped: dict[CheckpointId, str]


def _nothing(left: Iterable[Stored]) -> Mapping[Doing, int]:
    return {}


def decide(
    stored: Sequence[Stored],
    bounds: Bounds,
    *,
    now: float,
    weigh: Weigh,
    exceed: Exceed = _nothing,
) -> Verdict:
    """Says what stays and what goes; ``weigh`` is asked only where bytes are bounded."""
    sweep = _Sweep(stored, bounds, now, weigh, exceed)
    sweep.drop_old()
    sweep.drop_excess()
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
    alone = [one.replace(doing=None) for one in stored]  # who names a turn does not mean these
    wanted = [unit for unit in _units(alone) if any(one.id in named for one in unit)]
    free = [unit for unit in wanted if not any(one.id in pins for one in unit)]
    kept = {one.id: pins[one.id] for unit in wanted for one in unit if one.id in pins}
    return Verdict(kept, {one.id: NAMED for unit in free for one in unit})


def never_dropped(
    stored: Sequence[Stored], bounds: Bounds, *, now: float
) -> dict[CheckpointId, str]:
    """Returns what no sweep drops, and why; with it the other end of its turn, which stays too."""
    return _Sweep(stored, bounds, now, lambda left: 0, _nothing).staying()


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

    def __init__(
        self, stored: Sequence[Stored], bounds: Bounds, now: float, weigh: Weigh, exceed: Exceed
    ) -> None:
        self._stored = sorted(stored, key=lambda one: one.sequence)
        self._bounds = bounds
        self._now = now
        self._weigh = weigh
        self._exceed = exceed
        self._units = _units(self._stored)
        self.pinned = self._pins()
        self._beside: Mapping[Doing, int] = {}
        """How much stays of what turns added beyond their part."""
        self.dropped: dict[CheckpointId, str] = {}

    def _pins(self) -> dict[CheckpointId, str]:
        bounds = self._bounds
        pinned = _needed(self._stored, bounds, self._now)
        for one in self._stored:
            if one.newest and not (bounds.max_age and one.time < self._now - bounds.max_age):
                pinned.setdefault(one.id, TIP)
        for units in self._groups(self._units).values():
            turns = [unit for unit in units if _core(unit) and unit[0].kind != UNDO]
            for inner in (False, True):  # those within others push none of the others out
                alike = [unit for unit in turns if _is_inner(unit) is inner]
                for unit in alike[max(0, len(alike) - bounds.keep_newest) :]:
                    pinned.update((one.id, NEWEST) for one in _ends(unit) if one.id not in pinned)
        return pinned

    def staying(self) -> dict[CheckpointId, str]:
        """Returns what is pinned, and both ends of its turns."""
        found = dict(self.pinned)
        for unit in self._units:
            why = next((self.pinned[one.id] for one in _core(unit) if one.id in self.pinned), None)
            if why is not None:
                found.update((one.id, why) for one in _ends(unit) if one.id not in found)
        return found

    def _groups(self, units: Iterable[Unit]) -> dict[SessionId | None, list[Unit]]:
        """Sorts units by line, or leaves them together, as the settings say."""
        groups: dict[SessionId | None, list[Unit]] = {}
        for unit in units:
            groups.setdefault(unit[0].line if self._bounds.by_line else None, []).append(unit)
        return groups

    def _free(self) -> list[Unit]:
        """Returns the units of which nothing is pinned and something is left, oldest first.

        What was made by hand in a turn and is pinned keeps itself, and not the turn.
        """
        return [
            unit
            for unit in self._units
            if not any(one.id in self.pinned for one in _core(unit))
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
        return self._fits_in_number() and self._fits_in_bytes(self._left(self._units))

    def _fits_in_number(self) -> bool:
        most = self._bounds.max_snapshots
        groups = self._groups(self._units).values()
        return not most or all(len(self._unpinned_snapshots(units)) <= most for units in groups)

    def _fits_in_bytes(self, left: list[Stored], doing: Doing | None = None) -> bool:
        """Tells whether the bytes fit beside what stays of turns, that of ``doing`` not counted."""
        most = self._bounds.max_bytes
        beside = sum(size for turn, size in self._beside.items() if turn != doing)
        return not most or self._weigh(left) <= most + beside

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

    def drop_excess(self) -> None:
        """Drops what a turn added beyond its part: its middles, then it and what came after it.

        What stays of it is left out of the sum, but for that turn itself.
        """
        self._drop_beyond(self._too_many_of, lambda doing: self._fits_in_number(), worth=1)
        if self._fits_in_bytes(self._left(self._units)):
            return
        staying = self.staying()
        self._beside = self._exceed(one for one in self._stored if one.id in staying)
        self._drop_beyond(
            lambda: self._exceed(self._left(self._units)),
            lambda doing: self._fits_in_bytes(self._left(self._units), doing),
            worth=self._bounds.part // _PARTS,  # trees alone are not worth a turn
        )

    def _too_many_of(self) -> dict[Doing, int]:
        """Returns how many snapshots turns have added beyond their part of ``max_snapshots``."""
        found: dict[Doing, int] = {}
        unpinned = self._unpinned_snapshots(self._units)
        for one in self._stored:
            if one.snapshot in unpinned:
                unpinned.discard(one.snapshot)
                was_there = one.kind == PROMPT and one.doing == (one.session, one.turn)
                if one.doing is not None and not was_there:
                    found[one.doing] = found.get(one.doing, 0) + 1
        part = max(_FEW, self._bounds.max_snapshots // _PARTS)
        return {doing: number - part for doing, number in found.items() if number > part}

    def _drop_beyond(self, beyond: Beyond, fits: Fits, *, worth: int) -> None:
        """Drops what is ``beyond`` the part of a turn until all fits, as far as it is about it.

        The middles of the newest turn go first: nothing of before goes for them. Of whole turns
        those that added most, and of several that added about as much the oldest; what came after
        them goes only where it is ``worth`` so much.
        """
        began = {one.doing: one.sequence for one in reversed(self._stored)}
        for doing in sorted(beyond(), key=lambda doing: -began[doing]):
            if not fits(doing):
                middles = (one for unit in self._units for one in _middle(unit))
                self._drop((one for one in middles if one.doing == doing), EXCESS)
        left = beyond()
        for doing in sorted(left, key=lambda doing: (-left[doing].bit_length(), began[doing])):
            if not fits(doing):
                free = [unit for unit in self._free() if unit[0].sequence >= began[doing]]
                self._drop_fewest(free, doing, beyond, fits, worth)

    def _drop_fewest(
        self, free: list[Unit], doing: Doing, beyond: Beyond, fits: Fits, worth: int
    ) -> None:
        """Drops the fewest of some units, oldest first, that end an excess, as far as they can."""
        before = dict(self.dropped)

        def left(number: int) -> int:
            self.dropped = dict(before)
            for unit in free[:number]:
                self._drop(unit, EXCESS)
            return 0 if fits(doing) else beyond().get(doing, 0)

        few, many = 0, len(free)
        most = left(many) + worth - 1
        while few < many:
            middle = (few + many) // 2
            if left(middle) <= most:
                many = middle
            else:
                few = middle + 1
        left(many)

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
        turn = one.doing if _is_amid(one) else None if alone else (one.session, one.turn)
        found.setdefault(turn or one.id, []).append(one)
    return sorted(found.values(), key=lambda unit: unit[-1].sequence)


def _is_amid(one: Stored) -> bool:
    """Tells whether a checkpoint was made by hand while a turn ran."""
    return one.kind == MANUAL and one.doing is not None


def _is_inner(unit: Unit) -> bool:
    """Tells whether a turn began while another one ran: so can one that a model has invented."""
    first = _core(unit)[0]
    return first.doing not in (None, (first.session, first.turn))


def _core(unit: Unit) -> list[Stored]:
    """Returns a unit without what was made by hand while it ran."""
    return [one for one in unit if not _is_amid(one)]


def _middle(unit: Unit) -> list[Stored]:
    """Returns what was made within a turn, by its rounds and prompts and by hand: no end of it."""
    ends = {one.id for one in _ends(unit)}
    return [one for one in unit if one.id not in ends]


def _ends(unit: Unit) -> list[Stored]:
    core = _core(unit)
    inner = {one.id for one in core[1:-1] if one.kind in (ROUND, STEER)}
    return [one for one in core if one.id not in inner]
