"""Shedding: which records go when dropping files is not enough; what single turns have added."""

from __future__ import annotations

import os
from bisect import bisect_right
from itertools import pairwise

from takeback.ledger.attribute import begins_a_turn, is_event
from takeback.model import turn as moments
from takeback.model.checkpoint import UNDO
from takeback.model.ids import SessionId
from takeback.model.operation import Move
from takeback.model.turn import PROMPT, ROUND, STEER
from takeback.model.value import Value
from takeback.store.namespace import session_of
from takeback.store.records import CONVERSATION, known_operations, read_labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId, MachineId
    from takeback.model.retention import Doing
    from takeback.retention.prune import Inventory, Upkeep
    from takeback.store.records import Record
    from takeback.store.weight import Scales

    _Span = tuple[float, float, Doing]

# -- additions: what each turn added to a store, by what was captured first while it ran
#
#     A's turn     ├──────────────┤                          all of it is A's doing
#     B's turn            ├──────────────┤                   what came after A's end is B's
#     by hand    x    x                      x               the middle one was made in A's turn
#
# Turns of several sessions may run at once, and a model may invent some: what comes then is the
# doing of the one that began first. What a turn's first checkpoint finds was there before, unless
# the turn before it had not ended.


_FOR_EVER = float("inf")
_GOES_ON = (moments.ROUND, moments.STEER, moments.TURN_END)


class Doings:
    """Which turn ran when something was captured, from all checkpoints of all sessions.

    ``at_work`` are the sessions whose newest turn is still running. What a model asked for, and
    sessions that one began, are its newest turn's, whatever was said of the end of that.
    """

    def __init__(
        self, sessions: Mapping[SessionId, Iterable[Checkpoint]], at_work: Iterable[SessionId] = ()
    ) -> None:
        still = set(at_work)
        self._begun: dict[tuple[str, str], list[_Span]] = {}
        """When the turns of each session ran, by machine."""
        self._above: dict[str, str] = {}
        """The session that began another one."""
        for session, points in sessions.items():
            mine: dict[MachineId, list[Checkpoint]] = {}
            for one in filter(is_event, points):
                mine.setdefault(one.machine, []).append(one)
                if one.below is not None:
                    self._above[session] = one.below
            for machine, events in mine.items():
                self._begun[machine, session] = [*_spans(events, session in still)]
        together: dict[str, list[_Span]] = {}
        for (where, whose), spans in self._begun.items():
            together.setdefault(where, []).extend(
                (start, end, self._newest(where, whose, start) or doing)
                for start, end, doing in spans
            )
        self._spans = {machine: [*_one_by_one(spans)] for machine, spans in together.items()}

    def _newest(self, machine: str, session: str, number: float) -> Doing | None:
        """Returns the newest turn of the first of the sessions above one; None if none is."""
        if session not in self._above:
            return None
        seen = {session}
        while session in self._above and self._above[session] not in seen:
            session = self._above[session]
            seen.add(session)
        return self._newest_of(machine, session, number)

    def _newest_of(self, machine: str, session: str, number: float) -> Doing:
        spans = self._begun.get((machine, session), [])
        place = bisect_right(spans, number, key=_start) - 1
        return spans[place][2] if place >= 0 else (SessionId(session), 0)

    def of(
        self, machine: str, number: float, *, session: str | None = None, by: str | None = None
    ) -> Doing | None:
        """Returns the turn that ran at a number, its first checkpoint included; None without one.

        Else what belongs to a model: a checkpoint of a ``session`` that one began, or that was
        asked for ``by`` another one's.
        """
        spans = self._spans.get(machine, [])
        place = bisect_right(spans, number, key=_start) - 1
        if place >= 0 and number <= spans[place][1]:
            return spans[place][2]
        if by is not None:
            return self._newest(machine, by, number) or self._newest_of(machine, by, number)
        return None if session is None else self._newest(machine, session, number)

    def added_by(self, record: Record) -> Doing | None:
        """Returns the turn that added what a record keeps and none before it does."""
        number, machine = record.meta.get("sequence"), record.meta.get("machine")
        session = record.optional_text("session")
        if not isinstance(number, int) or not isinstance(machine, str):
            return None
        by = record.optional_text("asked_by")
        doing = self.of(machine, number, session=session, by=by)
        if record.meta.get("kind") != moments.PROMPT or doing != (session, record.meta.get("turn")):
            return doing
        return self.of(machine, number - 1) if record.meta.get("unfinished") else None


def _start(span: _Span) -> float:
    return span[0]


def _spans(events: Iterable[Checkpoint], goes_on: bool) -> Iterator[_Span]:
    """Yields from when to when each turn of a session ran.

    What follows its end shows that it went on: only the agent's word ends a turn, and a model may
    have said it.
    """
    first: Checkpoint | None = None
    last, is_open = 0, False
    for one in events:
        begins = one.kind == moments.PROMPT
        if first is not None and begins:
            end = one.sequence - 1 if is_open else last
            yield first.sequence, end, (first.session, first.turn or 0)
        if begins:
            first = one
        if begins or is_open or one.kind in _GOES_ON:
            last = one.sequence
        is_open = one.moment.phase != moments.IDLE
    if first is not None:
        until = _FOR_EVER if goes_on and is_open else last
        yield first.sequence, until, (first.session, first.turn or 0)


