"""Prune: checkpoints lose their files by the settings, or because a person names them.

    without the lock    everything is read, and decided about
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
from takeback.ops.failures import Translated
from takeback.ops.inventory import Inventory
from takeback.ops.save import BEFORE_TOOL
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
    from takeback.model.retention import Stored
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

    ``dropped`` and ``pinned`` are checkpoints with the reason, ``sessions`` those that go whole.
    ``bytes`` come free when the trash is emptied. ``unread`` are sessions that do not read whole
    and are left alone. ``operation`` is the line of the log, None if nothing was done.
    """

    dropped: dict[CheckpointId, str]
    pinned: dict[CheckpointId, str]
    sessions: tuple[SessionId, ...] = ()
    kept: int = 0
    bytes: int = 0
    unread: Mapping[SessionId, str] = {}
    operation: OperationId | None = None


class Prune:
    """One prune on its way: decided when it is made, carried out if it is asked to."""

    def __init__(
        self, upkeep: Upkeep, request: Selection = BY_SETTINGS, stock: Stock | None = None
    ) -> None:
        """``stock`` is what was read of the store before, if anything was."""
        self._upkeep = upkeep
        self._request = request
        self._now = upkeep.clock.now()
        self._stock = stock or Stock(upkeep.store)
        self._scales: Scales | None = None
        self._found = Inventory(upkeep.store, self._now, self._stock.chains())
        self._bounds = upkeep.bounds.replace(max_bytes=self._room())
        self._verdict = self._decide()

    # -- deciding

    def _room(self) -> int:
        """Returns how many bytes files may take; 0, for no bound, if the store is small enough."""
        most, disk = self._upkeep.bounds.max_bytes, size_on_disk(self._upkeep.store)
        if not most or disk.all <= most:
            return 0
        records, scales = [*self._found.chains.all_records()], self._weighed()
        spoken = [one.entries[CONVERSATION][1] for one in records if CONVERSATION in one.entries]
        rest = disk.all - disk.snapshots + scales.records(records) + scales.weigh(spoken)
        return max(1, self._upkeep.room_beside(rest))

    def _weighed(self) -> Scales:
        if self._scales is None:
            self._scales = self._stock.scales()
        return self._scales

    def _decide(self) -> Verdict:
        asked, stored = self._request, self._found.stored
        if asked.checkpoints:
            return self._named(asked.checkpoints)
        if asked.session is not None and asked.everything:
            all_of_it = [one.id for one in stored if one.session == asked.session]
            return self._named(all_of_it)
        found = retention.decide(stored, self._bounds, now=self._now, weigh=self._weigh)
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
        known, roots = self._found.checkpoints, set[str]()
        for one in left:
            roots.update(tree for tree in (one.snapshot, known[one.id].saved) if tree)
        return self._weighed().weigh(map(bytes.fromhex, roots))

    def _whole(self, dropped: Collection[CheckpointId]) -> list[SessionId]:
        """Returns the sessions of which nothing is needed any more.

        Those that a person wants gone, and those that nobody can go on with. One that others
        descend from, or of which something is pinned, stays with what has expired.
        """
        asked, found = self._request, []
        for session, points in self._found.by_session.items():
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

    def outlook(self) -> Pruning:
        """Returns what would be done; changes nothing."""
        made = self._decided()
        stored = self._found.stored
        left = [one for one in stored if one.id not in made.dropped]
        free = self._weigh(stored) - self._weigh(left) if made.dropped else 0
        return made.replace(bytes=free)

    def _decided(self) -> Pruning:
        """Returns what it would do, not weighed: that is a walk through all that is kept."""
        dropped, stored = self._verdict.dropped, self._found.stored
        return Pruning(
            dropped=dropped,
            pinned=self._verdict.pinned,
            sessions=tuple(self._whole(dropped)),
            kept=sum(one.id not in dropped for one in stored),
            unread=self._found.unread,
        )

    # -- carrying out

    def carry_out(self, *, swept: bool = False) -> Pruning:
        """Takes the files off what was decided about, and is not pinned since.

        Raises InUse if the lock is not had in time. Refused if there is nothing left to drop of
        what a person named.
        """
        made = self._decided() if swept else self.outlook()
        if self.is_named and not made.dropped and not made.sessions:
            raise refused(made)
        if not made.dropped and not made.sessions:
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
        sessions = [one for one in self._whole(dropped) if one in made.sessions]
        if not dropped and not sessions:
            return made.replace(dropped={}, sessions=())
        operation = Pruned(
            id=new_operation_id(),
            kind=PRUNE,
            time=self._now,
            sequence=0,  # numbered when it is written
            machine=locked.machine,
            dropped=len(dropped),
            sessions=tuple(sessions),
            swept=swept,
            gone=self._numbers_of(sessions),
        )
        sink = PackSink(locked)
        try:
            self._rewrite(sink, operation.id, dropped, sessions)
            write_operation(sink, operation)
        except BaseException:
            sink.discard()
            raise
        return made.replace(dropped=dropped, sessions=tuple(sessions), operation=operation.id)

    def _numbers_of(self, sessions: Iterable[SessionId]) -> tuple[int, ...]:
        """Returns the numbers of all that agents made in some sessions."""
        found = (one for session in sessions for one in self._found.by_session[session])
        return tuple(sorted(one.sequence for one in found if one.agent is not None))

    def _pinned_now(self) -> dict[CheckpointId, str]:
        """Returns what must not go by what is there now, whole turns of it."""
        stored, asked = self._found.stored, self._request
        if asked.checkpoints or asked.everything:
            ids = [one.id for one in stored]
            free = retention.drop_named(stored, ids, self._bounds, now=self._now).dropped
            return {id: "" for id in ids if id not in free}
        bounds = self._bounds.replace(max_bytes=0, max_snapshots=0)
        found = retention.decide(stored, bounds, now=self._now, weigh=lambda left: 0)
        return retention.with_their_turns(stored, found.pinned)

    def _rewrite(
        self,
        sink: PackSink,
        trash: str,
        dropped: Collection[CheckpointId],
        sessions: list[SessionId],
    ) -> None:
        found = self._found
        rewriting = Rewriting(sink, found.chains)
        gone = {session: [one.id for one in found.by_session[session]] for session in sessions}
        replace = expired(dropped, self._now)
        for session in found.chains.parents_first():
            if session in gone:
                rewriting.drop(session)
                continue
            mine = [one.id for one in found.by_session[session] if one.id in dropped]
            rewriting.session(session, replace)
            if mine:
                gone[session] = mine
                rewriting.local(session, self._still_saved(session, dropped))
        rewriting.finish(trash, self._now, gone)

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
