"""Which checkpoints keep their files."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from takeback.model.ids import CheckpointId, SessionId
from takeback.model.retention import (
    DAY,
    HERE,
    IN_BETWEEN,
    LABELLED,
    NEWEST,
    RUNNING,
    THINNED,
    TIP,
    TOO_LARGE,
    TOO_MANY,
    TOO_OLD,
    UNDOABLE,
    Bounds,
    Stored,
    Verdict,
    decide,
    never_dropped,
)

NOW = 1000 * DAY
MIB = 1 << 20
NONE = Bounds(max_bytes=0, max_age=0, max_snapshots=0, keep_newest=0)


def checkpoint(name: str, age: float, **more: object) -> Stored:
    """One that is so many days old; younger ones come later."""
    made = Stored(
        id=CheckpointId(name),
        session=SessionId("s"),
        line=SessionId("s"),
        kind="prompt",
        time=NOW - age * DAY,
        sequence=int(1e9 - age * 1e5),
        snapshot=name,
    )
    return made.replace(**more)


def turn(number: int, age: float, **more: object) -> list[Stored]:
    """A turn of a minute: before it, a round, after it."""
    kinds = ("prompt", "round", "turn end")
    return [
        checkpoint(f"{number}{kind[0]}", age - step / 1440 / 2, kind=kind, turn=number, **more)
        for step, kind in enumerate(kinds)
    ]


def each_a_byte(left: Iterable[Stored]) -> int:
    return len({one.snapshot for one in left})


def judged(stored: list[Stored], bounds: Bounds) -> Verdict:
    return decide(stored, bounds, now=NOW, weigh=each_a_byte)


def test_without_bounds_nothing_goes() -> None:
    old = [one for number in range(50) for one in turn(number, 5000 - number)]
    assert judged(old, NONE).dropped == {}


def test_what_is_too_old_goes_and_the_newest_of_a_session_stays() -> None:
    found = judged(
        [checkpoint("a", 40), checkpoint("b", 31), checkpoint("c", 29), checkpoint("d", 1)],
        NONE.replace(max_age=30 * DAY),
    )
    assert found.dropped == {"a": TOO_OLD, "b": TOO_OLD}
    bounds = NONE.replace(max_age=30 * DAY, max_bytes=1)
    only = judged([checkpoint("a", 29, newest=True)], bounds)
    assert (only.dropped, only.pinned) == ({}, {"a": TIP})
    left = judged([checkpoint("a", 400, newest=True)], bounds)
    assert (left.dropped, left.pinned) == ({"a": TOO_OLD}, {})
    ageless = judged([checkpoint("a", 400, newest=True)], bounds.replace(max_age=0))
    assert (ageless.dropped, ageless.pinned) == ({}, {"a": TIP})
    last = judged([checkpoint("a", 400, newest=True, here=True)], bounds)
    assert (last.dropped, last.pinned) == ({}, {"a": HERE})


def test_what_is_pinned_outlives_every_bound() -> None:
    bounds = NONE.replace(max_age=DAY, max_bytes=1, max_snapshots=1, undo_grace=7 * DAY)
    found = judged(
        [
            checkpoint("old undo", 8, kind="undo"),
            checkpoint("undo", 6, kind="undo"),
            checkpoint("label", 300, labelled=True),
            checkpoint("running", 300, running=True),
        ],
        bounds,
    )
    assert found.dropped == {"old undo": TOO_OLD}
    assert found.pinned == {"undo": UNDOABLE, "label": LABELLED, "running": RUNNING}
    unpinned = bounds.replace(keep_labelled=False)
    assert judged([checkpoint("label", 300, labelled=True)], unpinned).dropped == {"label": TOO_OLD}


def test_the_newest_turns_are_kept_of_each_line_or_of_all() -> None:
    lines = [
        *turn(1, 50),
        *turn(2, 49),
        *[one.replace(id=CheckpointId("x" + one.id), line=SessionId("x")) for one in turn(3, 48)],
    ]
    bounds = NONE.replace(max_age=DAY, keep_newest=1, by_line=True)
    by_line = judged(lines, bounds)
    assert by_line.pinned == dict.fromkeys(("2p", "2t", "x3p", "x3t"), NEWEST)
    assert judged(lines, bounds.replace(by_line=False)).pinned == dict.fromkeys(
        ("x3p", "x3t"), NEWEST
    )


def test_old_turns_lose_their_middle_before_any_turn_goes() -> None:
    stored = [*turn(1, 20), *turn(2, 5), *turn(3, 1)]
    found = judged(stored, NONE.replace(max_bytes=8))
    assert found.dropped == {"1r": IN_BETWEEN, "2r": IN_BETWEEN}
    assert judged(stored, NONE.replace(max_bytes=9)).dropped == {}


def test_then_one_an_hour_is_left_and_then_one_a_day() -> None:
    hours = [checkpoint(f"h{n}", 4 + n / 24 / 4) for n in range(8)]
    days = [checkpoint(f"d{n}", 20 + n / 24) for n in range(12)]
    young = [checkpoint(f"y{n}", n / 24 / 4) for n in range(8)]
    everything = [*days, *hours, *young]
    hourly = judged(everything, NONE.replace(max_bytes=24))
    assert set(hourly.dropped.values()) == {THINNED}
    assert {name[0] for name in hourly.dropped} == {"h"}
    daily = judged(everything, NONE.replace(max_bytes=14))
    assert {name[0] for name in daily.dropped} == {"h", "d"}
    assert set(daily.dropped.values()) == {THINNED}
    assert len([name for name in daily.dropped if name[0] == "d"]) in (10, 11)
    off = judged(everything, NONE.replace(max_bytes=14, thin=False))
    assert set(off.dropped.values()) == {TOO_LARGE}
    assert {name[0] for name in off.dropped} == {"d", "h"}


def test_the_oldest_turns_go_until_the_rest_fits() -> None:
    stored = [one for number in range(1, 11) for one in turn(number, 11 - number)]
    found = judged(stored, NONE.replace(max_bytes=10, thin=False))
    assert len(stored) - len(found.dropped) == 9
    assert set(found.dropped.values()) == {TOO_LARGE}
    assert {name.rstrip("prt") for name in found.dropped} == {str(n) for n in range(1, 8)}


def test_a_turn_that_floods_the_store_loses_its_own_middle_before_older_turns_go() -> None:
    """A model decides how much one turn keeps, and must not push out what was kept before."""
    old = [one for number in (1, 2, 3) for one in turn(number, 1 - number / 10)]
    first, round_, last = turn(4, 0.1, running=True)
    flood = [
        round_.replace(id=CheckpointId(f"r{n}"), snapshot=f"r{n}", sequence=round_.sequence + n)
        for n in range(50)
    ]
    last = last.replace(sequence=round_.sequence + 100)
    found = judged([*old, first, *flood, last], NONE.replace(max_bytes=12))
    assert {id for id, why in found.dropped.items() if why == IN_BETWEEN} >= {
        f"r{n}" for n in range(50)
    }
    assert not {f"{n}{end}" for n in (1, 2, 3, 4) for end in "pt"} & set(found.dropped)


def test_snapshots_are_counted_once_and_pinned_ones_not_at_all() -> None:
    same = [checkpoint(f"s{n}", 10 - n / 10, snapshot="one") for n in range(9)]
    assert judged(same, NONE.replace(max_snapshots=1)).dropped == {}
    more = [checkpoint(f"m{n}", 9 - n) for n in range(5)]
    label = checkpoint("label", 20, labelled=True)
    found = judged([label, *more], NONE.replace(max_snapshots=2, thin=False))
    assert found.dropped == {"m0": TOO_MANY, "m1": TOO_MANY, "m2": TOO_MANY}


@given(
    st.lists(st.tuples(st.floats(0, 400), st.integers(1, 6), st.booleans()), max_size=25),
    st.integers(0, 30),
    st.integers(0, 12),
    st.integers(0, 5),
    st.booleans(),
)
def test_pins_stay_turns_are_whole_and_bounds_hold(
    turns: list[tuple[float, int, bool]], size: int, count: int, newest: int, thin: bool
) -> None:
    turns = sorted(turns, reverse=True)
    stored = [
        one.replace(sequence=position * 10 + step, snapshot=f"{one.id}{kind % 3}")
        for position, (age, kind, labelled) in enumerate(turns)
        for step, one in enumerate(turn(position, age, labelled=labelled))
    ]
    bounds = NONE.replace(
        max_bytes=size, max_snapshots=count, max_age=100 * DAY, keep_newest=newest, thin=thin
    )
    found = judged(stored, bounds)
    assert not set(found.pinned) & set(found.dropped)
    left = [one for one in stored if one.id not in found.dropped]
    for number in range(len(turns)):
        ends = {f"{number}p", f"{number}t"} - set(found.dropped)
        assert len(ends) in (0, 2)
    free = [
        unit
        for unit in range(len(turns))
        if f"{unit}p" not in found.dropped
        and not any(one.id in found.pinned for one in stored if one.turn == unit)
    ]
    middles = [one for one in left if one.kind == "round" and one.id not in found.pinned]
    if free or middles:
        assert not size or each_a_byte(left) <= size
        pinned = {one.snapshot for one in stored if one.id in found.pinned}
        assert not count or len({one.snapshot for one in left} - pinned) <= count
    assert not set(judged(left, bounds).dropped) & set(found.pinned)


class History:
    """Turns one after the other, each leaving what it is told to; files are named by numbers."""

    def __init__(self) -> None:
        self.stored: list[Stored] = []
        self._holds: dict[str, frozenset[int]] = {"": frozenset()}
        self._sizes: dict[int, int] = {}
        self._at = frozenset[int]()
        self.turn = 0
        self._doing: tuple[SessionId, int] | None = None

    def add(self, kind: str, *, size: int = 0, keep: bool = True, **more: object) -> None:
        """Makes a checkpoint after so many KB came, in place of the newest if it is not kept."""
        name = f"{len(self.stored)}"
        if size:
            number = len(self._sizes)
            self._sizes[number] = size << 10
            self._at = (self._at if keep else frozenset(sorted(self._at)[:-1])) | {number}
        self._holds[name] = self._at
        made = checkpoint(
            name, 0, kind=kind, sequence=len(self.stored) + 1, doing=self._doing, **more
        )
        self.stored.append(made.replace(time=NOW - 3600 + len(self.stored)))

    def begin(self) -> None:
        self.turn += 1
        self._doing = (SessionId("s"), self.turn)
        self.add("prompt", turn=self.turn)

    def end(self) -> None:
        self.add("turn end", turn=self.turn)
        self._doing = None

    def clear(self) -> None:
        """All that is there goes; the next checkpoint finds it."""
        self._at = frozenset()

    def weigh(self, left: Iterable[Stored]) -> int:
        found = frozenset[int]().union(*(self._holds[one.id] for one in left))
        return sum(self._sizes[number] for number in found)

    def exceed(self, left: Iterable[Stored], part: int) -> dict[tuple[SessionId, int], int]:
        owners: dict[int, tuple[SessionId, int] | None] = {}
        for one in self.stored:
            first = one.kind == "prompt" and one.doing == (one.session, one.turn)
            for number in self._holds[one.id]:
                owners.setdefault(number, None if first else one.doing)
        sizes: dict[tuple[SessionId, int], int] = {}
        for number in frozenset[int]().union(*(self._holds[one.id] for one in left)):
            owner = owners[number]
            if owner is not None:
                sizes[owner] = sizes.get(owner, 0) + self._sizes[number]
        return {owner: size - part for owner, size in sizes.items() if size > part}

    def judged(self, bounds: Bounds) -> Verdict:
        return decide(
            self.stored,
            bounds,
            now=NOW,
            weigh=self.weigh,
            exceed=lambda left: self.exceed(left, bounds.part),
        )


small = st.lists(st.tuples(st.integers(0, 250), st.booleans()), max_size=4)
doings = st.lists(
    st.tuples(
        st.sampled_from(["round", "manual", "labelled", "invented", "steer"]),
        st.integers(0, 60_000),
        st.booleans(),
    ),
    max_size=12,
)


@given(st.lists(small, max_size=8), st.lists(doings, min_size=1, max_size=4), st.data())
def test_however_much_turns_add_nothing_of_before_goes_for_it(
    before: list[list[tuple[int, bool]]],
    floods: list[list[tuple[str, int, bool]]],
    data: st.DataObject,
) -> None:
    history = History()
    for turn_of in before:
        history.begin()
        for size, keep in turn_of:
            history.add("round", size=size, keep=keep, turn=history.turn)
        history.end()
        if data.draw(st.booleans()):
            history.add("manual", size=100)
    old, weight = {one.id for one in history.stored}, history.weigh(history.stored)
    for flood in floods:
        history.begin()
        for number, (what, size, keep) in enumerate(flood):
            if what == "invented":  # a session of the model's own making, with turns of its own
                turn = 100 * history.turn + number
                history.add("prompt", session="x", turn=turn)
                history.add("turn end", size=size, keep=keep, session="x", turn=turn)
            elif what in ("manual", "labelled"):
                history.add("manual", size=size, keep=keep, labelled=what == "labelled")
            else:
                history.add(what, size=size, keep=keep, turn=history.turn)
        if data.draw(st.booleans()):
            history.end()
        if data.draw(st.booleans()):
            history.clear()
    history.stored[-1] = history.stored[-1].replace(here=True)
    bounds = NONE.replace(
        max_bytes=weight + len(floods) * MIB * 11 // 10,
        keep_newest=data.draw(st.integers(0, 4)),
        thin=data.draw(st.booleans()),
    )
    assert bounds.part == MIB
    found = history.judged(bounds)
    assert not found.dropped.keys() & (old | found.pinned.keys())
    left = [one for one in history.stored if one.id not in found.dropped]
    never = never_dropped(history.stored, bounds, now=NOW)
    staying = [one for one in history.stored if one.id in never]
    beside = sum(history.exceed(staying, bounds.part).values())
    assert history.weigh(left) <= bounds.max_bytes + beside
