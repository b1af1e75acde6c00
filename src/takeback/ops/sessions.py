"""Sessions: the list of them, the tree that they form, and where the files are in it."""

from __future__ import annotations

from takeback.ledger import sessions as questions
from takeback.ledger import ways
from takeback.model.checkpoint import UNDO
from takeback.model.operation import FORK, REWIND, history, moves
from takeback.model.turn import PROMPT
from takeback.model.value import Value
from takeback.ops.counting import count_lines
from takeback.ops.here import current_place, row_of
from takeback.ops.notes import Looked, Untold, untold
from takeback.ops.running import as_it_stands, open_states
from takeback.ops.whose import in_use
from takeback.store.checkpoints import newest_checkpoint
from takeback.store.operations import known_here, known_operations, operations_back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId, SessionId
    from takeback.model.operation import Move, Operation
    from takeback.model.timeline import OwnedChange, Session, Turn, TurnState
    from takeback.ops.context import Context
    from takeback.ops.here import Place, Side
    from takeback.ops.running import IsOver


def before_newest_turn(context: Context, ledger: Ledger, session: str) -> Checkpoint | None:
    """Returns the place before the newest turn not yet taken back; None if there is none.

    A rewind that nothing has followed counts as being at its target, so that the next one goes one
    turn further back.
    """
    turn = questions.newest_number(ledger, session)
    newest = _newest_event(ledger, session)
    line = questions.line(ledger, session)
    for last in _moves(context):
        target = None if last.target is None else ledger.by_id(last.target)
        if target is None or target.session not in line:
            continue  # of another agent's session: this one stays where it was
        if newest is None or last.time > newest:
            turn = target.turn or 0
            if target.kind == PROMPT:
                turn -= 1
        break
    found = questions.turn_numbered(ledger, session, turn) if turn > 0 else None
    return None if found is None else ledger.by_id(found.before)


def _moves(context: Context) -> Iterator[Move]:
    """Yields the rewinds that are not undone, newest first."""
    for step in reversed(history(known_here(context.store)).undo):
        if step.operation.kind in (REWIND, FORK):
            yield step.operation


def _newest_event(ledger: Ledger, session: str) -> float | None:
    found = questions.session_by_id(ledger, session)
    return None if found is None else found.last_event


def beginning_of(ledger: Ledger, checkpoint: Checkpoint) -> Checkpoint:
    """Returns the place before the turn that a checkpoint is in, itself if it is in none."""
    turn = None
    if checkpoint.agent is not None and checkpoint.turn:
        turn = questions.turn_of(ledger, checkpoint)
    return checkpoint if turn is None else ledger.by_id(turn.before) or checkpoint


class SessionEntry(Value):
    """A session as a list shows it."""

    session: Session
    turns: int
    checkpoints: int
    newest: Turn | None
    disagrees: str | None = None
    """What takeback did to the files that the session's conversation does not know about."""
    below: str | None = None
    """The session of the agent that started this one's, or whose model told of it: its doing."""


def sessions(context: Context, ledger: Ledger, *, is_over: IsOver) -> list[SessionEntry]:
    """Returns every session of an agent, the one that was last active first."""
    states = open_states(context, ledger, is_over)
    told = _whom_to_tell(context, ledger)
    return [_entry(ledger, session, where, states) for session, where in told]


def disagreeing(context: Context, ledger: Ledger, *, is_over: IsOver) -> list[SessionEntry]:
    """Returns those that may be continued and whose conversation is behind the files."""
    told = list(_whom_to_tell(context, ledger))
    used = {session.id for session in in_use([session for session, _ in told])}
    behind = [
        (session, where)
        for session, where in told
        if where is not None and (session.id in used or not session.last_event)
    ]
    states = open_states(context, ledger, is_over) if behind else {}
    return [_entry(ledger, session, where, states) for session, where in behind]


def _entry(
    ledger: Ledger, session: Session, where: str | None, states: Mapping[str, TurnState]
) -> SessionEntry:
    return SessionEntry(
        session,
        questions.newest_number(ledger, session.id),
        ledger.count_of(session.id, without=(UNDO,)),
        as_it_stands(questions.newest_turn(ledger, session.id), states),
        where,
        questions.above(ledger, session),
    )


def _whom_to_tell(context: Context, ledger: Ledger) -> Iterator[tuple[Session, str | None]]:
    """Yields the agents' sessions, each with where the files went without its model's knowing."""
    log = list(operations_back(context.store))
    looked = Looked(context.store)
    for session in questions.sessions(ledger):
        if session.agent is not None:
            stale = _stale(context, session.id, log, looked)
            yield session, None if stale is None else stale.operation.where


def _stale(
    context: Context, session: SessionId, log: list[Operation], looked: Looked
) -> Untold | None:
    """Returns what the model of a session is told with its next prompt."""
    newest = newest_checkpoint(context.store, session) if log else None
    if newest is None or not newest.turn:
        return None
    return untold(context.store, newest.commit, newest.noted, log=log, looked=looked)


class Elsewhere(Value):
    """A fork into a directory of its own: it continues in another workspace."""

    directory: str
    session: str | None


