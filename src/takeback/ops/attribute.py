"""Attribute: which turn a checkpoint belongs to, and who made each change found in it.

The fold goes over all checkpoints of a workspace in the order they were made, across sessions: what
is found changed at one of them happened since the one before it.

        nobody's turn was open         the person, outside
        this session's turn was open   the tool that names the path, else its shell or subagent
        another session's was open     that session
        several                        the tool that names the path, else unknown
        an operation was interrupted   that operation, see ``_of_the_interrupted``
        an agent went back by itself   that agent, see ``own_what_came_back``
        an agent's turn has expired    the tool that names the path, else unknown: what it did and
        since                          what the person did cannot be told apart any more
"""

from __future__ import annotations

from takeback.ledger import moments as earlier
from takeback.ledger import sessions as questions
from takeback.ledger import ways
from takeback.ledger.expired import Gap
from takeback.model import event as events
from takeback.model import turn as moments
from takeback.model.change import MODIFIED
from takeback.model.checkpoint import UNDO
from takeback.model.timeline import (
    COMMAND,
    INTERRUPTED,
    OUTSIDE,
    OWN_REWIND,
    PROMPTED,
    SHELL,
    SUBAGENT,
    TOOL,
    UNFINISHED,
    UNKNOWN,
    OwnedChange,
    Turn,
)
from takeback.model.value import Value
from takeback.ops import turn_states
from takeback.ops.beyond import edited
from takeback.store.held import Held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from takeback.ledger.ledger import Ledger
    from takeback.model.change import CountedChange
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId, SessionId
    from takeback.model.timeline import TurnKind
    from takeback.store.store import Store

_LOOKED_BACK = 20
"""More events of a session than wait at once."""


class Indexed(Value):
    """A checkpoint with its position, what changed since the last kept state, what has expired."""

    checkpoint: Checkpoint
    position: int
    changes: list[CountedChange]
    gap: Gap