def _one_by_one(spans: list[_Span]) -> Iterator[_Span]:
    """Yields when each turn ran alone or had begun before the others, none beside another."""
    until = 0.0
    for start, end, doing in sorted(spans):
        if end > until:
            yield max(start, until + 1), end, doing
            until = end


class Additions:
    """The objects that turns added beyond their ``part``; asked many times about the same."""

    def __init__(
        self, records: Iterable[Record], doings: Doings, scales: Scales, part: int
    ) -> None:
        self._scales = scales
        self._part = part
        in_order = sorted(records, key=_sequence)
        claims = ((doings.added_by(record), record.trees()) for record in in_order)
        self._owners = scales.owners(claims, above=part)

    def beyond(self, roots: Iterable[bytes]) -> dict[Doing, int]:
        """Returns by how much turns have added more to what some trees lead to than their part."""
        if not self._owners:
            return {}
        found = self._scales.weigh_by(self._owners, roots)
        return {doing: size - self._part for doing, size in found.items() if size > self._part}


def _sequence(record: Record) -> float:
    number = record.meta.get("sequence")
    return number if isinstance(number, (int, float)) else 0.0


# -- shedding
#
# Records, conversations and their rows of the ledger stay when files go, and in the end they alone
# are more than the bound. Of what has expired there go then, as far as it takes:
#
#     steps       what was captured in the middle of turns of which no files are left
#     turns       such turns themselves, and what stands alone, the oldest first
#     sessions    of which no files are left, with all that descends from them, in the same order
#
# Only what lost its files in an earlier prune goes. Never: what has a label, what another session
# begins at, what operations went to that can be undone, and the first and the newest turn of a
# session that stays. All of it is in the trash then, like what lost its files.


_EMPTY = 150 << 10
"""What a ledger takes without a row: a page for each table and each index."""


class Shed(Value):
    """What goes: single ``records``, and ``sessions`` whole."""

    records: frozenset[CheckpointId] = frozenset()
    sessions: tuple[SessionId, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.records or self.sessions)


class Load(Value):
    """What a store takes beside records: ``files`` of checkpoints that keep them, and the ``rest``,
    of which the ``ledger`` goes with its rows.
    """

    files: int
    rest: int
    ledger: int


class _Unit(Value):
    """What goes at once: records of a session, or without any all of it; ``last`` is the number of
    the newest of them.
    """

    last: int
    order: int
    session: SessionId
    records: tuple[CheckpointId, ...] = ()


def ledger_bytes(directory: str) -> int:
    """Returns what the rows of a store's ledger take, with what it has yet to take in."""
    total = 0
    for name in ("ledger.db", "ledger.db-wal"):
        try:
            total += os.stat(os.path.join(directory, name)).st_blocks * 512
        except OSError:
            continue
    return max(0, total - _EMPTY)


