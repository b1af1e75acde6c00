"""Prune: checkpoints lose their files by the settings, or because a person names them.

    without the lock    everything is read, and decided about; where files are not enough to
                        hold max_bytes, also about records (retention/shed.py)
    lock                what moved since is read; what became pinned meanwhile is kept
                        sessions written anew, what they were is in the trash (store/history.py)
                        the line of the log

Nothing is gone yet: after the grace the trash is emptied, and the space comes free when the store
is packed anew (retention/sweep.py).
"""

from __future__ import annotations

import os
import time

from takeback.capture.capture import BEFORE_TOOL
from takeback.context import Translated
from takeback.errors import Command, NoSuchCheckpoint, Refused, StoreDamaged
from takeback.model import retention
from takeback.model.checkpoint import UNDO
from takeback.model.ids import new_operation_id
from takeback.model.operation import PRUNE, Pruned
from takeback.model.retention import Bounds, Stored, Verdict
from takeback.model.turn import IDLE
from takeback.model.value import Value
from takeback.retention.shed import Additions, Doings, Load, Shed, Shedding, ledger_bytes
from takeback.store import journal
from takeback.store.history import Chains, Rewriting, all_trash, expired, trashed_records
from takeback.store.records import (
    CONVERSATION,
    FILES,
    checkpoint_of,
    known_operations,
    read_labels,
    write_operation,
)
from takeback.store.repack import size_on_disk
from takeback.store.sink import PackSink
from takeback.store.weight import Scales
from takeback.turns.processes import is_gone
from takeback.turns.running import is_at_work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId, OperationId, SessionId
    from takeback.model.retention import Doing
    from takeback.ports import Clock
    from takeback.store.lock import Locked, Locking
    from takeback.store.records import Label, Record
    from takeback.store.store import Store


# -- upkeep: what it takes to look after one store, whether its workspace is there or not


class Upkeep(Value):
    """A store and the rules it is kept by. ``wait`` is how long its lock may take, in seconds."""

    store: Store
    clock: Clock
    bounds: Bounds
    holder: str
    wait: float
    disk_floor: int = 0
    until: float | None = None
    """When a sweep has to end that has only so much time, by the clock that never goes back."""

    @property
    def is_in_time(self) -> bool:
        return self.until is None or time.monotonic() < self.until

    def room_beside(self, fixed: int) -> int:
        """Returns how many bytes there are for what can go, where so many others cannot.

        A little less than the bound leaves: or the next capture would be above it again, and each
        sweep would have to drop something.
        """
        return max(0, self.bounds.max_bytes - fixed) * 9 // 10

    def locked(self) -> Locking:
        """Returns a context manager that holds the lock; raises InUse."""
        return self.store.locked(self.holder, wait=self.wait)


# -- stock: what is in a store, read once for all that a sweep does with it
#
# Reading every record takes longer than anything else in a sweep. A record never changes, so that
# only what came since is read when the stock is looked at again.


