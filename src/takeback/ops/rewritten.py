"""Rewritten: a session whose chain was rewritten costs the ledger that session, not everything.

        before   a1 - a2 - a3 - a4        a2 is gone: a3 and a4 are the same checkpoints, in
        now      a1 - a3' - a4'           other commits

What is gone is removed. What was found changed there is now found at the next checkpoint on that
machine, of any session, and its author stays the same.
"""

from __future__ import annotations

from takeback.ledger import gaps, removal
from takeback.ledger import sessions as questions
from takeback.model.timeline import OwnedChange
from takeback.ops.attempt import Spoilt, attempt
from takeback.ops.attribute import moved_to
from takeback.ops.compare import found_at
from takeback.store.namespace import machine_of, session_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from takeback.ledger.ledger import Ledger
    from takeback.ledger.removal import Removed
    from takeback.ops.backlog import Waiting
    from takeback.store.store import Store


class Rewritten:
    """The refs that do not lead back to what the ledger has of them, each with all it has now."""

    def __init__(self, store: Store, chains: Mapping[str, Sequence[Waiting]]) -> None:
        self._store = store
        self._chains = chains

    def known(self, ledger: Ledger) -> set[Waiting]:
        """Returns what the ledger already has of them, even under another commit."""
        found: set[Waiting] = set()
        for ref, chain in self._chains.items():
            ids = removal.commits_of(ledger, machine_of(ref), session_of(ref))
            found.update(waiting for waiting in chain if waiting.id in ids)
        return found

    def have_expired(self, ledger: Ledger) -> bool:
        """Tells whether checkpoints lost their files, or got them back.

        Then what changed is found elsewhere, and who did it cannot be told as before: all of it is
        read again, so that it is the same as in a new ledger.
        """
        known = ledger.expired()
        return any(
            waiting.has_expired != (waiting.id in known)
            for chain in self._chains.values()
            for waiting in chain
            if ledger.has_point(waiting.id)
        )

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
        """Updates the ledger to what is left of them; returns how far each is indexed then."""
        tips: dict[str, str | None] = {}
        for ref, chain in self._chains.items():
            before = removal.commits_of(ledger, machine_of(ref), session_of(ref))
            kept = {one.id: one.commit.hex() for one in chain if one.id in before}
            gaps.forget_unread(ledger, ref)
            removal.set_commits(ledger, kept)
            gone = removal.remove(ledger, [id for id in before if id not in kept])
            for one in gone:
                self._end_turns(ledger, one)
                self._hand_on(ledger, one, machine_of(ref))
            tips[ref] = next((one.commit.hex() for one in reversed(chain) if one.id in kept), None)
        return tips

    def _end_turns(self, ledger: Ledger, gone: Removed) -> None:
        """Ends turns that ended with a checkpoint that is gone at their new last one."""
        gaps.note_unfolded(ledger, gone.turns)
        for id in gone.turns:
            turn = questions.turn_by_id(ledger, id)
            end = None if turn is None else ledger.by_id(turn.after)
            if turn is not None and end is not None:
                questions.move_turn(ledger, moved_to(turn, end))

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
