"""The backlog: what the refs have and the ledger lacks, in the order in which it happened.

        session A     a1 -- a3 -- a4 -- a7           sequence numbers are given across all
        session B        b2 -- -- -- b5              sessions and the operation log
        operations                      o6
        backlog       a1 b2 a3 a4 b5 o6 a7

It is indexed from its beginning in batches. After each one the ledger's tips are the last of each
ref in it, so the next process, after a kill or at the same time, continues right there.
"""

from __future__ import annotations

from itertools import pairwise

from takeback.ledger import gaps
from takeback.model.checkpoint import Checkpoint
from takeback.model.operation import Pruned
from takeback.ops.attempt import Spoilt, attempt
from takeback.store.checkpoints import checkpoint_of
from takeback.store.namespace import is_log, machine_of, session_of
from takeback.store.operations import operation_of
from takeback.store.records import read_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from takeback.model.operation import Operation
    from takeback.store.store import Store

    Place = tuple[int, str, float, str, int]
    """The order of a point, and how many of its parents stand at the very same one."""

BATCH = 150
"""How many points are indexed and committed at once: about half a second, a few MB."""
_HELD = 24000
"""How many points stay decoded until their turn, in 20 MB; of a longer backlog the oldest are read
twice."""


class Waiting:
    """One checkpoint or operation that is not indexed yet."""

    __slots__ = ("_point", "commit", "has_expired", "id", "order", "ref", "snapshot")

    def __init__(self, ref: str, commit: bytes, point: Checkpoint | Operation) -> None:
        self.ref = ref
        self.commit = commit
        self.id: str = point.id
        self.snapshot = point.snapshot if isinstance(point, Checkpoint) else None
        self.order: Place = (*point.order, 0)
        self.has_expired = isinstance(point, Checkpoint) and point.expired is not None
        self._point: Checkpoint | Operation | None = point

    def follow(self, before: Place) -> None:
        """Moves it after its own parent, whatever the numbers say."""
        if self.order <= before:
            self.order = (*before[:4], before[4] + 1)

    def let_go(self) -> None:
        self._point = None

    def point(self, store: Store) -> Checkpoint | Operation:
        return self._point or decoded(store, self.ref, self.commit)


def decoded(store: Store, ref: str, commit: bytes) -> Checkpoint | Operation:
    """Reads what a commit of a session or of the operation log describes."""
    record = read_record(store, commit)
    return operation_of(record) if is_log(ref) else checkpoint_of(record)


class Backlog:
    """What is new on some refs, and what of it is unreadable.

    ``points`` has the oldest last, which is where they are taken from. ``rewritten`` has the refs
    that do not lead back to what the ledger has of them, each with everything it has now, oldest
    first: nothing if it is gone.
    """

    def __init__(
        self,
        store: Store,
        tips: Mapping[str, bytes],
        known: Mapping[str, str],
        *,
        held: int = _HELD,
    ) -> None:
        self._store = store
        self._held = held
        self.unread: list[gaps.Unread] = []
        self.points: list[Waiting] = []
        self.rewritten: dict[str, list[Waiting]] = {ref: [] for ref in known if ref not in tips}
        for ref, tip in tips.items():
            if known.get(ref) != tip.hex():
                self._follow(ref, tip, known.get(ref))
        self.points.sort(key=lambda waiting: waiting.order, reverse=True)

    def _follow(self, ref: str, tip: bytes, indexed: str | None) -> None:
        """Adds what a ref has, from its newest back to what is indexed."""
        found: list[Waiting] = []
        commit: bytes | None = tip
        until = None if indexed is None else bytes.fromhex(indexed)
        while commit is not None and commit != until:
            waiting, parent, is_other = self._read(ref, commit)
            if is_other:  # its ancestors are indexed with that session
                commit = None
                break
            if waiting is not None:
                if len(self.points) + len(found) >= self._held:
                    waiting.let_go()
                found.append(waiting)
            elif self.unread[-1].stage == gaps.CHAIN:
                # What is beyond the damage cannot be reached from here. What the ledger has of it
                # was read when it was sound, and stays.
                commit = until
                break
            commit = parent
        found.reverse()
        if commit != until:
            self.rewritten[ref] = found
        for before, waiting in pairwise(found):
            waiting.follow(before.order)
        self.points += found

    def _read(self, ref: str, commit: bytes) -> tuple[Waiting | None, bytes | None, bool]:
        """Returns a commit's point, its parent, and whether it belongs to another session."""
        try:
            point, parents = attempt(lambda: self._decode(ref, commit))
        except Spoilt as spoilt:
            return None, self._pass_over(ref, commit, str(spoilt)), False
        is_other = machine_of(ref) != point.machine or (
            isinstance(point, Checkpoint) and session_of(ref) != point.session
        )
        parent = parents[0] if parents else None
        return Waiting(ref, commit, point), parent, is_other

    def _decode(self, ref: str, commit: bytes) -> tuple[Checkpoint | Operation, tuple[bytes, ...]]:
        record = read_record(self._store, commit)
        point = operation_of(record) if is_log(ref) else checkpoint_of(record)
        return point, record.commit.parents

    def _pass_over(self, ref: str, commit: bytes, reason: str) -> bytes | None:
        """Notes an unreadable record and returns the parent of its commit."""
        try:
            parents = attempt(lambda: self._store.commit(commit).parents)
        except Spoilt:
            self.unread.append(gaps.Unread(commit.hex(), ref, None, gaps.CHAIN, reason))
            return None
        self.unread.append(gaps.Unread(commit.hex(), ref, None, gaps.RECORD, reason))
        return parents[0] if parents else None

    def prunes(self) -> list[Pruned]:
        """Returns the prunes of it, as far as they read."""
        found = []
        for waiting in self.points:
            if is_log(waiting.ref):
                try:
                    found.append(attempt(lambda one=waiting: one.point(self._store)))  # type: ignore[misc]
                except Spoilt:
                    continue
        return [one for one in found if isinstance(one, Pruned)]

    def leave_out(self, known: set[Waiting]) -> None:
        """Takes out what the ledger has already."""
        self.points = [waiting for waiting in self.points if waiting not in known]

    def take(self, size: int) -> list[Waiting]:
        """Takes out the oldest: ``size`` of them, and all that share the last one's number."""
        batch: list[Waiting] = []
        while self.points and (len(batch) < size or self.points[-1].order[0] == batch[-1].order[0]):
            batch.append(self.points.pop())
        return batch

    def skip_to(self, now: Mapping[str, str], tips: dict[str, str]) -> bool:
        """Takes out what another process has indexed meanwhile; advances ``tips`` to ``now``.

        False if ``now`` is nowhere in the backlog.
        """
        while tips != now:
            if not self.points:
                return False
            done = self.points.pop()
            tips[done.ref] = done.commit.hex()
        return True
