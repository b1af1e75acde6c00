"""Sessions: the list of them, the tree that they form, and where the files stand in it."""

from __future__ import annotations

from takeback.ledger import sessions as questions
from takeback.model.checkpoint import UNDO
from takeback.model.operation import FORK, REWIND, history
from takeback.model.turn import FORK as FORKED
from takeback.model.turn import PROMPT
from takeback.model.value import Value
from takeback.ops.counting import count_lines
from takeback.ops.notes import Looked, Untold, untold
from takeback.store.checkpoints import newest_checkpoint
from takeback.store.operations import known_operations, operations_back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import SessionId
    from takeback.model.operation import Operation
    from takeback.model.timeline import OwnedChange, Session, Turn
    from takeback.ops.context import Context


def before_newest_turn(context: Context, ledger: Ledger, session: str) -> Checkpoint | None:
    """Returns the place before the newest turn that is not yet taken back; None if there is none.

    A rewind that nothing has followed since counts as being at its target, so that the next one
    goes one turn further back.
    """
    turn = questions.newest_number(ledger, session)
    last = _last_move(context)
    if last is not None:
        target = ledger.by_id(last.target)
        newest = _newest_event(ledger, session)
        on_line = target is not None and target.session in questions.line(ledger, session)
        if target is not None and on_line and (newest is None or last.time > newest):
            turn = target.turn or 0
            if target.kind == PROMPT:
                turn -= 1
    found = questions.turn_numbered(ledger, session, turn) if turn > 0 else None
    return None if found is None else ledger.by_id(found.before)


def _last_move(context: Context) -> Operation | None:
    """Returns the newest rewind that is not undone."""
    steps = history(known_operations(context.store)).undo
    return steps[-1].operation if steps and steps[-1].operation.kind in (REWIND, FORK) else None


def _newest_event(ledger: Ledger, session: str) -> float | None:
    found = questions.session_by_id(ledger, session)
    return None if found is None else found.last_event


class SessionEntry(Value):
    """A session as a list shows it."""

    session: Session
    turns: int
    checkpoints: int
    newest: Turn | None
    disagrees: str | None = None
    """What takeback did to the files that the session's conversation does not know of."""


def sessions(context: Context, ledger: Ledger) -> list[SessionEntry]:
    """Returns every session of an agent, the one that was last active first."""
    found = []
    log = list(operations_back(context.store))
    looked = Looked(context.store)
    for session in questions.sessions(ledger):
        if session.agent is None:
            continue
        stale = _stale(context, session.id, log, looked)
        found.append(
            SessionEntry(
                session,
                questions.newest_number(ledger, session.id),
                ledger.count_of(session.id, without=(UNDO,)),
                questions.newest_turn(ledger, session.id),
                None if stale is None else stale.operation.about or stale.operation.target,
            )
        )
    return found


def _stale(
    context: Context, session: SessionId, log: list[Operation], looked: Looked
) -> Untold | None:
    """Returns what the model of a session is told with its next prompt."""
    newest = newest_checkpoint(context.store, session) if log else None
    if newest is None or not newest.turn:
        return None
    return untold(context.store, newest.commit, newest.noted, log=log, looked=looked)


class Node(Value):
    """A turn or a session's beginning in the tree, with what descends from it."""

    session: Session
    turn: Turn | None
    changes: tuple[OwnedChange, ...]
    here: str | None
    children: tuple[Node, ...]
    amid: str | None = None
    """The interrupted operation in whose middle the checkpoint before the turn was taken."""


def tree(context: Context, ledger: Ledger) -> list[Node]:
    """Returns the sessions as a tree: each with its turns, each turn with the forks before it."""
    everyone = {s.id: s for s in questions.sessions(ledger) if s.agent is not None}
    count_lines(context.store, ledger, [turn.id for turn in questions.turns(ledger)])
    place = current_place(context, ledger)
    amid = questions.amid(ledger)
    roots = [s for s in everyone.values() if s.parent not in everyone]
    return [_node(ledger, everyone, s, place, amid) for s in sorted(roots, key=lambda s: s.began)]


def _node(
    ledger: Ledger,
    everyone: dict[SessionId, Session],
    session: Session,
    place: str | None,
    amid: dict[str, str],
) -> Node:
    below: list[Node] = []
    children = [s for s in everyone.values() if s.parent == session.id]
    for turn in reversed(questions.turns(ledger, session=session.id)):
        forks = tuple(
            _node(ledger, everyone, child, place, amid)
            for child in sorted(children, key=lambda s: s.began)
            if _origin_turn(ledger, child) == turn.id
        )
        changes = tuple(questions.turn_changes(ledger, turn.id))
        here = place_of(turn, turn.id, place)
        below.append(Node(session, turn, changes, here, forks, amid.get(turn.before)))
    placed = {node.session.id for turn in below for node in turn.children}
    rest = [child for child in children if child.id not in placed]
    below += [_node(ledger, everyone, child, place, amid) for child in rest]
    return Node(session, None, (), None, tuple(below))


def _origin_turn(ledger: Ledger, child: Session) -> str | None:
    """Returns the id of the turn that a child descends from the beginning or the end of."""
    origin = ledger.by_id(child.origin) if child.origin else None
    if origin is None:
        return None
    for turn in questions.turns(ledger, session=origin.session):
        if turn.before == origin.id or turn.after == origin.id or turn.number == origin.turn:
            return turn.id
    return None


def current_place(
    context: Context, ledger: Ledger, log: list[Operation] | None = None
) -> str | None:
    """Returns the checkpoint that the files stand at: the newest, or where a rewind went.

    A rewind counts while it is not undone and nothing has been captured since. ``log`` is the
    operation log of who has read it already.
    """
    newest = ledger.checkpoints(without=(UNDO, FORKED), limit=1)
    steps = history(known_operations(context.store) if log is None else log).undo
    last = steps[-1].operation if steps else None
    later = last is not None and (not newest or last.sequence > newest[0].sequence)
    if last is not None and later and last.moves_files:
        return last.target
    return newest[0].id if newest else None


def places(ledger: Ledger, session: str, entries: list[str]) -> dict[str, Checkpoint]:
    """Returns the newest checkpoint on a session's line that stands at each entry.

    An entry is the agent's own id: of the prompt that a checkpoint was made before, or of the
    leaf that the agent stood at.
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


def place_of(turn: Turn | None, checkpoint: str, here: str | None) -> str | None:
    """Says whether the files stand ``before`` a turn or ``after`` it, or at a checkpoint."""
    if here is None:
        return None
    if turn is not None and here == turn.after and turn.after != turn.before:
        return "after"
    if here == checkpoint or (turn is not None and here == turn.before):
        return "before" if turn is not None else "at"
    return None


class Found(Value):
    """One thing that a search found: a checkpoint, and where in it the text stands."""

    checkpoint: Checkpoint
    what: str
    text: str


def search(ledger: Ledger, text: str, *, limit: int = -1) -> list[Found]:
    """Returns the checkpoints whose prompt or changed paths hold ``text``, newest first."""
    found = []
    for id, what, words in questions.search(ledger, text, limit=limit):
        checkpoint = ledger.by_id(id)
        if checkpoint is not None:
            found.append(Found(checkpoint, what, words))
    return found
