"""Attribute: which turn a checkpoint belongs to, and who made each change found in it.

The fold goes over all checkpoints of a workspace in the order they were made, across sessions: what
is found changed at one of them happened since the one before it.

        nobody's turn was open         the person, outside
        this session's turn was open   the tool that names the path, else its shell or subagent
        another session's was open     that session
        several                        the tool that names the path, else unknown
        an operation was interrupted   that operation, see ``_of_the_interrupted``
        an agent's turn has expired    the tool that names the path, else unknown: what it did and
        since                          what the person did cannot be told apart any more
"""

from __future__ import annotations

from takeback.ledger import sessions as questions
from takeback.ledger.ledger import Gap
from takeback.model import event as events
from takeback.model import turn as moments
from takeback.model.change import MODIFIED
from takeback.model.checkpoint import MANUAL, UNDO
from takeback.model.timeline import (
    BACKGROUND,
    COMMAND,
    ENDED,
    INTERRUPTED,
    LEFT_UNFINISHED,
    OUTSIDE,
    PROMPTED,
    RUNNING,
    SHELL,
    SUBAGENT,
    TOOL,
    UNFINISHED,
    UNKNOWN,
    OwnedChange,
    Turn,
)
from takeback.model.value import Value
from takeback.ops.beyond import edited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.ledger.ledger import Ledger
    from takeback.model.change import CountedChange
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId, SessionId
    from takeback.model.timeline import TurnKind, TurnState

_LOOKED_BACK = 20
"""More events of a session than wait at once."""
_NOT_EVENTS = (MANUAL, UNDO, moments.FORK)
_STATES: dict[moments.Phase, TurnState] = {
    moments.RUNNING: RUNNING,
    moments.BACKGROUND: BACKGROUND,
    moments.IDLE: ENDED,
}


class Indexed(Value):
    """A checkpoint with its position, what changed since the last kept state, what has expired."""

    checkpoint: Checkpoint
    position: int
    changes: list[CountedChange]
    gap: Gap


