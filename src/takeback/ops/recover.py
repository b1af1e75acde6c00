"""Recovery: finishes an interrupted operation, or rolls it back if it cannot be finished.

Forward if every blob that is still to be written can be read; else back to the state of the undo
snapshot. Both can be killed and run again.
"""

from __future__ import annotations

import os

from takeback import kernel
from takeback.errors import Command, StoreDamaged, WriteFailed
from takeback.model.change import Change
from takeback.model.path_text import to_text
from takeback.model.value import Value
from takeback.ops import journal_entry
from takeback.ops.conclude import Carried, conclude
from takeback.ops.destination import goal_of
from takeback.ops.failures import Translated
from takeback.store import journal
from takeback.store.blobs import StoreBlobs
from takeback.store.operations import known_operations
from takeback.visible import shown
from takeback.worktree.apply import Apply
from takeback.worktree.unit import make_units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.goal import Goal
    from takeback.model.ids import CheckpointId, SessionId
    from takeback.model.operation import Move, OperationKind
    from takeback.model.plan import LeftAlone
    from takeback.ops.context import Context, LockedContext
    from takeback.ops.journal_entry import JournalEntry
    from takeback.worktree.apply import Applied
    from takeback.worktree.unit import Unit


class Recovered(Value):
    """What recovery did with the operation that it found."""

    kind: OperationKind
    finished: bool
    left_alone: tuple[LeftAlone, ...]
    session: SessionId | None = None
    conversation_error: str | None = None

    def sentence(self) -> str:
        """Describes it in one sentence, with each path that was left alone."""
        how = "finished" if self.finished else "rolled back"
        named = ", ".join(f"{to_text(item.path)} ({item.reason})" for item in self.left_alone)
        rest = f"; left alone: {named}" if named else ""
        if self.conversation_error is not None:
            rest += f"; its conversation was not written: {self.conversation_error}"
        elif self.session is not None:
            rest += f"; its conversation goes on as session {self.session}"
        return shown(f"An interrupted {self.kind} was found and {how}{rest}.")


def recover(context: LockedContext, find: Callable[[CheckpointId], Checkpoint]) -> Recovered | None:
    """Finishes or rolls back what was interrupted; None if nothing was."""
    entry = journal_entry.read(context.store)
    if entry is None:
        return None
    operation = entry.operation
    if any(done.id == operation.id for done in known_operations(context.store)):
        with Translated("the recovery"):
            journal.remove(context.lock)
        return Recovered(operation.kind, True, ())
    forward = not entry.back and _all_readable(context, entry.units)
    if not forward and not entry.back:
        with Translated("the recovery"):
            journal_entry.write(context.lock, entry.replace(back=True))
    if forward:
        return _finish(context, entry, find)
    return _roll_back(context, operation, list(entry.units))


def _all_readable(context: Context, units: Iterable[Unit]) -> bool:
    for unit in units:
        entries = [entry for _, entry in unit.inside_new]
        if unit.new is not None:
            entries.append(unit.new)
        for entry in entries:
            if not entry.is_directory and not context.store.reads_back(entry.oid):
                return False
    return True


def _finish(
    context: LockedContext, entry: JournalEntry, find: Callable[[CheckpointId], Checkpoint]
) -> Recovered:
    entry = entry.replace(operation=entry.operation.replace(recovered=True))
    operation, child = entry.operation, entry.child
    applied = _apply(context, list(entry.units), operation.id)
    carried = Carried(entry, _goal(context, entry, find), find(operation.before), applied)
    outcome = conclude(context, carried)
    return Recovered(
        operation.kind,
        True,
        outcome.left_alone,
        session=None if child is None else child.id,
        conversation_error=outcome.conversation_error,
    )


def _goal(
    context: Context, entry: JournalEntry, find: Callable[[CheckpointId], Checkpoint]
) -> Goal:
    target = entry.operation.target
    if entry.goal is not None:
        return entry.goal
    if target is None:
        raise StoreDamaged(
            "the journal of an interrupted operation does not say where it goes",
            hint=("run: ", Command("doctor", "--fix")),
        )
    return goal_of(context.store, find(target), entry.operation.about)


def _roll_back(context: LockedContext, operation: Move, units: list[Unit]) -> Recovered:
    """Restores the old version of every path, after removing temporary files of the way forward."""
    blobs = StoreBlobs(context.store)
    with Translated("the recovery"):
        forward = Apply(context.workspace.fd, units, operation.id, blobs, context.reporter)
        kept = forward.settle()
    applied = _apply(context, _backward(context, units), operation.id)
    with Translated("the recovery"):
        journal.remove(context.lock)
    return Recovered(operation.kind, False, (*kept, *applied.left_alone))


def _backward(context: Context, units: list[Unit]) -> list[Unit]:
    """Returns the units that take these back; what went with its directory comes back with it.

    A directory that is gone is recreated with everything in it at once; in one that still exists
    each file comes back by itself.
    """
    numbers = {unit.path: unit.reversed().number for unit in units}
    gone = [
        Change(unit.path, None, unit.old)
        for unit in units
        if unit.new is None
        and unit.old is not None
        and not (unit.old.is_directory and _is_directory(context, unit.path))
    ]
    created = [unit.replace(number=numbers[unit.path]) for unit in make_units(gone, [], {})]
    return created + [unit.reversed() for unit in units if unit.new is not None]


def _is_directory(context: Context, path: bytes) -> bool:
    try:
        os.close(kernel.open_directory_beneath(context.workspace.fd, path))
    except OSError:
        return False
    return True


def _apply(context: Context, units: list[Unit], token: str) -> Applied:
    apply = Apply(context.workspace.fd, units, token, StoreBlobs(context.store), context.reporter)
    try:
        return apply.run(recovering=True)
    except OSError as error:
        raise WriteFailed.of("the recovery", error) from error
