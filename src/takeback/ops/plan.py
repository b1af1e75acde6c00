"""Plan: the list of changes that a rewind would make, shown before it is carried out."""

from __future__ import annotations

from takeback.model.path_text import to_text
from takeback.model.plan import Plan
from takeback.ops.capture import capture
from takeback.ops.facts import NO_FACTS, Facts, until_now
from takeback.ops.failures import Translated
from takeback.ops.preconditions import others, refusals, warnings
from takeback.ops.prepare import Preparation
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.policy import Overrides
    from takeback.model.timeline import Turn
    from takeback.ops.capture import Captured
    from takeback.ops.context import Context
    from takeback.ops.scope import Scope

_MANY = 1000
"""Files of a plan above which nobody reads the numbers of each."""
_PATIENCE = 1.0


def plan(
    context: Context,
    target: Checkpoint,
    scope: Scope,
    overrides: Overrides,
    *,
    facts: Facts = NO_FACTS,
) -> Plan:
    """Works out a plan without changing anything; the lock is free again when it returns."""
    with context.locked() as locked:
        captured = capture(locked)
        captured.keep()
        with Translated("the plan"):
            facts = until_now(context, captured, facts)
            changes = prepare(context, captured, target, scope, overrides, facts, save=False)
            made = describe(context, captured, target, scope, changes, overrides, facts)
    return _counted(context, captured, made)


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
        outside=_outside(changes, facts),
        others=others(changes, facts),
        warnings=tuple(
            shown(line) for line in (*unnamed, *warnings(context, target, files=scope.files))
        ),
        refused=refusals(context, captured, target, changes, overrides, facts, files=scope.files),
        saved=tuple(sorted(changes.extra)),
        paths=scope.paths,
        ignored=scope.ignored,
        turns=_turns(changes, facts),
        beyond=facts.beyond if scope.files and not scope.paths else (),
    )


def _outside(changes: Preparation, facts: Facts) -> tuple[bytes, ...]:
    """Returns the planned paths that the person changed since the target, by their own hand."""
    planned = {change.path for change in (*changes.writes, *changes.deletes)}
    return tuple(sorted(planned & facts.own))


def _turns(changes: Preparation, facts: Facts) -> tuple[Turn, ...]:
    """Returns the turns since the target that changed any of the planned paths."""
    planned = frozenset(change.path for change in (*changes.writes, *changes.deletes))
    return tuple(turn for turn, paths in facts.turns if paths & planned)


def _counted(context: Context, captured: Captured, made: Plan) -> Plan:
    """Adds how many lines come and go in each file, where that is soon said."""
    from takeback.git.diff import BINARY
    from takeback.ops.counting import Limits, lines_between

    planned = {change.path for change in (*made.writes, *made.deletes)}
    if not planned or len(planned) > _MANY:
        return made
    then = bytes.fromhex(made.target.snapshot)
    lines = lines_between(context.store, captured.tree, then, limits=Limits(patience=_PATIENCE))
    known = {path: n for path, n in lines.items() if path in planned and n != BINARY}
    return made.replace(lines=known)
