"""Undo and redo: walk back and forth over the operation log, without end."""

from __future__ import annotations

from takeback.errors import Refused, StoreDamaged
from takeback.model.operation import REDO, UNDO, history
from takeback.model.path_text import covers
from takeback.ops.facts import NO_FACTS, Facts
from takeback.ops.plan import plan
from takeback.ops.rewind import rewind
from takeback.ops.scope import Scope
from takeback.store import trees
from takeback.store.checkpoints import read_coverage
from takeback.store.operations import read_operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from takeback.model.change import Change
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId
    from takeback.model.operation import Step, StepKind
    from takeback.model.plan import Outcome, Plan
    from takeback.model.policy import Overrides
    from takeback.ops.context import Context, LockedContext


def next_step(context: Context, kind: StepKind) -> Step:
    """Returns what undo or redo would do now; raises Refused if there is nothing."""
    stacks = history(read_operations(context.store))
    steps = stacks.undo if kind == UNDO else stacks.redo
    if not steps:
        raise Refused(
            f"there is nothing to {kind}",
            hint="the log of operations: takeback log --operations",
        )
    return steps[-1]


def _scope(context: Context, step: Step, goes_to: Checkpoint) -> Scope:
    """Keeps to the scope of the operation, and takes back all else that it touched."""
    changed = step.last.written + step.last.deleted + len(step.last.touched)
    if not step.operation.moves_files or not changed:
        # What it left alone is left alone.
        return Scope(step.operation.paths, files=False, asked=False)
    touched = {change.path: change for change in _made(context, step, goes_to)}
    touched.update((change.path, change) for change in step.last.touched)
    return Scope(
        step.operation.paths,
        touched=tuple(touched.values()),
        asked=False,
    )


def _made(context: Context, step: Step, goes_to: Checkpoint) -> Iterator[Change]:
    """Yields what the operation made and both its snapshots show.

    An ignore rule that came since would hide it from the capture, and undo would leave it. What
    the state before does not vouch for may have been there and is nobody's to remove.
    """
    store, paths = context.store, step.operation.paths
    try:
        coverage = read_coverage(store, goes_to.commit)
    except StoreDamaged:
        return
    before, after = bytes.fromhex(goes_to.snapshot), bytes.fromhex(step.last.after)
    for change in trees.diff(store, before, after, on_damage=lambda path, error: None):
        vouched = change.old is None and coverage.reason_for(change.path) is None
        if vouched and covers(paths, change.path):
            yield change


def plan_step(
    context: Context,
    step: Step,
    find: Callable[[CheckpointId], Checkpoint],
    overrides: Overrides,
    *,
    facts: Facts = NO_FACTS,
) -> Plan:
    """Works out what carrying out ``step`` would change."""
    target = find(step.goes_to)
    scope = _scope(context, step, target)
    made = plan(context, target, scope, overrides, facts=_relevant(facts))
    return made.replace(scope=step.operation.scope)


def _relevant(facts: Facts) -> Facts:
    """Undo and redo restore the operation's own saved files, and no others."""
    return facts.replace(ignored=())


def take_step(
    context: LockedContext,
    kind: StepKind,
    step: Step,
    find: Callable[[CheckpointId], Checkpoint],
    overrides: Overrides,
    *,
    shown: Plan | None = None,
    facts: Facts = NO_FACTS,
) -> Outcome:
    """Goes to the state that the step names, and logs it as an undo or redo."""
    assert kind in (UNDO, REDO)
    target = find(step.goes_to)
    return rewind(
        context,
        target,
        _scope(context, step, target),
        overrides,
        shown=shown,
        facts=_relevant(facts),
        kind=kind,
        of=step.operation,
    )
