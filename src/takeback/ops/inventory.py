"""The inventory: everything that is kept, in the form in which retention decides about it."""

from __future__ import annotations

import os

from takeback.errors import StoreDamaged
from takeback.model.checkpoint import UNDO
from takeback.model.operation import Pruned
from takeback.model.retention import Stored
from takeback.model.turn import IDLE
from takeback.ops.additions import Doings
from takeback.ops.processes import is_gone
from takeback.ops.running import is_at_work
from takeback.store.checkpoints import checkpoint_of
from takeback.store.labels import read_labels
from takeback.store.operations import known_operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId, SessionId
    from takeback.model.retention import Doing
    from takeback.store.chains import Chains
    from takeback.store.labels import Label
    from takeback.store.records import Record
    from takeback.store.store import Store


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