class Fold:
    """Adds checkpoints to the ledger one by one, oldest first, and remembers the turns touched.

    Everything it depends on is in the ledger, so that another fold can continue where one ended.
    ``words`` is what can be searched for of them, yet to be added.
    """

    def __init__(self, ledger: Ledger, store: Store) -> None:
        self._ledger = ledger
        self._store = store
        self._root = store.location.root
        self.touched: dict[CheckpointId, None] = {}
        self.words: list[tuple[str, CheckpointId, str]] = []

    def add(self, found: Indexed) -> None:
        """Indexes a checkpoint with its changes and advances its session's turn."""
        checkpoint = found.checkpoint
        self._reopen(checkpoint)
        named = named_by(checkpoint, self._root)
        owned = self._owned(found) if found.changes else []
        self.touched.update({one.turn: None for one in owned if one.turn is not None})
        before = questions.session_by_id(self._ledger, checkpoint.session)
        self._add(checkpoint, found.position, owned)
        turn = self._move(checkpoint, before.newest if before is not None else None)
        if turn is not None and named:
            last = None if before is None else self._ledger.by_id(before.newest)
            since = None if last is None else heard_in_time(self._ledger, last)
            found_here = {change.path for change in found.changes}
            for path, tool in named.items():
                if finds_its_edits(checkpoint, self._root, path, found_here):
                    continue
                mine = OwnedChange(path, MODIFIED, None, None, tool, checkpoint.session, turn.id)
                lost = questions.claim(self._ledger, mine, since=since)
                self.touched.update(dict.fromkeys(lost))
        if checkpoint.follows:
            own_what_came_back(self._store, self._ledger, checkpoint)
        if checkpoint.prompt and checkpoint.kind != UNDO:
            self.words.append((checkpoint.prompt, checkpoint.id, "prompt"))
        self.words += path_words(checkpoint, found.changes)

    def _reopen(self, checkpoint: Checkpoint) -> None:
        newest = questions.newest_turn(self._ledger, checkpoint.session)
        if newest is not None:
            self._write(newest, turn_states.reopened(newest, checkpoint))

    def add_bare(self, found: Indexed) -> None:
        """Indexes a checkpoint with only what its own record says."""
        self._add(found.checkpoint, found.position, ())

    def _add(self, checkpoint: Checkpoint, position: int, changes: Sequence[OwnedChange]) -> None:
        self._ledger.add(checkpoint, position, changes)
        is_event = checkpoint.kind not in turn_states.NOT_EVENTS
        questions.note_session(self._ledger, checkpoint, event=is_event)

    def _owned(self, found: Indexed) -> list[OwnedChange]:
        checkpoint = found.checkpoint
        open_turns = questions.open_turns(self._ledger, checkpoint.machine)
        if checkpoint.left:  # its turn seemed to be over, and was not
            newest = questions.newest_turn(self._ledger, checkpoint.session)
            if newest is not None and not turn_states.is_open(newest):
                open_turns.append(newest)
        interrupted = self._of_the_interrupted(checkpoint, found.changes)
        return Attribution(found, self._root, open_turns).owned(besides=interrupted)

    def _of_the_interrupted(
        self, checkpoint: Checkpoint, changes: Sequence[CountedChange]
    ) -> set[bytes]:
        """Returns the paths that an interrupted operation changed, or that its roll-back restored.

        The first checkpoint after the interruption finds what the operation did before it was
        killed; from there on only others change files. One that was finished is in the log, and the
        comparison starts from its state; one that was rolled back is not, and the first checkpoint
        after it finds its paths once more.
        """
        before = questions.amid_of_the_newest(self._ledger)
        if checkpoint.amid is not None:
            return set() if before == checkpoint.amid else {change.path for change in changes}
        return questions.paths_of_the_interrupted(self._ledger, before) if before else set()

    def _move(self, checkpoint: Checkpoint, previous: CheckpointId | None) -> Turn | None:
        """Begins, advances or ends the turn that a checkpoint belongs to."""
        if not turn_states.is_event(checkpoint):
            return None
        newest = questions.newest_turn(self._ledger, checkpoint.session)
        if turn_states.begins_a_turn(checkpoint):
            if newest is not None:
                self._write(newest, turn_states.closed(newest, checkpoint))
            if checkpoint.kind == moments.PROMPT:
                return self._begin(checkpoint, PROMPTED, checkpoint.id)
            return self._begin(checkpoint, COMMAND, previous or checkpoint.id)
        moved = None if newest is None else turn_states.advanced(newest, checkpoint)
        if newest is not None and moved is not None:
            self._write(newest, moved)
        return moved

    def _begin(self, checkpoint: Checkpoint, kind: TurnKind, before: CheckpointId) -> Turn:
        turn = Turn(
            id=checkpoint.id,
            session=checkpoint.session,
            number=checkpoint.turn if kind == PROMPTED else None,
            kind=kind,
            prompt=checkpoint.prompt,
            native=checkpoint.turn_id,
            before=before,
            after=checkpoint.id,
            began=checkpoint.time,
            ended=checkpoint.time if kind == COMMAND else None,
            state=turn_states.STATES[checkpoint.moment.phase],
        )
        questions.add_turn(self._ledger, turn)
        self.touched[turn.id] = None
        return turn

    def _write(self, before: Turn, turn: Turn) -> None:
        if turn is not before:
            questions.move_turn(self._ledger, turn)
            self.touched[turn.id] = None


def own_what_came_back(store: Store, ledger: Ledger, checkpoint: Checkpoint) -> None:
    """Gives a session what came back when its agent went back by itself, as a checkpoint says.

    Only there is it known that it did. What was found changed before that turn is the agent's if it
    is just as it was at the place that the agent went back to; the rest is the person's. May be
    done again, when anything of that has changed.
    """
    turns = questions.turns(ledger, session=checkpoint.session)[::-1]
    went = ways.return_at(turns, checkpoint)
    if went is None:
        return
    there, here = ledger.by_id(went.left[0].before), ledger.by_id(went.turn.before)
    if here is None or here.expired is not None:
        return
    found = questions.by_nobody_between(ledger, went.left[-1].after, here.id)
    back = []
    if found and there is not None and there.expired is None:
        then, now = Held.of(store, there), Held.of(store, here)
        back = [(id, path) for id, path in found if then[path] == now[path]]
    questions.set_owner(ledger, set(found) - set(back), OUTSIDE, None)
    questions.set_owner(ledger, back, OWN_REWIND, checkpoint.session)


def path_words(
    checkpoint: Checkpoint, changes: Iterable[CountedChange | OwnedChange]
) -> list[tuple[str, CheckpointId, str]]:
    """Returns what can be searched for of a checkpoint's changes; nothing of an undo snapshot."""
    if checkpoint.kind == UNDO:
        return []
    return [(c.path.decode("utf-8", "replace"), checkpoint.id, "path") for c in changes]


