"""Conclude: the end of every operation, whether it went through at once or was recovered.

files are done        worktree/apply.py
capture               where it wrote, up to the root, compared with the goal
new session  durable  if the conversation moves
operation log durable undo finds it here
journal removed
"""

from __future__ import annotations

from takeback.errors import TakebackError
from takeback.model.operation import FILES, GOES
from takeback.model.path_text import parents
from takeback.model.plan import Outcome
from takeback.model.value import Value
from takeback.ops.capture import After, capture
from takeback.ops.child import write_child
from takeback.ops.failures import Translated
from takeback.ops.journal_entry import JournalEntry
from takeback.ops.verification import Brought, Verification
from takeback.store import journal
from takeback.store.blobs import StoreBlobs
from takeback.store.operations import write_operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.goal import Goal
    from takeback.model.operation import OperationKind, ScopeKind
    from takeback.model.plan import LeftAlone
    from takeback.ops.capture import Captured
    from takeback.ops.context import LockedContext
    from takeback.worktree.apply import Applied


class Carried(Value):
    """An operation whose changes are made: its journal, where it went, from where, what it did.

    ``seen`` is the capture that it began with, under the same lock; a recovery has none.
    """

    entry: JournalEntry
    goal: Goal
    before: Checkpoint
    applied: Applied
    seen: Captured | None = None


def conclude(context: LockedContext, carried: Carried) -> Outcome:
    """Checks the result, writes the new session, then the log, and ends the journal.

    A session that cannot be written is reported in the outcome; the files are done all the same,
    and the log says what was done.
    """
    operation, goal, applied = carried.entry.operation, carried.goal, carried.applied
    after = capture(context, after=_after(context, carried)).revealed()
    seen = Verification(context, carried, after)
    left = seen.left_alone((*carried.entry.left_alone, *applied.left_alone))
    named = tuple(item for _, item in sorted(left.items()))
    verified = seen.is_at_target(left)
    nothing = not applied.written and not applied.deleted
    if operation.kind in GOES and nothing and not operation.moves_conversation:
        after.keep()
        with Translated(f"the {operation.kind}"):
            journal.remove(context.lock)
        return nothing_done(operation.kind, goal, named, verified=verified)
    asked, failure = operation.scope, _new_session(context, carried)
    if failure is not None:  # the log says what was done: the conversation is where it was
        operation = operation.replace(child=None, scope=FILES)
    with Translated(f"the {operation.kind}", undo=after.sink.discard):
        write_operation(
            after.sink,
            operation.replace(
                after=after.snapshot,
                written=len(applied.written),
                deleted=len(applied.deleted),
                left_alone=len(left),
                touched=seen.touched(),
            ),
        )
        after.scan.remember()
        journal.remove(context.lock)
    return Outcome(
        operation=operation.id,
        kind=operation.kind,
        goal=goal,
        undo=operation.before,
        written=applied.written,
        deleted=applied.deleted,
        left_alone=named,
        verified=verified,
        recovered=operation.recovered,
        directories=applied.directories,
        scope=asked,
        conversation_error=failure,
    )


def _after(context: LockedContext, carried: Carried) -> After:
    """Returns what was done, and where: in every directory of a unit, up to the root.

    Everything else is as the operation found it. What others change there meanwhile is theirs, and
    the next capture says so.
    """
    brought = Brought(context.store, carried.entry.operation, carried.goal)
    written = {unit.path for unit in carried.entry.units}
    above = {directory for path in written for directory in parents(path)}
    return After(brought, carried.seen, frozenset({b"", *written, *above}))


def _new_session(context: LockedContext, carried: Carried) -> str | None:
    """Writes the cut conversation as a session of its own; returns the reason if that fails."""
    child, operation = carried.entry.child, carried.entry.operation
    if child is None:
        return None
    blobs = StoreBlobs(context.store)
    try:
        write_child(context, child, carried.goal, blobs, again=operation.recovered)
    except TakebackError as error:
        return error.message
    return None


def nothing_done(
    kind: OperationKind,
    goal: Goal,
    left: tuple[LeftAlone, ...],
    *,
    verified: bool = True,
    scope: ScopeKind = FILES,
) -> Outcome:
    """Nothing had to change, or everything that should have was left alone: nothing to undo."""
    verified = verified and all(item.by_rule for item in left)
    return Outcome(None, kind, goal, None, (), (), left, verified=verified, scope=scope)