class Shedding:
    """Looks for what can be given up among all that ``found`` has."""

    def __init__(self, found: Inventory, upkeep: Upkeep) -> None:
        self._found = found
        self._upkeep = upkeep

    # -- what may go

    def steps(self) -> Shed:
        """Returns what was captured in the middle of turns of which no files are left."""
        needed = self._named() | self._joints()
        return Shed(
            frozenset(
                one.id
                for session in self._found.by_session
                for turn in self._expired_turns(session)
                for one in turn[1:-1]
                if one.kind in (ROUND, STEER) and one.id not in needed
            )
        )

    def everything(self) -> Shed:
        """Returns all that may go."""
        return _together(self._units())

    def still_able(self, wanted: Shed) -> Shed:
        """Returns what of something may go by what is there now."""
        if not wanted:
            return wanted
        units = self._units()
        able = {id for unit in units for id in unit.records} | self.steps().records
        sessions: list[SessionId] = []
        for unit in units:
            if unit.records or unit.session not in wanted.sessions:
                continue
            if not set(self._found.descendants(unit.session)).difference(sessions):
                sessions.append(unit.session)
        return Shed(wanted.records & able, tuple(sessions))

    def _units(self) -> list[_Unit]:
        """Returns all that may go, the oldest first.

        A session comes after its own turns and after those that descend from it.
        """
        named = self._named()
        needed = named | self._joints()
        found = []
        for session in self._found.by_session:
            for turn in self._expired_turns(session):
                ids = tuple(one.id for one in turn)
                if needed.isdisjoint(ids):  # a turn without its end would run for ever
                    found.append(_Unit(turn[-1].sequence, 0, session, ids))
        idle = {session for session in self._found.by_session if self._is_idle(session, named)}
        for session in idle:
            line = self._with_descendants(session)
            if idle.issuperset(line):
                last = max(map(self._last, line))
                found.append(_Unit(last, 1 + self._last(session) - self._first(session), session))
        return sorted(found, key=lambda unit: (unit.last, unit.order, unit.session))

    def _expired_turns(self, session: SessionId) -> Iterator[Sequence[Checkpoint]]:
        """Yields the turns of a session without files, and what stands alone, but not its ends.

        Those are what it begins with, and all from its newest turn on.
        """
        points = self._found.by_session[session]
        prompts = [at for at, one in enumerate(points) if one.kind == PROMPT]
        turns: dict[object, list[Checkpoint]] = {}
        for one in points[: prompts[-1] if prompts else 0]:
            alone = one.turn is None or one.kind == UNDO
            turns.setdefault(one.id if alone else one.turn, []).append(one)
        turns.pop(next(iter(turns), None), None)
        for turn in turns.values():
            if all(one.expired is not None for one in turn):
                yield turn

    def _is_idle(self, session: SessionId, named: Collection[str]) -> bool:
        points = self._found.by_session[session]
        return all(one.expired is not None and one.id not in named for one in points)

    def _named(self) -> set[str]:
        """Returns the checkpoints that somebody may ask for by their name.

        What has a label or came back from the trash lately, what an operation went to that can be
        undone, and where the files are since the newest one.
        """
        bounds, now = self._upkeep.bounds, self._upkeep.clock.now()
        found: set[str] = set()
        if bounds.keep_labelled:
            found.update(read_labels(self._upkeep.store))
        found.update(id for id, time in self._found.back.items() if time > now - bounds.grace)
        known = self._found.checkpoints.values()
        newest = max((one.sequence for one in known if one.kind != UNDO), default=0)
        for move in known_operations(self._upkeep.store):
            if not isinstance(move, Move):
                continue
            if move.sequence > newest or move.time > now - bounds.undo_grace:
                found.update(id for id in (move.target, move.before) if id is not None)
        return found

    def _joints(self) -> set[str]:
        """Returns the checkpoints at which something else begins or ends.

        A session, a command, or a turn that was left unfinished: what came next says so.
        """
        chains = self._found.chains.checkpoints.values()
        bases = (chain.base for chain in chains)
        found = {str(base.meta.get("id")) for base in bases if base is not None}
        for points in self._found.by_session.values():
            found.update(one.origin.checkpoint for one in points if one.origin is not None)
            for before, one in pairwise(points):
                if begins_a_turn(one) and one.kind != PROMPT:
                    found.add(before.id)
                if one.unfinished:
                    found.add(one.id)
        return found

    def _with_descendants(self, session: SessionId) -> list[SessionId]:
        line = [session]
        for one in line:
            line += [child for child in self._found.descendants(one) if child not in line]
        return line

    def _last(self, session: SessionId) -> int:
        return max((one.sequence for one in self._found.by_session[session]), default=0)

    def _first(self, session: SessionId) -> int:
        return min((one.sequence for one in self._found.by_session[session]), default=0)

    # -- how much of it has to go

    def enough(self, load: Load, scales: Scales, steps: Shed) -> Shed:
        """Returns what has to go beside ``steps`` for the rest to fit, with them."""
        upkeep, units = self._upkeep, self._units()

        def shed(number: int) -> Shed:
            some = _together(units[:number])
            return some.replace(records=steps.records | some.records)

        def left(number: int) -> int:
            return self._weigh(shed(number), load, scales)

        if not units or left(0) <= upkeep.bounds.max_bytes:
            return steps
        fixed = left(len(units))
        room = upkeep.room_beside(fixed)
        few, many = 1, len(units)
        while few < many:
            middle = (few + many) // 2
            if left(middle) - fixed <= room:
                many = middle
            else:
                few = middle + 1
        return shed(many)

    def freed(self, shed: Shed, scales: Scales) -> int:
        """Returns the bytes in the packs that some records take, with their conversations."""
        alone = Load(files=0, rest=0, ledger=0)
        return self._weigh(Shed(), alone, scales) - self._weigh(shed, alone, scales)

    def _weigh(self, gone: Shed, load: Load, scales: Scales) -> int:
        """Returns what a store takes without something."""
        records = [*self.records_without(gone)]
        spoken = {one.entries[CONVERSATION][1] for one in records if CONVERSATION in one.entries}
        whole = {one.id for session in gone.sessions for one in self._found.by_session[session]}
        lost = len(whole | gone.records)
        share = load.ledger * lost // max(1, len(self._found.checkpoints))
        packed = scales.records(records) + scales.weigh(spoken) + load.files
        return packed + load.rest - share

    def records_without(self, gone: Shed) -> Iterable[Record]:
        """Yields all records but those that go."""
        chains = self._found.chains
        for known in (chains.checkpoints, chains.local):
            for ref, chain in known.items():
                if session_of(ref) not in gone.sessions:
                    yield from (r for r in chain.records if r.meta.get("id") not in gone.records)


def _together(units: Iterable[_Unit]) -> Shed:
    found = [*units]
    records = frozenset(id for unit in found for id in unit.records)
    return Shed(records, tuple(unit.session for unit in found if not unit.records))