class Fold:
    """Adds checkpoints to the ledger one by one, oldest first, and remembers the turns touched.

    Everything it depends on is in the ledger, so that another fold can continue where one ended.
    """

    def __init__(self, ledger: Ledger, root: bytes) -> None:
        self._ledger = ledger
        self._root = root
        self.touched: dict[CheckpointId, None] = {}

    def add(self, found: Indexed) -> None:
        """Indexes a checkpoint with its changes and advances its session's turn."""
        checkpoint = found.checkpoint
        self._reopen(checkpoint)
        named = self._named(checkpoint)
        owned = self._owned(found, named)
        before = questions.session_by_id(self._ledger, checkpoint.session)
        self._add(checkpoint, found.position, owned)
        self._index(checkpoint, found.changes)
        turn = self._move(checkpoint, before.newest if before is not None else None)
        if turn is not None and named:
            since = self._heard_in_time(before.newest) if before is not None else None
            for path, tool in named.items():
                mine = OwnedChange(path, MODIFIED, None, None, tool, checkpoint.session, turn.id)
                lost = questions.claim(self._ledger, mine, since=since)
                self.touched.update(dict.fromkeys(lost))

    def _heard_in_time(self, newest: CheckpointId) -> CheckpointId | None:
        """Returns the newest checkpoint of a session that did not come late.

        A prompt that had to wait is recorded after what its turn has done meanwhile.
        """
        last = self._ledger.by_id(newest)
        if last is None or not last.late:
            return newest
        earlier = self._ledger.checkpoints(session=last.session, limit=_LOOKED_BACK)
        in_time = (one for one in earlier if one.sequence < last.sequence and not one.late)
        return next((one.id for one in in_time), None)

    def _reopen(self, checkpoint: Checkpoint) -> None:
        """Reopens a turn that was closed as over, if its agent continues it."""
        if checkpoint.kind not in (moments.ROUND, moments.TURN_END) or checkpoint.unfinished:
            return
        newest = questions.newest_turn(self._ledger, checkpoint.session)
        left = newest is not None and newest.state == LEFT_UNFINISHED
        if newest is not None and left and newest.native == checkpoint.turn_id:
            self._write(newest.replace(state=RUNNING, ended=None))

    def add_bare(self, found: Indexed) -> None:
        """Indexes a checkpoint with only what its own record says."""
        self._add(found.checkpoint, found.position, ())

    def _add(self, checkpoint: Checkpoint, position: int, changes: Sequence[OwnedChange]) -> None:
        self._ledger.add(checkpoint, position, changes)
        questions.note_session(self._ledger, checkpoint, event=checkpoint.kind not in _NOT_EVENTS)

    def _named(self, checkpoint: Checkpoint) -> dict[bytes, str]:
        """Returns the paths that the checkpoint's edit tools name, relative to the root."""
        below = self._root + b"/"
        return {
            path[len(below) :]: f"{TOOL} {tool}"
            for path, tool in edited(checkpoint, self._root)
            if path.startswith(below)
        }

    def _owned(self, found: Indexed, named: dict[bytes, str]) -> list[OwnedChange]:
        checkpoint, changes, gap = found.checkpoint, found.changes, found.gap
        if not changes:
            return []
        open_turns = questions.open_turns(self._ledger, checkpoint.machine)
        own = next((t for t in open_turns if t.session == checkpoint.session), None)
        interrupted = self._of_the_interrupted(checkpoint, changes)
        for one in gap.checkpoints:
            if one.session == checkpoint.session and own is not None:
                named = {**self._named(one), **named}
        workers = _at_work(gap, own)
        owned = []
        for change in changes:
            who, turn = INTERRUPTED, None
            if change.path not in interrupted:
                who, turn = self._who(checkpoint, change.path, named, own, open_turns)
            session = turn.session if turn is not None else None
            if checkpoint.kind == moments.SHELL and turn is None:
                session = checkpoint.session
            if workers and change.path not in interrupted and change.path not in named:
                who, turn, session = UNKNOWN, None, _only(workers)
            owned.append(
                OwnedChange(
                    change.path,
                    change.kind,
                    change.added,
                    change.deleted,
                    who,
                    session,
                    turn.id if turn is not None else None,
                )
            )
        return owned

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

    def _who(
        self,
        checkpoint: Checkpoint,
        path: bytes,
        named: dict[bytes, str],
        own: Turn | None,
        open_turns: list[Turn],
    ) -> tuple[str, Turn | None]:
        if path in named and own is not None:
            return named[path], own
        if checkpoint.kind == moments.SHELL and len(open_turns) <= 1 and own in (None, *open_turns):
            return SHELL, None
        if not open_turns:
            return OUTSIDE, None
        if len(open_turns) > 1:
            return UNKNOWN, own if own is not None and checkpoint.tools else None
        turn = open_turns[0]
        if turn is not own:
            return UNKNOWN, turn
        if checkpoint.unfinished:
            return UNFINISHED, turn
        return _means(checkpoint), turn

    def _index(self, checkpoint: Checkpoint, changes: Sequence[CountedChange]) -> None:
        if checkpoint.prompt and checkpoint.kind != UNDO:
            questions.index_words(self._ledger, checkpoint.id, "prompt", checkpoint.prompt)
        if checkpoint.kind != UNDO:
            paths = [change.path.decode("utf-8", "replace") for change in changes]
            questions.index_words(self._ledger, checkpoint.id, "path", *paths)

    def _move(self, checkpoint: Checkpoint, previous: CheckpointId | None) -> Turn | None:
        """Begins, advances or ends the turn that a checkpoint belongs to."""
        if checkpoint.kind in _NOT_EVENTS or checkpoint.agent is None:
            return None
        newest = questions.newest_turn(self._ledger, checkpoint.session)
        is_open = newest is not None and newest.state in (RUNNING, BACKGROUND)
        if newest is not None and is_open and checkpoint.unfinished:
            state = LEFT_UNFINISHED if newest.state == RUNNING else ENDED
            self._write(newest.replace(after=checkpoint.id, ended=checkpoint.time, state=state))
        if checkpoint.kind == moments.PROMPT:
            return self._begin(checkpoint, PROMPTED, checkpoint.id)
        if checkpoint.kind == moments.SHELL:
            return self._begin(checkpoint, COMMAND, previous or checkpoint.id)
        if newest is None or not (is_open or checkpoint.kind == moments.TURN_END):
            return None
        if checkpoint.unfinished:
            return newest
        moved = moved_to(newest, checkpoint)
        self._write(moved)
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
            state=_STATES[checkpoint.moment.phase],
        )
        questions.add_turn(self._ledger, turn)
        self.touched[turn.id] = None
        return turn

    def _write(self, turn: Turn) -> None:
        questions.move_turn(self._ledger, turn)
        self.touched[turn.id] = None


def moved_to(turn: Turn, end: Checkpoint) -> Turn:
    """Returns a turn as it is at the last checkpoint that is known of it."""
    phase = end.moment.phase
    ended = end.time if phase != moments.RUNNING else None
    return turn.replace(after=end.id, ended=ended, state=_STATES[phase])


def _at_work(gap: Gap, own: Turn | None) -> set[SessionId | None]:
    """Returns who may have changed files in a gap, beside the person; None for an operation.

    Nobody, if all that expired belongs to the turn that is still open, or was made by hand.
    """
    found: set[SessionId | None] = {None} if gap.operations else set()
    for one in gap.checkpoints:
        is_own = own is not None and one.session == own.session and one.turn == own.number
        if one.agent is not None and one.kind not in _NOT_EVENTS and not is_own:
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