class Stock:
    """The chains and the weights of one store, up to date whenever they are asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._chains: Chains | None = None
        self._scales: Scales | None = None

    def chains(self) -> Chains:
        """Returns all chains; raises StoreDamaged if a ref does not read."""
        if self._chains is None:
            self._chains = Chains(self._store)
        else:
            self._chains.refresh()
        return self._chains

    def beside(self) -> int:
        """Returns what a store takes of its disk beside its checkpoints and its trash.

        The ledger, refs and caches, the operation log, and what nothing leads to any more.
        """
        chains, scales = self.chains(), self.scales()
        records = [*chains.all_records()]
        for trash in all_trash(self._store):
            records += trashed_records(self._store, trash, chains)
        trees = {tree for record in records for tree in record.trees()}
        known = scales.records(records) + scales.weigh(trees)
        return max(0, size_on_disk(self._store).all - known)

    def scales(self) -> Scales:
        """Returns scales that know the packs as they are now."""
        if self._scales is None:
            self._scales = Scales(self._store)
        else:
            self._scales.look_again()
        return self._scales


# -- the inventory: everything that is kept, in the form in which retention decides about it


class Inventory:
    """What the refs lead to; ``look`` again under the lock sees what came since.

    ``checkpoints`` has all that read, those whose files have expired too; ``stored`` those that
    have theirs; ``doings`` knows which turns ran when; ``back`` says when some came back from the
    trash; ``unread`` are the sessions that do not read whole, and are left alone. Raises
    StoreDamaged if a ref does not read: nobody knows what it leads to.
    """

    def __init__(self, store: Store, now: float, chains: Chains) -> None:
        self._store = store
        self._now = now
        self._decoded: dict[bytes, Checkpoint] = {}
        self.chains = chains
        self._take_stock()

    def look(self) -> None:
        """Looks again: what came since is read, what is gone is forgotten."""
        self.chains.refresh()
        self._take_stock()

    def _take_stock(self) -> None:
        self.checkpoints: dict[CheckpointId, Checkpoint] = {}
        self.by_session: dict[SessionId, list[Checkpoint]] = {}
        for session in self.chains.sessions():
            try:
                found = [self._checkpoint(record) for record in self.chains.records_of(session)]
                found.sort(key=lambda one: one.order)
            except StoreDamaged as error:
                self.chains.leave_out(session, error.message)
                continue
            self.by_session[session] = found
            self.checkpoints.update((one.id, one) for one in found)
        labels = read_labels(self._store)
        self.back = _brought_back(self._store)
        self._parents = {session: self.chains.parent(session) for session in self.by_session}
        lines = {session: self.chains.line(session) for session in self.by_session}
        running = {s: self._running_turn(found) for s, found in self.by_session.items()}
        at_work = [session for session, turn in running.items() if turn is not None]
        self.doings = Doings(self.by_session, at_work)
        last = max((one.sequence for one in self.checkpoints.values() if _has(one)), default=0)
        doings = {
            one.id: self.doings.of(one.machine, one.sequence, session=session, by=one.asked_by)
            for session, found in self.by_session.items()
            for one in filter(_has, found)
        }
        self.stored = [
            Stored(
                id=one.id,
                session=session,
                line=lines[session],
                kind=one.kind,
                time=max(one.time, self.back.get(one.id, 0.0)),
                sequence=one.sequence,
                snapshot=one.snapshot,
                turn=one.turn,
                doing=doings[one.id],
                labelled=_counts(labels.get(one.id), doings[one.id]),
                running=one.kind != UNDO and running[session] == (one.turn or 0),
                newest=one is found[-1],
                here=one.sequence == last,
            )
            for session, found in self.by_session.items()
            for one in filter(_has, found)
        ]

    @property
    def unread(self) -> dict[SessionId, str]:
        return self.chains.unread

    def _checkpoint(self, record: Record) -> Checkpoint:
        if record.oid not in self._decoded:
            self._decoded[record.oid] = checkpoint_of(record)
        return self._decoded[record.oid]

    def _running_turn(self, found: list[Checkpoint]) -> int | None:
        """Returns the number of a session's turn that an agent is working on, None without one."""
        newest = found[-1] if found else None
        if newest is None or newest.moment.phase == IDLE:
            return None
        return newest.turn or 0 if is_at_work(newest, newest.time, self._now) else None

    def descendants(self, session: SessionId) -> list[SessionId]:
        """Returns the sessions that begin at a checkpoint of another one."""
        return [one for one, parent in self._parents.items() if parent == session]

    def is_dead(self, session: SessionId) -> bool:
        """Tells whether an agent's session cannot be gone on with: transcript and agent are gone.

        One whose transcript is not a file of its own is never known to be gone.
        """
        found = self.by_session[session]
        newest = found[-1]
        parts = next((one.transcript for one in reversed(found) if one.transcript), ())
        if newest.agent is None or not parts or not all(part.path for part in parts):
            return False
        if newest.process is not None and not is_gone(newest.process):
            return False
        return not any(os.path.lexists(part.path) for part in parts)


def _has(checkpoint: Checkpoint) -> bool:
    return checkpoint.expired is None


def _counts(label: Label | None, doing: Doing | None) -> bool:
    """Tells whether a label keeps files: a model's keeps nothing that was made in a turn."""
    return label is not None and (label.agent is None or doing is None)


def _brought_back(store: Store) -> dict[str, float]:
    """Returns when checkpoints were last brought back from the trash: they count as new again."""
    found: dict[str, float] = {}
    for operation in known_operations(store):
        if isinstance(operation, Pruned):
            found.update(dict.fromkeys(operation.restored, operation.time))
    return found


# -- prune
#
#     without the lock    everything is read, and decided about; where files are not enough to
#                         hold max_bytes, also about records (retention/shed.py)
#     lock                what moved since is read; what became pinned meanwhile is kept
#                         sessions written anew, what they were is in the trash (store/history.py)
#                         the line of the log
#
# Nothing is gone yet: after the grace the trash is emptied, and the space comes free when the store
# is packed anew (retention/sweep.py).


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
