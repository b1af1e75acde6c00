"""Attribute: which turn a checkpoint belongs to, what changed in it, and who made each change."""

from __future__ import annotations

import os
import time

from takeback.errors import GitUnusable, LedgerDamaged, LedgerUnwritable, TakebackError, TimedOut
from takeback.git.diff import BINARY, numstat
from takeback.ledger import by_session as questions
from takeback.ledger import by_session as ways
from takeback.ledger import ledger as gaps
from takeback.ledger import lists as earlier
from takeback.ledger.expired import Gap
from takeback.model import event as events
from takeback.model import turn as moments
from takeback.model.checkpoint import ADDED, DELETED, MANUAL, MODIFIED, UNDO, CountedChange
from takeback.model.coverage import LET_GO
from takeback.model.entries import (
    BACKGROUND,
    COMMAND,
    ENDED,
    INTERRUPTED,
    LEFT_UNFINISHED,
    OUTSIDE,
    OWN_REWIND,
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
from takeback.model.path_text import to_bytes
from takeback.model.value import Value
from takeback.store import trees
from takeback.store.records import read_coverage
from takeback.store.trees import Held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from takeback.git.diff import Lines
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Change, Checkpoint
    from takeback.model.ids import CheckpointId, SessionId
    from takeback.model.row import TurnKind, TurnState
    from takeback.store.store import Store
    from takeback.worktree.workspace import Workspace

    Pair = tuple[bytes, bytes]
    T = TypeVar("T")

# -- turn states: what a checkpoint of its session makes of a turn; pure, it asks no ledger


_OPEN = (RUNNING, BACKGROUND)
_BEGINNINGS = (moments.PROMPT, moments.SHELL)
NOT_EVENTS = (MANUAL, UNDO, moments.FORK)
STATES: dict[moments.Phase, TurnState] = {
    moments.RUNNING: RUNNING,
    moments.BACKGROUND: BACKGROUND,
    moments.IDLE: ENDED,
}


def is_event(checkpoint: Checkpoint) -> bool:
    """Tells whether an agent's event made a checkpoint: only those move turns."""
    return checkpoint.kind not in NOT_EVENTS and checkpoint.agent is not None


def begins_a_turn(checkpoint: Checkpoint) -> bool:
    return is_event(checkpoint) and checkpoint.kind in _BEGINNINGS


def is_open(turn: Turn) -> bool:
    return turn.state in _OPEN


def reopened(turn: Turn, checkpoint: Checkpoint) -> Turn:
    """Returns a turn that was closed as over as running again, if its agent continues it."""
    continues = checkpoint.kind in (moments.ROUND, moments.TURN_END) and not checkpoint.unfinished
    if (
        continues
        and not checkpoint.left
        and turn.state == LEFT_UNFINISHED
        and turn.native == checkpoint.turn_id
    ):
        return turn.replace(state=RUNNING, ended=None)
    return turn


def closed(turn: Turn, checkpoint: Checkpoint) -> Turn:
    """Returns an open turn as left unfinished, if that is what a checkpoint says."""
    if not is_open(turn) or not checkpoint.unfinished:
        return turn
    cut = checkpoint.stopped or turn.state == RUNNING
    state = LEFT_UNFINISHED if cut else ENDED
    return turn.replace(after=checkpoint.id, ended=checkpoint.time, state=state)


def advanced(turn: Turn, checkpoint: Checkpoint) -> Turn | None:
    """Returns a turn after an event that begins no other; None if the event is not part of it."""
    if not is_open(turn) and checkpoint.kind != moments.TURN_END:
        return None
    return closed(turn, checkpoint) if checkpoint.unfinished else moved_to(turn, checkpoint)


def moved_to(turn: Turn, end: Checkpoint) -> Turn:
    """Returns a turn as it is at the last checkpoint that is known of it."""
    phase = end.moment.phase
    ended = end.time if phase != moments.RUNNING else None
    cut = end.stopped and phase == moments.IDLE
    state = LEFT_UNFINISHED if cut else STATES[phase]
    return turn.replace(after=end.id, ended=ended, state=state)


def as_it_was(turn: Turn, began: Checkpoint, followed: Iterable[Checkpoint]) -> Turn:
    """Returns a turn as it was after some checkpoints of its session that followed its first."""
    now = turn.replace(state=STATES[began.moment.phase], after=began.id)
    for checkpoint in followed:
        now = reopened(now, checkpoint)
        if is_event(checkpoint):
            now = advanced(now, checkpoint) or now
    return now


# -- counts lines: a decoration, for which only a person looking at the numbers waits
#
# Which paths changed is known without it. What is shown is counted in pieces, each within its time,
# and all within a budget; what takes longer than a person would wait gets no numbers, like a binary
# file. No operation that changes anything comes here.


class Limits(Value):
    """How long counting may take, in seconds: ``patience`` for one pair, ``budget`` for all."""

    pairs: int = 256
    """How many pairs one git process counts: it takes 4 ms to start and 0.1 ms for a small pair."""
    patience: float = 2.0
    budget: float = 10.0


LIMITS = Limits()


def lines_between(store: Store, old: bytes, new: bytes, *, limits: Limits = LIMITS) -> Lines:
    """Returns path -> (lines added, deleted); empty if that takes too long or cannot be read."""
    return next((lines or {} for _, lines in _counted_lines(store, [(old, new)], limits)), {})


def count_lines(
    store: Store, ledger: Ledger, ids: Sequence[str], *, limits: Limits = LIMITS
) -> None:
    """Counts what is not counted yet of these checkpoints and turns, in their order.

    What does not fit into the budget is left for the next time. A pair that is not counted in its
    time is not tried again. Nothing is counted of a ledger that is held: it could not be kept.
    """
    if ledger.is_held:
        return
    rows: dict[Pair, list[gaps.Uncounted]] = {}
    for row in gaps.uncounted(ledger, ids):
        rows.setdefault((bytes.fromhex(row.old), bytes.fromhex(row.new)), []).append(row)
    answers = []
    for pair, lines in _counted_lines(store, list(rows), limits):
        answers += [(row, lines) for row in rows[pair]]
        if len(answers) >= limits.pairs:
            _keep(ledger, answers)
            answers = []
    _keep(ledger, answers)


def _keep(ledger: Ledger, answers: list[tuple[gaps.Uncounted, Lines | None]]) -> None:
    if not answers:
        return
    try:
        ledger.begin()
        for row, lines in answers:
            known = {path: n for path, n in (lines or {}).items() if n != BINARY}
            gaps.set_lines(ledger, row, known)
        ledger.commit()
    except LedgerUnwritable:  # they are counted again when there is room
        ledger.rollback()
    except BaseException:
        ledger.rollback()
        raise


def _counted_lines(
    store: Store, pairs: Sequence[Pair], limits: Limits
) -> Iterator[tuple[Pair, Lines | None]]:
    """Yields pairs with their lines, None for one without an answer, until the time is up."""
    deadline = time.monotonic() + limits.budget
    start, size = 0, limits.pairs
    while start < len(pairs):
        left = deadline - time.monotonic()
        piece = pairs[start : start + size]
        try:
            answers = numstat(store.git, piece, timeout=min(limits.patience, left))
        except GitUnusable:  # what needs git reports it; this can do without
            return
        yield from zip(piece, answers, strict=False)
        start += len(answers)
        if len(answers) == len(piece):
            size = limits.pairs
        elif answers:
            size = 1  # the one that git stopped at gets all the time for itself
        elif left >= limits.patience:
            yield pairs[start], None
            start += 1
            size = limits.pairs
        else:
            return


# -- compares two snapshots: which paths, and what happened to each


def changed(store: Store, old: bytes, new: bytes) -> list[CountedChange]:
    """Returns what changed from one tree to another, without counting lines or asking git.

    The list is ours, because git sees neither permission bits nor empty directories.
    """
    return counted(list(trees.diff(store, old, new)), {})


def found_at(store: Store, old: str, checkpoint: Checkpoint) -> list[CountedChange]:
    """Returns what changed from a snapshot to a checkpoint, without counting lines.

    What the settings began to leave out was not deleted: it is there and not looked at any more.
    """
    found = changed(store, bytes.fromhex(old), bytes.fromhex(checkpoint.snapshot))
    if not any(change.kind == DELETED for change in found):
        return found
    coverage = read_coverage(store, checkpoint.commit)
    if not coverage.names(LET_GO):
        return found
    return [
        change
        for change in found
        if change.kind != DELETED or coverage.reason_for(change.path) not in LET_GO
    ]


def counted_changes(store: Store, old: bytes, new: bytes) -> list[CountedChange]:
    """Returns what changed from one tree to another, with the lines as far as git counts them."""
    changes = list(trees.diff(store, old, new))
    return counted(changes, lines_between(store, old, new) if changes else {})


def counted(
    changes: Sequence[Change], lines: Mapping[bytes, tuple[int, int]]
) -> list[CountedChange]:
    """Returns changes with their lines, without the directories that came or went with a file."""
    implied = _parents(change.path for change in changes if not _is_directory(change))
    return [
        _counted(change, *lines.get(change.path, BINARY))
        for change in changes
        if change.kind not in (ADDED, DELETED) or change.path not in implied
    ]


def _counted(change: Change, added: int, deleted: int) -> CountedChange:
    if (added, deleted) == BINARY:
        return CountedChange(change.path, change.kind, None, None)
    return CountedChange(change.path, change.kind, added, deleted)


def _is_directory(change: Change) -> bool:
    """Tells whether both sides are a directory or nothing."""
    return all(entry is None or entry.is_directory for entry in (change.old, change.new))


def _parents(paths: Iterable[bytes]) -> set[bytes]:
    """Returns the directories above some paths: one that came or went with them needs no line."""
    found: set[bytes] = set()
    for path in paths:
        parent = path.rpartition(b"/")[0]
        while parent and parent not in found:
            found.add(parent)
            parent = parent.rpartition(b"/")[0]
    return found


# -- beyond: the files outside the workspace that edit tools name
#
# No snapshot holds them, and no rewind writes them back: they are listed, so that nobody assumes it
# does.


def edited(checkpoint: Checkpoint, root: bytes) -> Iterator[tuple[bytes, str]]:
    """Yields the absolute paths that a checkpoint's edit tools name, each with its tool."""
    base = to_bytes(checkpoint.directory) if checkpoint.directory else root
    for tool in checkpoint.tools:
        for path in tool.paths if tool.kind == events.EDIT else ():
            yield os.path.normpath(os.path.join(base, to_bytes(path))), tool.name


def beyond(workspace: Workspace, checkpoints: Iterable[Checkpoint]) -> tuple[bytes, ...]:
    """Returns the paths outside our workspaces that edit tools named at checkpoints.

    A link may lead back into one.
    """
    found: set[bytes] = set()
    for checkpoint in checkpoints:
        for path, _ in edited(checkpoint, workspace.root):
            try:
                workspace.resolved(path, base=workspace.root)
            except ValueError:
                found.add(path)
    return tuple(sorted(found))


# -- one attempt at something that a single bad checkpoint or object may spoil


class Spoilt(Exception):
    """What was tried failed; the text says why, in words for a person."""


def attempt(action: Callable[[], T]) -> T:
    """Returns what ``action`` returns; raises Spoilt for anything that goes wrong in it.

    The one place in the core that catches any exception. The action concerns one checkpoint among
    thousands, whose bytes may come from anywhere; none of them, and no bug of ours that only one of
    them triggers, may make every command fail from then on. Errors that do not concern that
    checkpoint are passed on: a damaged or full ledger, a time limit from outside, an interrupt.
    """
    try:
        return action()
    except (LedgerDamaged, LedgerUnwritable, TimedOut):
        raise
    except TakebackError as error:
        raise Spoilt(error.message) from error
    except Exception as error:
        raise Spoilt(f"{type(error).__name__}: {error}") from error


# -- attribute
#
# The fold goes over all checkpoints of a workspace in the order they were made, across sessions:
# what is found changed at one of them happened since the one before it.
#
#         nobody's turn was open         the person, outside
#         this session's turn was open   the tool that names the path, else its shell or subagent
#         another session's was open     that session
#         several                        the tool that names the path, else unknown
#         an operation was interrupted   that operation, see ``_of_the_interrupted``
#         an agent went back by itself   that agent, see ``own_what_came_back``
#         an agent's turn has expired    the tool that names the path, else unknown: what it did and
#         since                          what the person did cannot be told apart any more


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
            self._write(newest, reopened(newest, checkpoint))

    def add_bare(self, found: Indexed) -> None:
        """Indexes a checkpoint with only what its own record says."""
        self._add(found.checkpoint, found.position, ())

    def _add(self, checkpoint: Checkpoint, position: int, changes: Sequence[OwnedChange]) -> None:
        self._ledger.add(checkpoint, position, changes)
        is_event = checkpoint.kind not in NOT_EVENTS
        questions.note_session(self._ledger, checkpoint, event=is_event)

    def _owned(self, found: Indexed) -> list[OwnedChange]:
        checkpoint = found.checkpoint
        open_turns = questions.open_turns(self._ledger, checkpoint.machine)
        if checkpoint.left:  # its turn seemed to be over, and was not
            newest = questions.newest_turn(self._ledger, checkpoint.session)
            if newest is not None and not is_open(newest):
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
        if not is_event(checkpoint):
            return None
        newest = questions.newest_turn(self._ledger, checkpoint.session)
        if begins_a_turn(checkpoint):
            if newest is not None:
                self._write(newest, closed(newest, checkpoint))
            if checkpoint.kind == moments.PROMPT:
                return self._begin(checkpoint, PROMPTED, checkpoint.id)
            return self._begin(checkpoint, COMMAND, previous or checkpoint.id)
        moved = None if newest is None else advanced(newest, checkpoint)
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
            state=STATES[checkpoint.moment.phase],
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
        if one.agent is not None and one.kind not in NOT_EVENTS and not is_own:
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
