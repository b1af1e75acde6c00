"""Refolding: what was found changed at a checkpoint is worked out again, as of when it was made.

        before   a1 ── a2 ── a3 ── a4       files of a2 and a3 expire: what was found at them is
        now      a1 ── ·· ── ·· ── a4       found at a4, since the last state that is kept

Which turns were open when a4 was made, and which tools named its paths later, is read from the
ledger, so that the answer is the one that a ledger made anew gives. What depends on more than that
raises TooInvolved, and then all of it is made anew.
"""

from __future__ import annotations

from takeback.ledger import gaps, removal, ways
from takeback.ledger import moments as earlier
from takeback.ledger import sessions as questions
from takeback.ledger.expired import gap_before, heirs, position_of
from takeback.ops import turn_states
from takeback.ops.attempt import Spoilt, attempt
from takeback.ops.attribute import (
    Attribution,
    Indexed,
    finds_its_edits,
    heard_in_time,
    named_by,
    own_what_came_back,
    path_words,
)
from takeback.ops.compare import found_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId
    from takeback.model.timeline import OwnedChange, Turn
    from takeback.store.store import Store

_BY_A_TOOL = "tool"


class TooInvolved(Exception):
    """Nothing less than all of the ledger has to be worked out again."""


class Refolding:
    """Works out checkpoints of a ledger again; the caller has a transaction open."""

    def __init__(self, store: Store, ledger: Ledger) -> None:
        self._store = store
        self._ledger = ledger
        self._root = store.location.root

    def refold(self, positions: Iterable[int], besides: Iterable[CheckpointId] = ()) -> None:
        """Refolds the checkpoints that inherit what happened at some positions, and others.

        Raises TooInvolved.
        """
        positions = [*positions]
        ids = dict.fromkeys([*heirs(self._ledger, positions).values(), *besides])
        for id in [*ids, *questions.at(self._ledger, positions)]:
            ids.update((one, None) for one in self._in_reach(id))
        found = [one for one in map(self._ledger.by_id, ids) if one is not None]
        kept = [one for one in found if one.expired is None]
        near = [*positions, *(self._position(one) for one in kept)]
        gaps.note_unfolded(self._ledger, questions.turns_over(self._ledger, near))
        changes = {one.id: self._changes(one) for one in kept}
        self.forget([one.id for one in kept])
        for one in kept:
            self._write(one, changes[one.id])
        for one in ways.returning(self._ledger):
            own_what_came_back(self._store, self._ledger, one)

    def forget(self, ids: Iterable[CheckpointId]) -> None:
        """Removes what was found changed at checkpoints."""
        ledger, forgotten = self._ledger, list(ids)
        turns = removal.turns_with_changes(ledger, forgotten)
        removal.forget_changes(ledger, forgotten)
        gaps.note_unfolded(ledger, turns)

    def _changes(self, heir: Checkpoint) -> list[OwnedChange]:
        ledger, position = self._ledger, position_of(self._ledger, heir.id)
        if heir.amid is not None or earlier.was_amid(ledger, position):
            raise TooInvolved
        old = ledger.state_before(heir)
        if old is None:  # the first of all has nothing to be compared with
            return []
        try:
            changes = attempt(lambda: found_at(self._store, old, heir))
        except Spoilt as spoilt:
            raise TooInvolved from spoilt
        if not changes:
            return []
        found = Indexed(heir, position, changes, gap_before(ledger, heir))
        owned = Attribution(found, self._root, self._open_turns(heir, position)).owned()
        return self._claimed(heir, owned, position)

    def _in_reach(self, id: CheckpointId) -> Iterator[CheckpointId]:
        """Yields where a checkpoint claims what its tools name, unless it finds that itself.

        With what it inherits it may find more; without its files it finds nothing.
        """
        claimant = self._ledger.by_id(id)
        if claimant is not None and claimant.tools:
            since, until = self._since(claimant), self._position(claimant)
            for path in named_by(claimant, self._root):
                yield from questions.where_changed(self._ledger, path, after=since, before=until)

    def _write(self, heir: Checkpoint, owned: list[OwnedChange]) -> None:
        ledger = self._ledger
        removal.set_changes(ledger, heir.id, owned)
        questions.index_words(ledger, path_words(heir, owned))
        gaps.note_unfolded(ledger, {one.turn for one in owned if one.turn is not None})
        old = ledger.state_before(heir)
        if owned and old is not None:
            row = gaps.Uncounted(heir.id, gaps.CHECKPOINT, old, heir.snapshot)
            gaps.note_uncounted(ledger, [row])

    # -- the turns at that moment

    def _open_turns(self, heir: Checkpoint, position: int) -> list[Turn]:
        """Returns the turns of its machine that were open when a checkpoint was made."""
        found = []
        for turn in earlier.newest_turns(self._ledger, position):
            began = self._ledger.by_id(turn.id)
            if began is None or began.machine != heir.machine:
                continue
            then = self._at(turn, began, position)
            if turn.session == heir.session:
                then = turn_states.reopened(then, heir)
            if turn_states.is_open(then):
                found.append(then)
        return found

    def _at(self, turn: Turn, began: Checkpoint, position: int) -> Turn:
        return turn_states.as_it_was(
            turn, began, earlier.followers(self._ledger, began, below=position)
        )

    def _turn_of(self, checkpoint: Checkpoint) -> CheckpointId | None:
        """Returns the turn that a checkpoint began or was part of."""
        if not turn_states.is_event(checkpoint):
            return None
        if turn_states.begins_a_turn(checkpoint):
            return checkpoint.id
        turn = earlier.newest_turn(self._ledger, checkpoint)
        began = None if turn is None else self._ledger.by_id(turn.id)
        if turn is None or began is None:
            return None
        then = self._at(turn, began, position_of(self._ledger, checkpoint.id))
        then = turn_states.reopened(then, checkpoint)
        return turn.id if turn_states.advanced(then, checkpoint) is not None else None

    # -- what tools said of it later

    def _claimed(
        self, heir: Checkpoint, owned: list[OwnedChange], position: int
    ) -> list[OwnedChange]:
        """Returns changes as those that tools named later claimed them (``questions.claim``)."""
        found = {one.path: one for one in owned}
        if all(_is_certain(one) for one in owned):
            return owned
        for checkpoint in sorted(self._claimants(heir, position), key=self._position):
            named = named_by(checkpoint, self._root)
            wanted = [
                found[path]
                for path in named
                if path in found
                and not _is_certain(found[path])
                and (found[path].session or "") != checkpoint.session
            ]
            here = self._changed_at(checkpoint) if wanted else set()
            wanted = [
                one for one in wanted if not finds_its_edits(checkpoint, self._root, one.path, here)
            ]
            turn = self._turn_of(checkpoint) if wanted else None
            if turn is not None:
                for one in wanted:
                    mine = one.replace(who=named[one.path], session=checkpoint.session, turn=turn)
                    found[one.path] = mine
        return [found[one.path] for one in owned]

    def _changed_at(self, checkpoint: Checkpoint) -> set[bytes]:
        """Returns what was found changed there, which may be about to be worked out again, too."""
        old = self._ledger.state_before(checkpoint)
        if old is None or checkpoint.expired is not None:
            return set()
        try:
            return {one.path for one in attempt(lambda: found_at(self._store, old, checkpoint))}
        except Spoilt as spoilt:
            raise TooInvolved from spoilt

    def _claimants(self, heir: Checkpoint, position: int) -> Iterator[Checkpoint]:
        """Yields what came later and may claim what was found at a position.

        A checkpoint claims what was found since its session was last heard of in time: the first
        one after the heir does, unless the heir is of its session, and the next ones only after
        those that came late.
        """
        for first in earlier.next_of_each_session(self._ledger, position):
            following = [first]
            if first.session == heir.session and self._since(first) >= position:
                continue
            while following:
                checkpoint = following[0]
                if checkpoint.tools:
                    yield checkpoint
                if not checkpoint.late:
                    break
                after = earlier.next_in_session(self._ledger, checkpoint)
                following = [one for one in after if self._since(one) < position]

    def _since(self, checkpoint: Checkpoint) -> int:
        last = earlier.previous(self._ledger, checkpoint)
        since = None if last is None else heard_in_time(self._ledger, last)
        return -1 if since is None else position_of(self._ledger, since)

    def _position(self, checkpoint: Checkpoint) -> int:
        return position_of(self._ledger, checkpoint.id)


def _is_certain(change: OwnedChange) -> bool:
    return change.who is not None and change.who.startswith(_BY_A_TOOL)
