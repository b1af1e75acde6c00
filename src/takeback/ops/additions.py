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
from takeback.ops.turn_states import is_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import MachineId, SessionId
    from takeback.model.retention import Doing
    from takeback.store.records import Record
    from takeback.store.weight import Scales

    _Span = tuple[float, float, Doing]

_FOR_EVER = float("inf")


class Doings:
    """Which turn ran when something was captured, from all checkpoints of all sessions.

    ``at_work`` are the sessions whose newest turn is still running.
    """

    def __init__(
        self, sessions: Mapping[SessionId, Iterable[Checkpoint]], at_work: Iterable[SessionId] = ()
    ) -> None:
        still = set(at_work)
        found: dict[MachineId, list[_Span]] = {}
        for session, points in sessions.items():
            mine: dict[MachineId, list[Checkpoint]] = {}
            for one in points:
                if is_event(one):
                    mine.setdefault(one.machine, []).append(one)
            for machine, events in mine.items():
                found.setdefault(machine, []).extend(_spans(events, session in still))
        self._spans: dict[str, list[_Span]] = {
            machine: [*_one_by_one(spans)] for machine, spans in found.items()
        }

    def at(self, machine: str, sequence: float) -> Doing | None:
        """Returns the turn that ran then, its first checkpoint included; None without one."""
        spans = self._spans.get(machine, [])
        place = bisect_right(spans, sequence, key=_start) - 1
        return spans[place][2] if place >= 0 and sequence <= spans[place][1] else None

    def added_by(self, record: Record) -> Doing | None:
        """Returns the turn that added what a record keeps and none before it does."""
        number, machine = record.meta.get("sequence"), record.meta.get("machine")
        if not isinstance(number, int) or not isinstance(machine, str):
            return None
        if record.meta.get("kind") != moments.PROMPT:
            return self.at(machine, number)
        doing = self.at(machine, number)
        if doing != (record.meta.get("session"), record.meta.get("turn")):
            return doing
        return self.at(machine, number - 1) if record.meta.get("unfinished") else None


def _start(span: _Span) -> float:
    return span[0]


def _spans(events: Iterable[Checkpoint], goes_on: bool) -> Iterator[_Span]:
    """Yields from when to when each turn of a session ran."""
    first: Checkpoint | None = None
    last = 0
    for one in events:
        begins = one.kind == moments.PROMPT
        if first is not None and (begins or one.moment.phase == moments.IDLE):
            yield first.sequence, one.sequence - begins, (first.session, first.turn or 0)
            first = None
        if begins and one.moment.phase != moments.IDLE:
            first = one
        last = one.sequence
    if first is not None:
        yield first.sequence, _FOR_EVER if goes_on else last, (first.session, first.turn or 0)


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
