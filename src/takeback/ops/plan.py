"""Plan: the list of changes that a rewind would make, shown before it is carried out."""

from __future__ import annotations

from takeback.model.plan import Plan
from takeback.ops.capture import capture
from takeback.ops.failures import Translated
from takeback.ops.preconditions import branch_line, refusals
from takeback.ops.prepare import Preparation, Scope
from takeback.store import trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.policy import Overrides
    from takeback.ops.capture import Captured
    from takeback.ops.context import Context


def plan(
    context: Context,
    target: Checkpoint,
    scope: Scope,
    overrides: Overrides,
    *,
    newest: Checkpoint | None = None,
) -> Plan:
    """Works out a plan without changing anything; the lock is free again when it returns."""
    with context.locked():
        captured = capture(context)
        captured.keep()
        with Translated("the plan"):
            changes = Preparation(context, captured, target, scope, save=False)
            return describe(context, captured, target, scope, changes, overrides, newest)


def describe(
    context: Context,
    captured: Captured,
    target: Checkpoint,
    scope: Scope,
    changes: Preparation,
    overrides: Overrides,
    newest: Checkpoint | None,
) -> Plan:
    """Puts worked-out changes into the form that people and programs read."""
    line = branch_line(context, target)
    return Plan(
        target=target,
        writes=tuple(sorted(changes.writes, key=lambda c: c.path)),
        deletes=tuple(sorted(changes.deletes, key=lambda c: c.path)),
        left_alone=changes.named(),
        outside=_outside(context, captured, changes, newest),
        warnings=() if line is None else (line,),
        refused=refusals(context, captured, target, changes, overrides),
        saved=tuple(sorted(changes.extra)),
        paths=scope.paths,
        ignored=scope.ignored,
    )


def _outside(
    context: Context, captured: Captured, changes: Preparation, newest: Checkpoint | None
) -> tuple[bytes, ...]:
    """Returns the planned paths that were edited since the newest checkpoint."""
    if newest is None:
        return ()
    since = {
        change.path
        for change in trees.diff(context.store, bytes.fromhex(newest.snapshot), captured.tree)
    }
    planned = [change.path for change in (*changes.writes, *changes.deletes)]
    return tuple(sorted(path for path in planned if path in since))
