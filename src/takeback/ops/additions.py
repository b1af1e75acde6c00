"""Additions: what each turn added to a store, by what was captured first while it ran.

    A's turn     ├──────────────┤                          all of it is A's doing
    B's turn            ├──────────────┤                   what came after A's end is B's
    by hand    x    x                      x               the middle one was made in A's turn

Turns of several sessions may run at once, and a model may invent some: what comes then is the
doing of the one that began first. What a turn's first checkpoint finds was there before, unless
the turn before it had not ended.
"""

from __future__ import annotations

from bisect import bisect_right

from takeback.model import turn as moments
from takeback.model.ids import SessionId
from takeback.ops.turn_states import is_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import MachineId
    from takeback.model.retention import Doing
    from takeback.store.records import Record
    from takeback.store.weight import Scales

    _Span = tuple[float, float, Doing]

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