class Node(Value):
    """A turn or a session's beginning in the tree, with what descends from it."""

    session: Session
    turn: Turn | None
    changes: tuple[OwnedChange, ...]
    here: Side | None
    children: tuple[Node, ...]
    amid: str | None = None
    """The interrupted operation during which the checkpoint before the turn was taken."""
    elsewhere: tuple[Elsewhere, ...] = ()
    expired: float | None = None
    """When the files of the checkpoint before the turn were dropped."""
    abandoned: bool = False
    """Whether its agent has gone back by itself before it, and it is on no line any more."""


_DEEPEST = 40
"""How deep sessions may be nested in a tree; what is deeper is shown beside it.

An agent that takes itself back all day makes a line of hundreds: nobody could read that, and a
parser of the document would run out of stack."""


class _Around(Value):
    """The present state, for the nodes of a tree."""

    here: Place | None
    amid: Mapping[str, str]
    states: Mapping[str, TurnState]
    elsewhere: Mapping[str, list[Elsewhere]]
    expired: Mapping[CheckpointId, float]
    abandoned: Mapping[CheckpointId, CheckpointId | None]


def tree(context: Context, ledger: Ledger, *, is_over: IsOver) -> list[Node]:
    """Returns the sessions as a tree: each with its turns, each turn with the forks before it."""
    everyone = {s.id: s for s in questions.sessions(ledger) if s.agent is not None}
    turns = questions.turns(ledger)
    count_lines(context.store, ledger, [turn.id for turn in turns])
    rows = [(turn.id, turn.before, turn.after) for turn in turns]
    around = _Around(
        row_of(ledger, rows, current_place(context, ledger)),
        questions.amid(ledger),
        open_states(context, ledger, is_over),
        _elsewhere(ledger, moves(known_operations(context.store))),
        ledger.expired(),
        ways.abandoned(ledger),
    )
    below: dict[SessionId | str, list[Session]] = {}
    roots = []
    for session in sorted(everyone.values(), key=lambda s: s.began):
        if session.parent is None or _depth(everyone, session) % _DEEPEST == 0:
            roots.append(session)
            continue
        origin = ledger.by_id(session.origin) if session.origin else None
        turn = None if origin is None else questions.turn_of(ledger, origin)
        on_parent = turn is not None and turn.session == session.parent
        below.setdefault(turn.id if turn and on_parent else session.parent, []).append(session)
    return [_node(ledger, around, below, root) for root in roots]


def _elsewhere(ledger: Ledger, log: list[Move]) -> dict[str, list[Elsewhere]]:
    """Returns the forks into other directories, by the turn or session that each came from."""
    found: dict[str, list[Elsewhere]] = {}
    for operation in log:
        target = None if operation.target is None else ledger.by_id(operation.target)
        if operation.directory is None or target is None:
            continue
        turn = questions.turn_of(ledger, target)
        of = turn.id if turn is not None else target.session
        found.setdefault(of, []).append(Elsewhere(operation.directory, operation.child))
    return found


def _depth(everyone: Mapping[SessionId, Session], session: Session) -> int:
    """Returns how many ancestors of a session are known."""
    depth, seen = 0, {session.id}
    while session.parent is not None and session.parent not in seen:
        above = everyone.get(session.parent)
        if above is None:
            break
        session = above
        seen.add(session.id)
        depth += 1
    return depth


def _node(
    ledger: Ledger,
    around: _Around,
    below: Mapping[SessionId | str, list[Session]],
    session: Session,
) -> Node:
    """Makes the node of a session; ``below`` has the descendants of each turn or session."""

    def nodes(of: SessionId | str) -> tuple[Node, ...]:
        return tuple(_node(ledger, around, below, child) for child in below.get(of, ()))

    turns: list[Node] = []
    left: dict[CheckpointId, list[Node]] = {}
    for turn in questions.turns(ledger, session=session.id):
        changes = tuple(questions.turn_changes(ledger, turn.id))
        here = around.here[1] if around.here is not None and around.here[0] == turn.id else None
        amid, stands = around.amid.get(turn.before), as_it_stands(turn, around.states)
        beside = tuple(around.elsewhere.get(turn.id, ()))
        expired = around.expired.get(turn.before)
        children = (*left.get(turn.id, ())[::-1], *nodes(turn.id))
        node = Node(session, stands, changes, here, children, amid, beside, expired)
        from_turn = around.abandoned.get(turn.id)
        if turn.id in around.abandoned:
            node = node.replace(abandoned=True)
        (turns if from_turn is None else left.setdefault(from_turn, [])).append(node)
    beside = tuple(around.elsewhere.get(session.id, ()))
    return Node(session, None, (), None, (*turns[::-1], *nodes(session.id)), elsewhere=beside)


def places(ledger: Ledger, session: str, entries: list[str]) -> dict[str, Checkpoint]:
    """Returns the newest checkpoint on a session's line at each entry.

    An entry is the agent's own id: of the prompt before which a checkpoint was made, or of the leaf
    that the agent was at.
    """
    wanted, found = set(entries), {}
    for one in questions.line(ledger, session):
        for checkpoint in ledger.checkpoints(session=one, without=(UNDO,)):
            for name in (checkpoint.entry, checkpoint.leaf):
                if name in wanted and name not in found:
                    found[name] = checkpoint
            if checkpoint.kind == PROMPT and checkpoint.turn_id in wanted:
                found.setdefault(checkpoint.turn_id, checkpoint)
    return found
