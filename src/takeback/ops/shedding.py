"""Shedding: which records go when dropping files is not enough to hold ``max_bytes``.

Records, conversations and their rows of the ledger stay when files go, and in the end they alone
are more than the bound. Of what has expired there go then, as far as it takes:

    steps       what was captured in the middle of turns of which no files are left
    turns       such turns themselves, and what stands alone, the oldest first
    sessions    of which no files are left, with all that descends from them, in the same order

Only what lost its files in an earlier prune goes. Never: what has a label, what another session
begins at, what operations went to that can be undone, and the first and the newest turn of a
session that stays. All of it is in the trash then, like what lost its files.
"""

from __future__ import annotations

import os
from itertools import pairwise

from takeback.model.checkpoint import UNDO
from takeback.model.operation import Move
from takeback.model.turn import PROMPT, ROUND, STEER
from takeback.model.value import Value
from takeback.ops.turn_states import begins_a_turn
from takeback.store.checkpoints import CONVERSATION
from takeback.store.labels import read_labels
from takeback.store.namespace import session_of
from takeback.store.operations import known_operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId, SessionId
    from takeback.ops.inventory import Inventory
    from takeback.ops.upkeep import Upkeep
    from takeback.store.records import Record
    from takeback.store.weight import Scales

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
