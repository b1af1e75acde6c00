"""Destination: everything that is known about the state that an operation goes to."""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.model.coverage import Coverage
from takeback.model.goal import Goal
from takeback.model.value import Value
from takeback.ops.save import saved_since
from takeback.ops.vouching import Vouching
from takeback.store import trees
from takeback.store.checkpoints import read_coverage
from takeback.store.held import Held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.snapshot import Entry
    from takeback.ops.context import Context
    from takeback.ops.request import Request
    from takeback.store.store import Store


class Destination(Value):
    """A goal as an operation needs it: what it holds, what it saved beside, what it vouches for."""

    goal: Goal
    tree: bytes
    held: Held
    saved: dict[bytes, Entry]
    vouching: Vouching


def goal_of(store: Store, checkpoint: Checkpoint, about: str | None = None) -> Goal:
    """Returns the state of a checkpoint as a goal; one whose coverage is damaged covers nothing."""
    try:
        coverage = read_coverage(store, checkpoint.commit)
    except StoreDamaged:
        coverage = Coverage.of_nothing()
    return Goal(checkpoint.snapshot, coverage, checkpoint.saved, about, checkpoint)


def destination(context: Context, request: Request) -> Destination:
    """Looks the goal of a request up in the store; its snapshot only if files are to go there.

    The family are the sessions that continued from it: what their tools saved also counts.
    Raises Expired if files are wanted that are not kept any more.
    """
    goal, tree = request.goal, b""
    if request.scope.files:
        tree = bytes.fromhex(goal.tree) if goal.checkpoint is None else goal.checkpoint.tree
    held, saved = Held(context.store, tree), _saved(context, goal, request.facts.family)
    return Destination(goal, tree, held, saved, Vouching(goal, held, saved))


def _saved(context: Context, goal: Goal, family: frozenset[str]) -> dict[bytes, Entry]:
    before_tools: dict[bytes, Entry] = {}
    if goal.checkpoint is not None:
        before_tools = saved_since(context.store, goal.checkpoint, family).inside
    if goal.saved is None:
        return before_tools
    try:
        return {**before_tools, **dict(trees.walk(context.store, bytes.fromhex(goal.saved)))}
    except StoreDamaged as error:
        context.reporter.note(
            f"The ignored files saved with {goal.name} cannot be read: {error.message}."
        )
        return before_tools
