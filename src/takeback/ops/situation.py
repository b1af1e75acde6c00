"""Situation: what an operation is worked out from, read once."""

from __future__ import annotations

from takeback.model.value import Value
from takeback.ops.destination import Destination, destination
from takeback.ops.safekeeping import Safekeeping
from takeback.store import tombstones
from takeback.store.held import Held
from takeback.worktree.patterns import LeftOut
from takeback.worktree.reading import Intake

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ops.capture import Captured
    from takeback.ops.context import Context
    from takeback.ops.request import Request
    from takeback.ops.scope import Scope
    from takeback.store.store import Store


class Situation(Value):
    """The files as they are, where they go, and what is wanted of that.

    ``now`` is what the capture holds; ``safe`` keeps what it does not hold. ``kept`` are paths that
    are left alone in any case, and why.
    """

    store: Store
    captured: Captured
    going: Destination
    scope: Scope
    now: Held
    safe: Safekeeping
    kept: dict[bytes, str]


def situation(context: Context, captured: Captured, request: Request, *, save: bool) -> Situation:
    """Reads the situation of a request; with ``save`` also saves what would be lost."""
    now = Held(context.store, captured.tree)
    intake = Intake(captured.sink, purged=tombstones.load(context.store))
    return Situation(
        store=context.store,
        captured=captured,
        going=destination(context, request),
        scope=request.wanted,
        now=now,
        safe=Safekeeping(context.workspace.fd, intake, now, LeftOut(context.policy), save=save),
        kept=request.kept,
    )
