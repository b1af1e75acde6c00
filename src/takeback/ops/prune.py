"""Prune: checkpoints lose their files by the settings, or because a person names them.

    without the lock    everything is read, and decided about; where files are not enough to
                        hold max_bytes, also about records (ops/shedding.py)
    lock                what moved since is read; what became pinned meanwhile is kept
                        sessions written anew, what they were is in the trash (store/expiry.py)
                        the line of the log

Nothing is gone yet: after the grace the trash is emptied, and the space comes free when the store
is packed anew (ops/sweep.py).
"""

from __future__ import annotations

from takeback.errors import Command, NoSuchCheckpoint, Refused
from takeback.model import retention
from takeback.model.ids import new_operation_id
from takeback.model.operation import PRUNE, Pruned
from takeback.model.retention import Verdict
from takeback.model.value import Value
from takeback.ops.additions import Additions
from takeback.ops.failures import Translated
from takeback.ops.inventory import Inventory
from takeback.ops.save import BEFORE_TOOL
from takeback.ops.shedding import Load, Shed, Shedding, ledger_bytes
from takeback.ops.stock import Stock
from takeback.store import journal
from takeback.store.checkpoints import CONVERSATION, FILES
from takeback.store.disk import size_on_disk
from takeback.store.expiry import Rewriting, expired
from takeback.store.operations import write_operation
from takeback.store.sink import PackSink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from takeback.model.ids import CheckpointId, OperationId, SessionId
    from takeback.model.retention import Doing, Stored
    from takeback.ops.upkeep import Upkeep
    from takeback.store.locked import Locked
    from takeback.store.records import Record
    from takeback.store.weight import Scales


class Selection(Value):
    """What is to be pruned: by the settings, or only a session, all of it, or some checkpoints."""

    session: SessionId | None = None
    everything: bool = False
    checkpoints: tuple[CheckpointId, ...] = ()


BY_SETTINGS = Selection()


class Pruning(Value):
    """What a prune does, or would do.

    ``dropped`` and ``pinned`` are checkpoints with the reason, ``sessions`` those that go whole,
    ``for_room`` those of them that go because files alone are not enough for ``max_bytes``, and
    ``forgotten`` the checkpoints of other sessions that go altogether for the same reason.
    ``bytes`` come free when the trash is emptied. ``beside`` are those that single turns have added
    beyond their part and that cannot go: nothing goes for them. ``unread`` are sessions that do not
    read whole and are left alone. ``operation`` is the line of the log, None if nothing was done;
    ``earlier`` the line before it, where what turns had added beyond their part went by itself.
    """

    dropped: dict[CheckpointId, str]
    pinned: dict[CheckpointId, str]
    sessions: tuple[SessionId, ...] = ()
    for_room: tuple[SessionId, ...] = ()
    forgotten: tuple[CheckpointId, ...] = ()
    kept: int = 0
    bytes: int = 0
    beside: int = 0
    unread: Mapping[SessionId, str] = {}
    operation: OperationId | None = None
    earlier: OperationId | None = None

    @property
    def is_idle(self) -> bool:
        """True if nothing goes."""
        return not (self.dropped or self.sessions or self.forgotten)


