"""Standing: the place that the files are at, and what changed by hand since."""

from __future__ import annotations

from takeback.errors import TakebackError
from takeback.ledger import sessions as questions
from takeback.model.coverage import LET_GO
from takeback.model.value import Value
from takeback.ops.capture import scanned_into
from takeback.ops.failures import Translated
from takeback.ops.here import current_place, word_of
from takeback.store import trees
from takeback.store.looking import Looking
from takeback.worktree.ignore import IgnoreRaced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ledger.ledger import Ledger
    from takeback.model.change import Change
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import SnapshotId
    from takeback.model.timeline import Session, Turn
    from takeback.ops.context import Context


class Standing(Value):
    """The checkpoint that the files are at: ``before``, ``in`` or ``after`` a turn, or ``at`` it.

    ``sessions`` are all sessions, among which a short name must be unique.
    """

    checkpoint: Checkpoint
    place: str
    turn: Turn | None
    sessions: tuple[Session, ...]


class Dirty(Value):
    """What changed since the newest state that takeback knows; ``unknown`` says why it cannot."""

    changes: tuple[Change, ...] = ()
    unknown: str | None = None


def standing(context: Context, ledger: Ledger) -> Standing | None:
    """Returns where the files are; None before the first checkpoint."""
    place = current_place(context, ledger)
    found = None if place is None else ledger.by_id(place)
    if found is None:
        return None
    turn = None
    if found.agent is not None and found.turn:
        turn = questions.turn_numbered(ledger, found.session, found.turn)
    where = "at" if turn is None else word_of(turn.id, turn.before, turn.after, found.id) or "in"
    return Standing(found, where, turn, tuple(questions.sessions(ledger)))


def dirty(context: Context, seen: SnapshotId | None) -> Dirty:
    """Compares the files with the newest state that takeback knows; stores nothing, takes no lock.

    Never fails: ``status`` has to answer whatever the state of the store.
    """
    if seen is None:
        return Dirty()
    look = Looking(context.store)
    try:
        with Translated("a look at the files"):
            _, now = scanned_into(context, look, may_rehash=False)
        found = [
            change
            for change in trees.diff(look, bytes.fromhex(seen), now.tree)
            if change.new is not None or now.coverage.reason_for(change.path) not in LET_GO
        ]
    except (TakebackError, IgnoreRaced) as error:
        return Dirty(unknown=str(error) or "a directory keeps turning into a link")
    return Dirty(tuple(sorted(_telling(found), key=lambda change: change.path)))


def _telling(changes: list[Change]) -> list[Change]:
    """Leaves out directories that changed only because of what is in them."""
    parents = {parent for change in changes for parent in _parents(change.path)}
    return [change for change in changes if change.path not in parents]


def _parents(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    return [b"/".join(parts[:depth]) for depth in range(1, len(parts))]