def heard_in_time(ledger: Ledger, last: Checkpoint) -> CheckpointId | None:
    """Returns the newest checkpoint of a session, up to ``last``, that did not come late.

    A prompt that had to wait is recorded after what its turn has done meanwhile.
    """
    if not last.late:
        return last.id
    before = earlier.up_to(ledger, last, _LOOKED_BACK)
    in_time = (one for one in before if one.sequence < last.sequence and not one.late)
    return next((one.id for one in in_time), None)


def named_by(checkpoint: Checkpoint, root: bytes) -> dict[bytes, str]:
    """Returns the paths that the checkpoint's edit tools name, relative to the root."""
    below = root + b"/"
    return {
        path[len(below) :]: f"{TOOL} {tool}"
        for path, tool in edited(checkpoint, root)
        if path.startswith(below)
    }


def finds_its_edits(
    checkpoint: Checkpoint, root: bytes, path: bytes, changed: Collection[bytes]
) -> bool:
    """Tells whether all that its edit tools did to a path is what changed there at a checkpoint.

    One edit is in one capture. Of several an earlier capture may have some, and a checkpoint that
    came late may have found what others did since.
    """
    absolute = b"/".join((root, path))
    times = sum(one == absolute for one, _ in edited(checkpoint, root))
    return times == 1 and path in changed and not checkpoint.late


class Attribution:
    """Who made the changes found at one checkpoint, by the turns that were open then; pure."""

    def __init__(self, found: Indexed, root: bytes, open_turns: Sequence[Turn]) -> None:
        self._found = found
        self._checkpoint = found.checkpoint
        self._open_turns = open_turns
        session = found.checkpoint.session
        self._own = next((turn for turn in open_turns if turn.session == session), None)
        self._named = named_by(found.checkpoint, root)
        if self._own is not None:
            for one in found.gap.checkpoints:
                if one.session == session:
                    self._named = {**named_by(one, root), **self._named}

    def owned(self, *, besides: Collection[bytes] = ()) -> list[OwnedChange]:
        """Returns the changes with their authors; ``besides`` are an interrupted operation's."""
        workers = _at_work(self._found.gap, self._own)
        owned = []
        for change in self._found.changes:
            who, turn = INTERRUPTED, None
            if change.path not in besides:
                who, turn = self._who(change.path)
            session = turn.session if turn is not None else None
            if self._checkpoint.kind == moments.SHELL and turn is None:
                session = self._checkpoint.session
            if workers and change.path not in besides and change.path not in self._named:
                who, turn, session = UNKNOWN, None, _only(workers)
            id = turn.id if turn is not None else None
            counts = change.added, change.deleted
            owned.append(OwnedChange(change.path, change.kind, *counts, who, session, id))
        return owned

    def _who(self, path: bytes) -> tuple[str, Turn | None]:
        checkpoint, own, open_turns = self._checkpoint, self._own, self._open_turns
        if path in self._named and own is not None:
            return self._named[path], own
        if checkpoint.kind == moments.SHELL and len(open_turns) <= 1 and own in (None, *open_turns):
            return SHELL, None
        if not open_turns:
            return OUTSIDE, None
        if len(open_turns) > 1:
            return UNKNOWN, own if own is not None and checkpoint.tools else None
        turn = open_turns[0]
        if turn is not own:
            return UNKNOWN, turn
        if checkpoint.unfinished or checkpoint.stopped or checkpoint.left:
            return UNFINISHED, turn
        return _means(checkpoint), turn


def _at_work(gap: Gap, own: Turn | None) -> set[SessionId | None]:
    """Returns who may have changed files in a gap, beside the person; None for an operation.

    Nobody, if all that expired belongs to the turn that is still open, or was made by hand.
    """
    found: set[SessionId | None] = {None} if gap.operations else set()
    for one in gap.checkpoints:
        is_own = own is not None and one.session == own.session and one.turn == own.number
        if one.agent is not None and one.kind not in turn_states.NOT_EVENTS and not is_own:
            found.add(one.session)
    if found and own is not None:
        found.add(own.session)
    return found


def _only(sessions: set[SessionId | None]) -> SessionId | None:
    return next(iter(sessions)) if len(sessions) == 1 else None


def _means(checkpoint: Checkpoint) -> str:
    """Says what in a turn made a change if no tool names its path."""
    kinds = {tool.kind for tool in checkpoint.tools}
    if checkpoint.subagent is not None or events.SUBAGENT in kinds:
        return SUBAGENT
    if events.SHELL in kinds:
        return SHELL
    return UNKNOWN
