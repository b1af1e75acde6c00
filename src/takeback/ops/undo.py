"""Undo and redo: walk back and forth over the operation log, without end."""

from __future__ import annotations

from takeback.errors import Command, Refused, StoreDamaged
from takeback.model.operation import UNDO, history
from takeback.model.path_text import covers
from takeback.ops.destination import goal_of
from takeback.ops.request import Request
from takeback.ops.scope import Scope
from takeback.store import trees
from takeback.store.operations import read_operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.model.change import Change
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.goal import Goal
    from takeback.model.operation import Step, StepKind
    from takeback.ops.context import Context
    from takeback.ops.facts import Facts


def next_step(context: Context, kind: StepKind) -> Step:
    """Returns what undo or redo would do now; raises Refused if there is nothing.

    Raises StoreDamaged if it cannot be known: the log is there and cannot be read.
    """
    damaged: list[str] = []
    stacks = history(read_operations(context.store, damaged))
    steps = stacks.undo if kind == UNDO else stacks.redo
    if not steps and damaged:
        raise StoreDamaged(
            f"what there is to {kind} cannot be read: {damaged[0]}",
            hint=("what else is damaged: ", Command("verify")),
        )
    if not steps:
        raise Refused(
            f"there is nothing to {kind}",
            hint=("the log of operations: ", Command("log", "--operations")),
        )
    return steps[-1]


def _scope(context: Context, step: Step, goal: Goal) -> Scope:
    """Keeps to the scope of the operation, and takes back everything else that it touched."""
    changed = step.last.written + step.last.deleted + len(step.last.touched)
    if not step.operation.moves_files or not changed:
        # What it left alone is left alone again.
        return Scope(step.operation.paths, files=False, asked=False)
    touched = {change.path: change for change in _made(context, step, goal)}
    touched.update((change.path, change) for change in step.last.touched)
    return Scope(step.operation.paths, touched=touched, asked=False)


def _made(context: Context, step: Step, goal: Goal) -> Iterator[Change]:
    """Yields what the operation made that both its snapshots show.

    A later ignore rule would hide it from the capture, and undo would leave it. What the state
    before does not vouch for may have existed and must not be removed.
    """
    if goal.checkpoint is not None and goal.checkpoint.expired is not None:
        return  # going there is refused
    store, paths = context.store, step.operation.paths
    before, after = bytes.fromhex(goal.tree), bytes.fromhex(step.last.after)
    for change in trees.diff(store, before, after, on_damage=lambda path, error: None):
        vouched = change.old is None and goal.coverage.reason_for(change.path) is None
        if vouched and covers(paths, change.path):
            yield change


def request(context: Context, kind: StepKind, step: Step, goes_to: Checkpoint) -> Request:
    """Returns the request to carry out a step, an undo or redo; nothing is known or waived yet.

    ``goes_to`` is the checkpoint that the step names.
    """
    goal = goal_of(context.store, goes_to)
    return Request(goal, _scope(context, step, goal), kind=kind, of=step.operation)


def relevant(facts: Facts) -> Facts:
    """Undo and redo restore the operation's own saved files, and no others."""
    return facts.replace(ignored=())
