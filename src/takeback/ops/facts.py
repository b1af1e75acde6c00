"""Facts: what the ledger knows that a plan has to take into account.

Who is working in the workspace now, whose files would be overwritten, what the person changed by
hand, which ignored files a turn changed.
"""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.ledger import sessions as questions
from takeback.ledger.lineage import lineage
from takeback.model.checkpoint import UNDO
from takeback.model.ids import WORKSPACE_SESSION
from takeback.model.timeline import OUTSIDE
from takeback.model.turn import PROMPT
from takeback.model.value import Value
from takeback.ops.beyond import beyond
from takeback.ops.running import RunningTurn, running_turns
from takeback.ops.save import saved_since
from takeback.ops.whereabouts import current_session
from takeback.store import trees
from takeback.store.location import read_location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from takeback.ledger.ledger import Ledger
    from takeback.ledger.lineage import Lineage
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import SessionId, SnapshotId
    from takeback.model.timeline import OwnedChange, Turn
    from takeback.ops.capture import Captured
    from takeback.ops.context import Context
    from takeback.ops.left_running import LeftRunning
    from takeback.store.store import Store


class Facts(Value):
    """What is known about the time since the target.

    ``others`` maps paths to the other sessions that changed them, ``own`` are the paths that the
    person changed, ``turns`` are the turns that changed something, each with its paths.
    """

    last_seen: SnapshotId | None = None
    at_work: frozenset[str] = frozenset()
    """The sessions that have an open turn: what changed since the last look is theirs."""
    running: tuple[RunningTurn, ...] = ()
    inside: RunningTurn | None = None
    others: Mapping[bytes, str] = {}
    own: frozenset[bytes] = frozenset()
    turns: tuple[tuple[Turn, frozenset[bytes]], ...] = ()
    ignored: tuple[bytes, ...] = ()
    beyond: tuple[bytes, ...] = ()
    """Files outside the workspace that edit tools of those turns changed; absolute."""
    family: frozenset[str] = frozenset()
    """The target's session with its ancestors and all its descendants."""
    current: SessionId | None = None
    """The session that the conversation of the target's line is at."""


NO_FACTS = Facts()


def facts(
    context: Context,
    ledger: Ledger,
    target: Checkpoint,
    *,
    inside: RunningTurn | None = None,
    is_over: Callable[[Checkpoint], bool],
    left: Iterable[LeftRunning] = (),
) -> Facts:
    """Reads what a plan for ``target`` must know.

    ``inside`` is the turn that this was called from. ``is_over`` tells from a session's newest
    checkpoint whether its turn ended unannounced. ``left`` is what turns left running.
    """
    family = _family(ledger, target.session)
    here = lineage_of(context.store, ledger)
    changes = questions.changed_since(ledger, target.id, here)
    after = ledger.after(target, everywhere=True)
    later = [one for one in after if one.session in family and here.holds(one)]
    return Facts(
        last_seen=last_seen(ledger, context.store.machine),
        at_work=frozenset(
            turn.session for turn in questions.open_turns(ledger, context.store.machine)
        ),
        running=running_turns(context, ledger, is_over, left),
        inside=inside,
        others=_others(changes, target, family),
        own=frozenset(change.path for change in changes if change.who == OUTSIDE),
        turns=_turns(questions.turns_since(ledger, target.id, here), changes),
        ignored=_ignored(context, target, later, family),
        beyond=beyond(context.workspace, later),
        family=family,
        current=current_session(context, ledger, target.session),
    )


def until_now(context: Context, captured: Captured, known: Facts) -> Facts:
    """Adds what changed since the last look, as the next checkpoint would have it.

    It is the person's if no agent is at work, and another session's if only that one is.
    """
    if known.last_seen is None:
        return known
    seen = bytes.fromhex(known.last_seen)
    found = trees.diff(context.store, seen, captured.tree, on_damage=lambda path, error: None)
    changed = frozenset(change.path for change in found)
    if not known.at_work:
        return known.replace(own=known.own | changed)
    others = known.at_work - known.family
    by_hand = WORKSPACE_SESSION in known.family and not known.others  # the only worker is meant
    if len(known.at_work) == len(others) == 1 and not by_hand:
        (session,) = others
        return known.replace(others={**dict.fromkeys(changed, session), **known.others})
    return known


def last_seen(ledger: Ledger, machine: str | None) -> SnapshotId | None:
    """Returns the newest state that takeback knows: that of a checkpoint or after an operation."""
    from takeback.model.ids import SnapshotId

    last = ledger.last_point(machine, undo=False) or ledger.last_point(undo=False)
    return None if last is None else SnapshotId(last.snapshot)


def _others(
    changes: Iterable[OwnedChange], target: Checkpoint, mine: frozenset[str]
) -> dict[bytes, str]:
    """Returns the paths that sessions other than the target's line changed since the target.

    Going to a checkpoint made by hand takes back whatever happened since; only if more than one
    session has worked since is it unclear whose work is meant.
    """
    changed: dict[bytes, set[str]] = {}
    for change in changes:
        if change.session is not None:
            changed.setdefault(change.path, set()).add(change.session)
    if target.session == WORKSPACE_SESSION:
        workers = set().union(*changed.values()) if changed else set()
        if len(workers) <= 1:
            return {}
    return {
        path: ", ".join(sorted(sessions - mine))
        for path, sessions in changed.items()
        if sessions - mine
    }


def _turns(
    turns: Iterable[Turn], changes: Iterable[OwnedChange]
) -> tuple[tuple[Turn, frozenset[bytes]], ...]:
    paths: dict[str, set[bytes]] = {}
    for change in changes:
        if change.turn is not None:
            paths.setdefault(change.turn, set()).add(change.path)
    return tuple((turn, frozenset(paths.get(turn.id, ()))) for turn in turns)


def lineage_of(store: Store, ledger: Ledger) -> Lineage:
    """Returns what in the ledger happened to the files here."""
    known = read_location(store.directory)
    made_by = known.machine if known is not None else ""
    return lineage(ledger, store.machine or "", is_copy=made_by != store.machine)


def _family(ledger: Ledger, session: str) -> frozenset[str]:
    """Returns a session with its ancestors and all its descendants."""
    family: set[str] = set(questions.line(ledger, session))
    everyone = questions.sessions(ledger)
    grown = True
    below = {session}
    while grown:
        more = {s.id for s in everyone if s.parent in below} - below
        below |= more
        grown = bool(more)
    return frozenset(family | below)


def _ignored(
    context: Context, target: Checkpoint, later: Iterable[Checkpoint], family: frozenset[str]
) -> tuple[bytes, ...]:
    """Returns the ignored files whose bytes changed within a turn that would be taken back."""
    found = set(saved_since(context.store, target, family).inside)
    previous = target
    for checkpoint in later:
        if checkpoint.expired is not None:  # whose doing it was is not known any more
            continue
        within = checkpoint.turn is not None and checkpoint.kind != UNDO
        begun = checkpoint.kind == PROMPT and not checkpoint.unfinished
        if within and not begun and previous.saved != checkpoint.saved:
            found |= _differing(context, previous.saved, checkpoint.saved)
        previous = checkpoint
    return tuple(sorted(found))


def _differing(context: Context, old: str | None, new: str | None) -> set[bytes]:
    a = bytes.fromhex(old) if old else b""
    b = bytes.fromhex(new) if new else b""
    try:
        return {change.path for change in trees.diff(context.store, a, b)}
    except StoreDamaged:
        return set()