class Prune:
    """One prune on its way: decided when it is made, carried out if it is asked to."""

    def __init__(
        self, upkeep: Upkeep, request: Selection = BY_SETTINGS, stock: Stock | None = None
    ) -> None:
        """``stock`` is what was read of the store before, if anything was."""
        self._upkeep = upkeep
        self._request = request
        self._now = upkeep.clock.now()
        self.stock = stock or Stock(upkeep.store)
        """What was read of the store, for whatever has to look at all of it next."""
        self._scales: Scales | None = None
        self._found = Inventory(upkeep.store, self._now, self.stock.chains())
        self._shedding = Shedding(self._found, upkeep)
        self._rest = 0
        self._said = 0
        self._beside = 0
        self._additions: Additions | None = None
        self._steps = Shed()
        self._bounds = upkeep.bounds.replace(max_bytes=self._room())
        self._verdict = self._decide()
        self._shed = self._decide_records()

    # -- deciding

    def _room(self) -> int:
        """Returns how many bytes files may take; 0, for no bound, if the store is small enough.

        Also if a person said what is to go: then nothing has to be weighed, which is a walk through
        all that is kept, the trash too.
        """
        most, size = self._upkeep.bounds.max_bytes, size_on_disk(self._upkeep.store).all
        if not most or self.is_named or size <= most:
            return 0
        self._said = said = self._beyond_in_conversations()
        stored = self._found.stored
        staying = retention.never_dropped(stored, self._upkeep.bounds, now=self._now)
        self._beside = sum(self._exceed(one for one in stored if one.id in staying).values())
        if self.is_by_settings and size - said - self._beside > most:
            self._steps = self._shedding.steps()
        records, scales = [*self._shedding.records_without(self._steps)], self._weighed()
        self._rest = self.stock.beside() - said
        rest = self._rest + scales.records(records) + scales.weigh(_conversations(records))
        return max(1, self._upkeep.room_beside(rest))

    def _beyond_in_conversations(self) -> int:
        """Returns the bytes of conversations that single turns have added beyond their part."""
        found = self._found
        records = [
            record for chain in found.chains.checkpoints.values() for record in chain.records
        ]
        part = self._upkeep.bounds.part
        self._additions = Additions(records, found.doings, self._weighed(), part)
        return sum(self._additions.beyond(_conversations(records)).values())

    def _exceed(self, left: Iterable[Stored]) -> dict[Doing, int]:
        return {} if self._additions is None else self._additions.beyond(self._roots(left))

    def _weighed(self) -> Scales:
        if self._scales is None:
            self._scales = self.stock.scales()
        return self._scales

    def _decide(self) -> Verdict:
        asked, stored = self._request, self._found.stored
        if asked.checkpoints:
            return self._named(asked.checkpoints)
        if asked.session is not None and asked.everything:
            all_of_it = [one.id for one in stored if one.session == asked.session]
            return self._named(all_of_it)
        found = retention.decide(
            stored, self._bounds, now=self._now, weigh=self._weigh, exceed=self._exceed
        )
        if asked.session is None:
            return found
        mine = {one.id for one in stored if one.session == asked.session}
        return Verdict(_among(found.pinned, mine), _among(found.dropped, mine))

    def _named(self, ids: Collection[CheckpointId]) -> Verdict:
        for id in ids:
            if id not in self._found.checkpoints:
                raise NoSuchCheckpoint(
                    f"there is no checkpoint {id}", hint=("all: ", Command("log", "--all"))
                )
        return retention.drop_named(self._found.stored, ids, self._bounds, now=self._now)

    def _weigh(self, left: Iterable[Stored]) -> int:
        return self._weighed().weigh(self._roots(left))

    def _roots(self, left: Iterable[Stored]) -> Iterable[bytes]:
        """Returns the trees of some checkpoints' files."""
        known, roots = self._found.checkpoints, set[str]()
        for one in left:
            roots.update(tree for tree in (one.snapshot, known[one.id].saved) if tree)
        return map(bytes.fromhex, roots)

    def _decide_records(self) -> Shed:
        """Says which records go because the store is too large although all files go that may.

        The steps of turns without files go first, before any files.
        """
        if not self._bounds.max_bytes or not self.is_by_settings:
            return Shed()
        dropped = self._verdict.dropped
        left = [one for one in self._found.stored if one.id not in dropped]
        ledger = ledger_bytes(self._upkeep.store.directory)
        load = Load(self._weigh(left) - self._beside, self._rest, ledger)
        return self._shedding.enough(load, self._weighed(), self._steps)

    def _whole(self, dropped: Collection[CheckpointId], shed: Shed) -> list[SessionId]:
        """Returns the sessions of which nothing is needed any more.

        Those that a person wants gone, those that nobody can go on with, and those that have to go
        for room. One that others descend from, or of which something is pinned, stays with what
        has expired.
        """
        asked, found = self._request, [*shed.sessions]
        for session, points in self._found.by_session.items():
            if session in found:
                continue
            if self._found.descendants(session):
                continue
            if any(one.expired is None and one.id not in dropped for one in points):
                continue
            wanted = asked.everything and session == asked.session
            too_old = self._bounds.max_age and points[-1].time < self._now - self._bounds.max_age
            swept = not asked.checkpoints and asked.session in (None, session)
            if wanted or (swept and too_old and self._found.is_dead(session)):
                found.append(session)
        return found

    @property
    def is_named(self) -> bool:
        """True if a person said what is to go."""
        return bool(self._request.checkpoints) or self._request.everything

    @property
    def is_by_settings(self) -> bool:
        """True if the settings alone say what goes, of all sessions."""
        return self._request == BY_SETTINGS

    def outlook(self) -> Pruning:
        """Returns what would be done; changes nothing."""
        made = self._decided()
        stored = self._found.stored
        left = [one for one in stored if one.id not in made.dropped]
        free = self._weigh(stored) - self._weigh(left) if made.dropped else 0
        if self._shed:
            free += self._shedding.freed(self._shed, self._weighed())
        return made.replace(bytes=free)

    def _decided(self) -> Pruning:
        """Returns what it would do, not weighed: that is a walk through all that is kept."""
        dropped, stored = self._verdict.dropped, self._found.stored
        sessions = self._whole(dropped, self._shed)
        return Pruning(
            dropped=dropped,
            pinned=self._verdict.pinned,
            sessions=tuple(sessions),
            for_room=self._shed.sessions,
            forgotten=tuple(sorted(self._outside(sessions, self._shed.records))),
            kept=sum(one.id not in dropped for one in stored),
            beside=self._beside + self._said,
            unread=self._found.unread,
        )

    # -- carrying out

    def carry_out(self, *, swept: bool = False) -> Pruning:
        """Takes the files off what was decided about, and is not pinned since.

        Raises InUse if the lock is not had in time. Refused if there is nothing left to drop of
        what a person named.
        """
        made = self._decided() if swept else self.outlook()
        if self.is_named and made.is_idle:
            raise refused(made)
        if made.is_idle:
            return made
        with self._upkeep.locked() as locked, Translated("the prune"):
            return self._under_lock(locked, made, swept=swept)

    def _under_lock(self, locked: Locked, made: Pruning, *, swept: bool) -> Pruning:
        if journal.exists(locked.store):
            raise Refused(
                "an operation was interrupted here, and may need what would go",
                hint=("finish it or roll it back first: ", Command("undo")),
            )
        self._found.look()
        there = {one.id for one in self._found.stored}
        pinned = self._pinned_now()
        dropped = {id: why for id, why in made.dropped.items() if id in there and id not in pinned}
        shed = self._shedding.still_able(self._shed)
        sessions = [one for one in self._whole(dropped, shed) if one in made.sessions]
        made = made.replace(
            dropped=dropped,
            sessions=tuple(sessions),
            for_room=tuple(one for one in made.for_room if one in sessions),
            forgotten=tuple(sorted(self._outside(sessions, shed.records))),
        )
        if made.is_idle:
            return made
        excess, others = _apart(made)
        earlier = None if excess.is_idle else self._write(locked, excess, swept=swept)
        if others.is_idle:
            return made.replace(operation=earlier)
        if earlier is not None:
            self._found.look()
        return made.replace(operation=self._write(locked, others, swept=swept), earlier=earlier)

    def _write(self, locked: Locked, made: Pruning, *, swept: bool) -> OperationId:
        """Takes the files off, with a line of the log and a part of the trash of its own."""
        operation = Pruned(
            id=new_operation_id(),
            kind=PRUNE,
            time=self._now,
            sequence=0,  # numbered when it is written
            machine=locked.machine,
            dropped=len(made.dropped),
            sessions=made.sessions,
            swept=swept,
            gone=self._numbers_of(made),
            forgotten=len(made.forgotten),
        )
        sink = PackSink(locked)
        try:
            self._rewrite(sink, operation.id, made)
            write_operation(sink, operation)
        except BaseException:
            sink.discard()
            raise
        return operation.id

    def _outside(
        self, sessions: Collection[SessionId], ids: Iterable[CheckpointId]
    ) -> list[CheckpointId]:
        """Returns those of some checkpoints that are not in one of some sessions."""
        return [id for id in ids if self._found.checkpoints[id].session not in sessions]

    def _numbers_of(self, made: Pruning) -> tuple[int, ...]:
        """Returns the numbers of all that agents made and that goes altogether."""
        found = [one for session in made.sessions for one in self._found.by_session[session]]
        found += [self._found.checkpoints[id] for id in made.forgotten]
        return tuple(sorted(one.sequence for one in found if one.agent is not None))

    def _pinned_now(self) -> dict[CheckpointId, str]:
        """Returns what must not go by what is there now, whole turns of it."""
        stored, asked = self._found.stored, self._request
        if asked.checkpoints or asked.everything:
            ids = [one.id for one in stored]
            free = retention.drop_named(stored, ids, self._bounds, now=self._now).dropped
            return {id: "" for id in ids if id not in free}
        return retention.never_dropped(stored, self._bounds, now=self._now)

    def _rewrite(self, sink: PackSink, trash: str, made: Pruning) -> None:
        found, dropped, forgotten = self._found, made.dropped, {*made.forgotten}
        rewriting = Rewriting(sink, found.chains)
        gone = {session: [one.id for one in found.by_session[session]] for session in made.sessions}
        replace = expired(dropped, self._now)
        for session in found.chains.parents_first():
            if session in gone:
                rewriting.drop(session)
                continue
            own = [one.id for one in found.by_session[session]]
            mine = [id for id in own if id in dropped or id in forgotten]
            rewriting.session(session, replace, without=forgotten)
            if mine:
                gone[session] = mine
                rewriting.local(session, self._still_saved(session, dropped))
        rewriting.finish(trash, self._now, gone, excess=_is_excess(made))

    def _still_saved(
        self, session: SessionId, dropped: Collection[CheckpointId]
    ) -> Callable[[Record], bool]:
        """Returns what tells which saved files a checkpoint that stays needs.

        Those saved with it, and those saved before a tool after it, of its own line of sessions.
        """
        found = self._found
        left = [one for one in found.stored if one.id not in dropped]
        trees = {found.checkpoints[one.id].saved for one in left}
        line = found.chains.line(session)
        first = min((one.sequence for one in left if one.line == line), default=None)

        def keep(record: Record) -> bool:
            if record.meta.get("type") == BEFORE_TOOL:
                return first is not None and record.number("sequence") > first
            files = record.entries.get(FILES)
            return files is None or files[1].hex() in trees

        return keep


