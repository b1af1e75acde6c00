"""Rewritten: a session whose chain was rewritten costs the ledger that session, not everything.

        before   a1 - a2 - a3 - a4        a2 is gone: a3 and a4 are the same checkpoints, in
        now      a1 - a3' - a4'           other commits

What is gone is removed. What was found changed there is now found at the next checkpoint on that
machine, of any session, and its author stays the same. Where a prune took files or whole sessions
away, or brought them back, it is worked out again instead (ops/refolding.py): nothing but the store
tells who did it. Where a prune took single checkpoints away for good, which it does only where all
files that may go are not enough, the ledger is made anew: turns and late events around them mean
something else without them.
"""

from __future__ import annotations

from takeback.ledger import expired, gaps, removal
from takeback.ledger import sessions as questions
from takeback.model.checkpoint import Checkpoint
from takeback.model.timeline import OwnedChange
from takeback.model.value import Value
from takeback.ops import turn_states
from takeback.ops.attempt import Spoilt, attempt
from takeback.ops.compare import found_at
from takeback.ops.indexing import is_lost
from takeback.ops.refolding import Refolding, TooInvolved
from takeback.store.namespace import machine_of, session_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from takeback.ledger.ledger import Ledger
    from takeback.ledger.removal import Removed
    from takeback.model.ids import CheckpointId
    from takeback.model.operation import Pruned
    from takeback.ops.backlog import Waiting
    from takeback.store.store import Store


class _Moved(Value):
    """The positions at which something is not what it was, and checkpoints to work out again."""

    positions: set[int]
    checkpoints: set[CheckpointId]


