"""Repair: what a ledger must learn where chains were written anew and files have expired."""

from __future__ import annotations

from takeback.ledger import attribute, by_session, expired
from takeback.ledger import by_session as questions
from takeback.ledger import ledger as gaps
from takeback.ledger import lists as earlier
from takeback.ledger.attribute import (
    Attribution,
    Indexed,
    Spoilt,
    attempt,
    finds_its_edits,
    found_at,
    heard_in_time,
    named_by,
    own_what_came_back,
    path_words,
)
from takeback.ledger.expired import gap_before, heirs, position_of
from takeback.ledger.indexing import is_lost
from takeback.model import json_text
from takeback.model.checkpoint import Checkpoint
from takeback.model.entries import OwnedChange
from takeback.model.ids import CheckpointId
from takeback.model.value import Value
from takeback.store.namespace import machine_of, session_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from takeback.ledger.indexing import Waiting
    from takeback.ledger.ledger import Ledger
    from takeback.model.entries import Turn
    from takeback.model.operation import Pruned
    from takeback.store.store import Store


# -- removes checkpoints from the ledger, for a session that was rewritten without them


class Removed(Value):
    """A checkpoint that is gone: its position, and what had been found changed at it.

    ``turns`` are those that began before it or ended with it, and end elsewhere now.
    """

    id: CheckpointId
    position: int
    expired: bool
    changes: tuple[OwnedChange, ...]
    turns: tuple[str, ...]


def commits_of(ledger: Ledger, machine: str, session: str) -> dict[CheckpointId, str]:
    """Returns the checkpoints that a machine has of a session, each with its commit."""
    rows = ledger.rows(
        "select id, commit_id from checkpoints where machine = ? and session = ?", machine, session
    )
    return {CheckpointId(str(id)): str(commit) for id, commit in rows}


def snapshots_of(ledger: Ledger, machine: str, session: str) -> dict[str, str]:
    """Returns the checkpoints that a machine has of a session, each with its snapshot."""
    where = "where machine = ? and session = ?"
    rows = ledger.rows(f"select id, snapshot from checkpoints {where}", machine, session)
    return {str(id): str(snapshot) for id, snapshot in rows}


def set_commits(ledger: Ledger, commits: Mapping[str, str]) -> None:
    """Notes the new commits of checkpoints whose session was rewritten."""
    ledger.many(
        "update checkpoints set commit_id = ? where id = ?",
        [(commit, id) for id, commit in commits.items()],
    )


def remove(ledger: Ledger, ids: Iterable[CheckpointId]) -> list[Removed]:
    """Removes checkpoints with everything known about them, and ends turns at what is left."""
    removed = []
    for id in ids:
        ((position, session),) = ledger.rows(
            "select position, session from checkpoints where id = ?", id
        )
        ends = ledger.rows("select id from turns where ?1 in (before, after) and id != ?1", id)
        turns = tuple(str(turn) for (turn,) in ends)
        expired = bool(ledger.rows("select 1 from expired where id = ?", id))
        changes = tuple(ledger.changes(id))
        removed.append(Removed(id, int(str(position)), expired, changes, turns))
        for question in (
            "delete from checkpoints where id = ?1",
            "delete from uncounted where id = ?1",
            "delete from expired where id = ?1",
            "update changes set turn = null where turn = ?1",
            "delete from turns where id = ?1",
            "update turns set before = id where before = ?1",
        ):
            ledger.rows(question, id)
        ledger.rows(
            "update turns set after = coalesce((select id from checkpoints where session = ?2 "
            "and position < ?3 order by position desc limit 1), id) where after = ?1",
            id,
            session,
            position,
        )
        _settle_session(ledger, str(session))
    _forget_words(ledger, [one.id for one in removed])
    return removed


def _forget_words(ledger: Ledger, ids: Iterable[str], *, what: str = "") -> None:
    """Removes what can be searched for of checkpoints, in one pass: the words have no index."""
    named = json_text.dumps([*ids])
    ledger.rows(
        "delete from words where checkpoint in (select value from json_each(?1)) "
        "and (?2 = '' or what = ?2)",
        named,
        what,
    )


def turns_with_changes(ledger: Ledger, ids: Iterable[str]) -> list[CheckpointId]:
    """Returns the turns that own changes found at checkpoints, or begin or end at one of them."""
    rows = ledger.rows(
        "with ids as (select value as id from json_each(?1)) "
        "select turn from changes where turn is not null and checkpoint in (select id from ids) "
        "union select id from turns where before in (select id from ids) "
        "or after in (select id from ids)",
        json_text.dumps([*ids]),
    )
    return [CheckpointId(str(turn)) for (turn,) in rows]


def forget_changes(ledger: Ledger, ids: Sequence[CheckpointId]) -> None:
    """Removes what was found changed at checkpoints that stay."""
    for table, key in (("changes", "checkpoint"), ("uncounted", "id")):
        ledger.many(f"delete from {table} where {key} = ?", [(id,) for id in ids])
    _forget_words(ledger, ids, what="path")


def _settle_session(ledger: Ledger, session: str) -> None:
    """Updates a session's row to what is left of it; removes it if nothing is."""
    where = "from checkpoints where session = ?1 order by position"
    ledger.rows(
        f"update sessions set newest = coalesce((select id {where} desc limit 1), newest), "
        f"last = coalesce((select time {where} desc limit 1), last), "
        f"began = coalesce((select time {where} limit 1), began) where id = ?1",
        session,
    )
    ledger.rows(
        "delete from sessions where id = ?1 "
        "and not exists (select 1 from checkpoints where session = ?1)",
        session,
    )


