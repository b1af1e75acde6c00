"""Plan: the list of changes that a rewind would make, shown before it is carried out."""

from __future__ import annotations

from takeback.model.path_text import to_text
from takeback.model.plan import Plan
from takeback.ops.capture import capture
from takeback.ops.facts import NO_FACTS, Facts
from takeback.ops.failures import Translated
from takeback.ops.preconditions import others, refusals, warnings
from takeback.ops.prepare import Preparation
from takeback.store import trees
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import SnapshotId
    from takeback.model.policy import Overrides
    from takeback.ops.capture import Captured
    from takeback.ops.context import Context
    from takeback.ops.scope import Scope


def plan(
    context: Context,
    target: Checkpoint,
    scope: Scope,
    overrides: Overrides,
    *,
    facts: Facts = NO_FACTS,
) -> Plan:
    """Works out a plan without changing anything; the lock is free again when it returns."""
    with context.locked():
        captured = capture(context)
        captured.keep()
        with Translated("the plan"):
            changes = prepare(context, captured, target, scope, overrides, facts, save=False)
            return describe(context, captured, target, scope, changes, overrides, facts)


def prepare(
    context: Context,
    captured: Captured,
    target: Checkpoint,
    scope: Scope,
    overrides: Overrides,
    facts: Facts,
    *,
    save: bool,
) -> Preparation:
    """Works out what happens to each path, with what the ledger knows about it."""
    kept = {
        path: f"changed by another session ({session}) and kept"
        for path, session in (facts.others.items() if overrides.keep_others else ())
    }
    wanted = scope.with_also(facts.ignored) if not scope.paths else scope
    return Preparation(context, captured, target, wanted, save=save, kept=kept, family=facts.family)


def describe(
    context: Context,
    captured: Captured,
    target: Checkpoint,
    scope: Scope,
    changes: Preparation,
    overrides: Overrides,
    facts: Facts,
) -> Plan:
    """Puts worked-out changes into the form that people and programs read."""
    unnamed = (
        f"{to_text(path)} was not named, but is in the way: it becomes a directory; "
        "undo brings it back"
        for path in changes.unnamed
    )
    return Plan(
        target=target,
        writes=tuple(sorted(changes.writes, key=lambda c: c.path)),
        deletes=tuple(sorted(changes.deletes, key=lambda c: c.path)),
        left_alone=changes.named(),
        outside=_outside(context, captured, changes, facts.last_seen),
        others=others(changes, facts),
        warnings=tuple(shown(line) for line in (*unnamed, *warnings(context, target))),
        refused=refusals(context, captured, target, changes, overrides, facts),
        saved=tuple(sorted(changes.extra)),
        paths=scope.paths,
        ignored=scope.ignored,
    )


def _outside(
    context: Context, captured: Captured, changes: Preparation, last_seen: SnapshotId | None
) -> tuple[bytes, ...]:
    """Returns the planned paths that were edited since the last state that takeback knows."""
    if last_seen is None:
        return ()
    seen = bytes.fromhex(last_seen)
    since = {
        change.path
        for change in trees.diff(
            context.store, seen, captured.tree, on_damage=lambda path, error: None
        )
    }
    planned = [change.path for change in (*changes.writes, *changes.deletes)]
    return tuple(sorted(path for path in planned if path in since))