class Rewritten:
    """The refs that do not lead back to what the ledger has of them, each with all it has now.

    ``prunes`` are the lines of the log that the ledger does not know yet.
    """

    def __init__(
        self, store: Store, chains: Mapping[str, Sequence[Waiting]], prunes: Sequence[Pruned]
    ) -> None:
        self._store = store
        self._chains = chains
        self._prunes = prunes
        self._pruned = {session for one in prunes for session in one.sessions}

    def known(self, ledger: Ledger) -> set[Waiting]:
        """Returns what the ledger already has of them, even under another commit."""
        found: set[Waiting] = set()
        for ref, chain in self._chains.items():
            ids = removal.commits_of(ledger, machine_of(ref), session_of(ref))
            found.update(waiting for waiting in chain if waiting.id in ids)
        return found

    def contradicts(self, ledger: Ledger) -> bool:
        """Tells whether a checkpoint holds other files now than the ledger has of it.

        No prune does that: somebody wrote into the store, and nothing in the ledger is believed.
        """
        for ref, chain in self._chains.items():
            held = removal.snapshots_of(ledger, machine_of(ref), session_of(ref))
            if any(held.get(one.id, one.snapshot) != one.snapshot for one in chain):
                return True
        return False

    def settle(self, ledger: Ledger) -> dict[str, str | None]:
        """Updates the ledger to what is left of them; returns how far each is indexed then.

        Raises TooInvolved if all of it has to be made anew.
        """
        if self._chains and any(one.forgotten for one in self._prunes):
            raise TooInvolved
        tips: dict[str, str | None] = {}
        moved: set[int] = set()
        unread = bool(gaps.unread(ledger))
        known = expired.expired_ids(ledger) if self._chains else set()
        flipped: list[Checkpoint] = []
        around: set[CheckpointId] = set()
        for ref, chain in self._chains.items():
            before = removal.commits_of(ledger, machine_of(ref), session_of(ref))
            kept = {one.id: one.commit.hex() for one in chain if one.id in before}
            gaps.forget_unread(ledger, ref)
            removal.set_commits(ledger, kept)
            flipped += [
                self._read(one)
                for one in chain
                if one.id in kept and one.has_expired != (one.id in known)
            ]
            if not kept:
                _check_that_it_ended(ledger, session_of(ref))
            lost = [id for id in before if id not in kept]
            around |= expired.found_around(ledger, lost)
            gone = removal.remove(ledger, lost)
            for one in gone:
                self._end_turns(ledger, one)
                if one.expired or session_of(ref) in self._pruned:
                    moved.add(one.position)
                else:
                    self._hand_on(ledger, one, machine_of(ref))
            tips[ref] = next((one.commit.hex() for one in reversed(chain) if one.id in kept), None)
        self._refold(ledger, flipped, _Moved(moved, around), unread=unread)
        return tips

    def _read(self, waiting: Waiting) -> Checkpoint:
        try:
            point = attempt(lambda: waiting.point(self._store))
        except Spoilt as spoilt:
            raise TooInvolved from spoilt
        if not isinstance(point, Checkpoint) or point.amid is not None:
            raise TooInvolved
        return point

    def _refold(
        self, ledger: Ledger, flipped: Sequence[Checkpoint], concerned: _Moved, *, unread: bool
    ) -> None:
        """Works out again what depends on files that expired or came back, and on who is gone."""
        moved = concerned.positions
        numbers = [number for one in self._prunes for number in one.gone]
        expired.note_gone(ledger, numbers)
        for point in flipped:
            expired.set_record(ledger, point)
            position = expired.position_of(ledger, point.id)
            _set_expired(ledger, point.id, position, point.machine, it=point.expired is not None)
            moved |= {position, position + 1}
        ids = {point.id for point in flipped}
        lost = expired.expired_ids(ledger)
        for left in expired.operations_left(ledger, ids) if self._chains else ():
            now = is_lost(self._store, ledger, left.before, left.after)
            if now != (left.id in lost):
                _set_expired(ledger, left.id, left.position, left.machine, it=now)
                moved |= {left.position, left.position + 1}
        moved |= expired.positions_at(ledger, numbers)
        if not moved:
            return
        if unread:
            raise TooInvolved
        refolding = Refolding(self._store, ledger)
        refolding.forget([*ids])
        between = expired.made_between(ledger, numbers)
        refolding.refold(moved, [*between, *sorted(concerned.checkpoints)])

    def _end_turns(self, ledger: Ledger, gone: Removed) -> None:
        """Ends turns that ended with a checkpoint that is gone at their new last one."""
        gaps.note_unfolded(ledger, gone.turns)
        for id in gone.turns:
            turn = questions.turn_by_id(ledger, id)
            end = None if turn is None else ledger.by_id(turn.after)
            if turn is not None and end is not None:
                questions.move_turn(ledger, turn_states.moved_to(turn, end))

    def _hand_on(self, ledger: Ledger, gone: Removed, machine: str) -> None:
        """Moves the changes of a checkpoint that is gone to the next one."""
        id = removal.next_after(ledger, gone.position, machine)
        heir = None if id is None else ledger.by_id(id)
        if heir is None or heir.expired is not None:
            return
        old = ledger.state_before(heir)
        if old is None:  # the first of all has nothing to be compared with
            removal.set_changes(ledger, heir.id, ())
            return
        try:
            found = attempt(lambda: found_at(self._store, old, heir))
        except Spoilt:
            return
        own = [one for one in ledger.changes(heir.id) if one.who is not None]
        owners = {one.path: one for one in (*gone.changes, *own)}
        owned = [
            (owners.get(c.path) or OwnedChange(c.path, c.kind, None, None, None)).replace(
                kind=c.kind, added=None, deleted=None
            )
            for c in found
        ]
        owned = [_with_turn(ledger, one) for one in owned]
        removal.set_changes(ledger, heir.id, owned)
        gaps.note_unfolded(ledger, {one.turn for one in owned if one.turn is not None})
        gaps.note_uncounted(
            ledger, [gaps.Uncounted(heir.id, gaps.CHECKPOINT, old, heir.snapshot)] if owned else []
        )


def _with_turn(ledger: Ledger, change: OwnedChange) -> OwnedChange:
    """Returns a change without its turn if that is gone: it no longer owns anything."""
    if change.turn is None or questions.turn_by_id(ledger, change.turn) is not None:
        return change
    return change.replace(turn=None)


def _check_that_it_ended(ledger: Ledger, session: str) -> None:
    """Raises TooInvolved if a turn of a session that is gone was open for all that came later."""
    newest = questions.newest_turn(ledger, session)
    if newest is not None and turn_states.is_open(newest):
        raise TooInvolved


def _set_expired(ledger: Ledger, id: str, position: int, machine: str, *, it: bool) -> None:
    if it:
        expired.note_expired(ledger, id, position, machine)
    else:
        expired.forget_expired(ledger, id)