def _conversations(records: Iterable[Record]) -> list[bytes]:
    return [one.entries[CONVERSATION][1] for one in records if CONVERSATION in one.entries]


def _apart(made: Pruning) -> tuple[Pruning, Pruning]:
    """Returns what turns had added beyond their part, and all else.

    That may have to leave the trash at once, and whatever is in one part of it with the rest.
    """
    excess = {id: why for id, why in made.dropped.items() if why == retention.EXCESS}
    others = {id: why for id, why in made.dropped.items() if id not in excess}
    return Pruning(dropped=excess, pinned={}), made.replace(dropped=others)


def _is_excess(made: Pruning) -> bool:
    """Tells whether all that goes was added by turns beyond their part."""
    only = not made.sessions and not made.forgotten
    return only and all(why == retention.EXCESS for why in made.dropped.values())


def _among(found: dict[CheckpointId, str], ids: set[CheckpointId]) -> dict[CheckpointId, str]:
    return {id: why for id, why in found.items() if id in ids}


def refused(made: Pruning) -> Refused:
    """Returns the error that says why nothing of what was named can go."""
    why = "; ".join(f"{id}: {reason}" for id, reason in made.pinned.items())
    if not why:
        return Refused("its files have expired already", hint="nothing was dropped")
    labelled = next((id for id, why in made.pinned.items() if why == retention.LABELLED), None)
    if labelled is None:
        return Refused(f"nothing of that can go: {why}", hint="nothing was dropped")
    hint = ("take the label off first: ", Command("label", labelled))
    return Refused(f"nothing of that can go: {why}", hint=hint)
