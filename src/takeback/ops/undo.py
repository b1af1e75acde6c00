"""Undo and redo: walk back and forth over the operation log, without end."""

from __future__ import annotations

from takeback.errors import Refused
from takeback.model.operation import REDO, UNDO, history
from takeback.ops.facts import NO_FACTS, Facts
from takeback.ops.plan import plan
from takeback.ops.prepare import Scope
from takeback.ops.rewind import rewind
from takeback.store.operations import read_operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId
    from takeback.model.operation import Step
    from takeback.model.plan import Outcome, Plan
    from takeback.model.policy import Overrides
    from takeback.ops.context import Context


def next_step(context: Context, kind: str) -> Step:
    """Returns what undo or redo would do now; raises Refused if there is nothing."""
    stacks = history(read_operations(context.store))
    steps = stacks.undo if kind == UNDO else stacks.redo
    if not steps:
        raise Refused(
            f"there is nothing to {kind}",
            hint="the log of operations: takeback log --operations",
        )
    return steps[-1]


def _scope(step: Step) -> Scope:
    """Keeps to the scope of the operation, with the ignored files that it replaced or removed."""
    files = step.operation.moves_files
    return Scope(step.operation.paths, also=step.saved if files else (), files=files)


def plan_step(
    context: Context,
    step: Step,
    find: Callable[[CheckpointId], Checkpoint],
    overrides: Overrides,
    *,
    facts: Facts = NO_FACTS,
) -> Plan:
    """Works out what carrying out ``step`` would change."""
    made = plan(context, find(step.goes_to), _scope(step), overrides, facts=_relevant(facts))
    return made.replace(scope=step.operation.scope)


def _relevant(facts: Facts) -> Facts:
    """Undo and redo restore the operation's own saved files, and no others."""
    return facts.replace(ignored=(), others={})


def take_step(
    context: Context,
    kind: str,
    step: Step,
    find: Callable[[CheckpointId], Checkpoint],
    overrides: Overrides,
    *,
    shown: Plan | None = None,
    facts: Facts = NO_FACTS,
) -> Outcome:
    """Goes to the state that the step names, and logs it as an undo or redo."""
    assert kind in (UNDO, REDO)
    return rewind(
        context,
        find(step.goes_to),
        _scope(step),
        overrides,
        shown=shown,
        facts=_relevant(facts),
        kind=kind,
        of=step.operation,
    )
