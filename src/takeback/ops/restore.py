"""Restore: what was pruned comes back from the trash, as long as it is there."""

from __future__ import annotations

from takeback.errors import Command, NoSuchCheckpoint, Refused
from takeback.model.ids import CheckpointId, new_operation_id
from takeback.model.operation import PRUNE, Pruned
from takeback.model.value import Value
from takeback.ops.failures import Translated
from takeback.store.chains import Chains
from takeback.store.expiry import (
    Rewriting,
    all_trash,
    own_records,
    remove_trash,
    restored,
    unchanged,
)
from takeback.store.namespace import SESSIONS
from takeback.store.operations import write_operation
from takeback.store.sink import PackSink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from takeback.model.ids import SessionId
    from takeback.ops.upkeep import Upkeep
    from takeback.store.expiry import Trash
    from takeback.store.locked import Locked
    from takeback.store.store import Store

    Ids = Mapping[SessionId, Collection[CheckpointId]]


class Restored(Value):
    """What came back: the checkpoints, and the sessions that were gone whole."""

    checkpoints: tuple[CheckpointId, ...]
    sessions: tuple[SessionId, ...]
    operation: str


def find_trash(store: Store, name: str | None = None) -> tuple[Trash, CheckpointId | None]:
    """Returns the part of the trash that a name means, and the checkpoint if it is one's name.

    The newest without a name. Raises Refused if there is none, NoSuchCheckpoint for any other name.
    """
    there = all_trash(store)
    if not there:
        raise Refused(
            "the trash is empty", hint=("what was pruned: ", Command("log", "--operations"))
        )
    if name is None:
        return there[-1], None
    for trash in reversed(there):
        if trash.id == name:
            return trash, None
        if any(name in ids for ids in trash.dropped.values()):
            return trash, CheckpointId(name)
    listed = ", ".join(trash.id for trash in there)
    raise NoSuchCheckpoint(f"{name!r} is not in the trash", hint=f"there is {listed}")


def restore(upkeep: Upkeep, trash: Trash, only: Collection[CheckpointId] | None = None) -> Restored:
    """Gives the checkpoints of one prune their files back; ``only`` some of them if it says so."""
    wanted = {
        session: [id for id in ids if only is None or id in only]
        for session, ids in trash.dropped.items()
    }
    with upkeep.locked() as locked, Translated("the restore"):
        if all(one.id != trash.id for one in all_trash(upkeep.store)):
            raise Refused("that has left the trash meanwhile", hint="nothing was changed")
        restoring = _Restoring(locked, trash, wanted)
        return restoring.run(upkeep.clock.now(), all_of_it=only is None)


class _Restoring:
    def __init__(self, locked: Locked, trash: Trash, wanted: Ids) -> None:
        self._locked = locked
        self._trash = trash
        self._wanted = wanted
        self._chains = Chains(locked.store)
        self._sessions: list[SessionId] = []

    def run(self, now: float, *, all_of_it: bool) -> Restored:
        sink = PackSink(self._locked)
        rewriting = Rewriting(sink, self._chains)
        try:
            there = self._chains.parents_first()
            for session in there:
                self._bring_back(rewriting, session)
            for session, wanted in self._wanted.items():
                if wanted and session not in there and session not in self._chains.unread:
                    self._rejoin(rewriting, session)
            rewriting.finish("", now, {})
            done = Pruned(
                id=new_operation_id(),
                kind=PRUNE,
                time=now,
                sequence=0,  # numbered when it is written
                machine=self._locked.machine,
                restored=tuple(id for ids in self._wanted.values() for id in ids),
                sessions=tuple(self._sessions),
            )
            write_operation(sink, done)
        except BaseException:
            sink.discard()
            raise
        if all_of_it and not self._chains.unread:
            remove_trash(self._locked, self._trash)
        return Restored(done.restored, done.sessions, done.id)

    def _bring_back(self, rewriting: Rewriting, session: SessionId) -> None:
        """Gives what has expired in a session its files back."""
        wanted = self._wanted.get(session)
        if not wanted:
            rewriting.session(session, unchanged)
            return
        there = {record.meta.get("id") for record in self._chains.records_of(session)}
        if not there.intersection(self._had(session)):  # it went whole, and was gone on with since
            self._rejoin(rewriting, session)
            return
        if there.issuperset(wanted):
            rewriting.session(session, restored(self._locked.store, self._trash, session, wanted))
        else:
            rewriting.insert(session, self._trash, wanted)
        rewriting.rejoin_local(session, self._trash)

    def _had(self, session: SessionId) -> set[object]:
        """Returns the checkpoints that a session had when the prune began."""
        tips = [self._trash.tips[ref] for ref in self._trash.refs_of(session, SESSIONS)]
        found = (own_records(self._locked.store, tip, session) for tip in tips)
        return {record.meta.get("id") for records in found for record in records}

    def _rejoin(self, rewriting: Rewriting, session: SessionId) -> None:
        self._sessions.append(session)
        rewriting.rejoin(session, self._trash)