def next_after(ledger: Ledger, position: int, machine: str) -> CheckpointId | None:
    """Returns the checkpoint that a machine made next; None if an operation came first, or none."""
    rows = ledger.rows(
        "select id, position, kind = 'fork' and origin is not null from checkpoints "
        "where position > ?1 and machine = ?2 union all "
        "select null, position, false from operations where position > ?1 and machine = ?2 "
        "order by position limit 1",
        position,
        machine,
    )
    if not rows or rows[0][0] is None or rows[0][2]:
        return None
    return CheckpointId(str(rows[0][0]))


def set_changes(ledger: Ledger, checkpoint: CheckpointId, changes: Iterable[OwnedChange]) -> None:
    """Replaces what was found changed at a checkpoint."""
    ledger.rows("delete from changes where checkpoint = ?", checkpoint)
    ledger.many(
        "insert into changes values (?,?,?,?,?,?,?,?)",
        [
            (checkpoint, c.path, c.kind, c.added, c.deleted, c.who, c.session, c.turn)
            for c in changes
        ],
    )


# -- refolding: what was found changed at a checkpoint is worked out again, as of when it was made
#
#         before   a1 ── a2 ── a3 ── a4       files of a2 and a3 expire: what was found at them is
#         now      a1 ── ·· ── ·· ── a4       found at a4, since the last state that is kept
#
# Which turns were open when a4 was made, and which tools named its paths later, is read from the
# ledger, so that the answer is the one that a ledger made anew gives. What depends on more than
# that raises TooInvolved, and then all of it is made anew.


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
        for one in by_session.returning(self._ledger):
            own_what_came_back(self._store, self._ledger, one)

    def forget(self, ids: Iterable[CheckpointId]) -> None:
        """Removes what was found changed at checkpoints."""
        ledger, forgotten = self._ledger, list(ids)
        turns = turns_with_changes(ledger, forgotten)
        forget_changes(ledger, forgotten)
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
        set_changes(ledger, heir.id, owned)
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
                then = attribute.reopened(then, heir)
            if attribute.is_open(then):
                found.append(then)
        return found

    def _at(self, turn: Turn, began: Checkpoint, position: int) -> Turn:
        return attribute.as_it_was(
            turn, began, earlier.followers(self._ledger, began, below=position)
        )

    def _turn_of(self, checkpoint: Checkpoint) -> CheckpointId | None:
        """Returns the turn that a checkpoint began or was part of."""
        if not attribute.is_event(checkpoint):
            return None
        if attribute.begins_a_turn(checkpoint):
            return checkpoint.id
        turn = earlier.newest_turn(self._ledger, checkpoint)
        began = None if turn is None else self._ledger.by_id(turn.id)
        if turn is None or began is None:
            return None
        then = self._at(turn, began, position_of(self._ledger, checkpoint.id))
        then = attribute.reopened(then, checkpoint)
        return turn.id if attribute.advanced(then, checkpoint) is not None else None

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


# -- rewritten: a session whose chain was rewritten costs the ledger that session, not everything
#
#         before   a1 - a2 - a3 - a4        a2 is gone: a3 and a4 are the same checkpoints, in
#         now      a1 - a3' - a4'           other commits
#
# What is gone is removed. What was found changed there is now found at the next checkpoint on
# that machine, of any session, and its author stays the same. Where a prune took files or whole
# sessions away, or brought them back, it is worked out again instead (ledger/repair.py): nothing
# but the store tells who did it. Where a prune took single checkpoints away for good, which it
# does only where all files that may go are not enough, the ledger is made anew: turns and late
# events around them mean something else without them.


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
            ids = commits_of(ledger, machine_of(ref), session_of(ref))
            found.update(waiting for waiting in chain if waiting.id in ids)
        return found

    def contradicts(self, ledger: Ledger) -> bool:
        """Tells whether a checkpoint holds other files now than the ledger has of it.

        No prune does that: somebody wrote into the store, and nothing in the ledger is believed.
        """
        for ref, chain in self._chains.items():
            held = snapshots_of(ledger, machine_of(ref), session_of(ref))
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
            before = commits_of(ledger, machine_of(ref), session_of(ref))
            kept = {one.id: one.commit.hex() for one in chain if one.id in before}
            gaps.forget_unread(ledger, ref)
            set_commits(ledger, kept)
            flipped += [
                self._read(one)
                for one in chain
                if one.id in kept and one.has_expired != (one.id in known)
            ]
            if not kept:
                _check_that_it_ended(ledger, session_of(ref))
            lost = [id for id in before if id not in kept]
            around |= expired.found_around(ledger, lost)
            gone = remove(ledger, lost)
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
                questions.move_turn(ledger, attribute.moved_to(turn, end))

    def _hand_on(self, ledger: Ledger, gone: Removed, machine: str) -> None:
        """Moves the changes of a checkpoint that is gone to the next one."""
        id = next_after(ledger, gone.position, machine)
        heir = None if id is None else ledger.by_id(id)
        if heir is None or heir.expired is not None:
            return
        old = ledger.state_before(heir)
        if old is None:  # the first of all has nothing to be compared with
            set_changes(ledger, heir.id, ())
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
        set_changes(ledger, heir.id, owned)
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
    if newest is not None and attribute.is_open(newest):
        raise TooInvolved


def _set_expired(ledger: Ledger, id: str, position: int, machine: str, *, it: bool) -> None:
    if it:
        expired.note_expired(ledger, id, position, machine)
    else:
        expired.forget_expired(ledger, id)
