"""Operations as they are listed and found, and which of them came before others."""

from __future__ import annotations

from takeback.errors import Command, NoSuchCheckpoint
from takeback.model.operation import PURGE, REDO, UNDO, Move, Pruned, history, moves, way
from takeback.model.value import Value
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.operation import History, Operation, Step, StepKind


BEFORE, AFTER = "before", "after"
_SHORTEST = 4
_PURGED = "of what a person wanted kept no more"
_LIST = ("the operations: ", Command("log", "--operations"))


class Logged(Value):
    """One line of the log. ``of`` is the operation that an undo or redo was about.

    ``next`` is ``undo`` or ``redo`` for the operation that this command would apply to.
    ``here`` is False for what another machine did: it changed no file of this one.
    """

    operation: Operation
    of: Move | None = None
    next: StepKind | None = None
    here: bool = True

    @property
    def session(self) -> str | None:
        """The session that it was about, if known."""
        return self.operation.session if isinstance(self.operation, Move) else None

    @property
    def about(self) -> str:
        """Says in words what it did; fit to be shown anywhere."""
        done = self.operation
        if isinstance(done, Pruned):
            return _pruned(done)
        if done.kind == PURGE:
            return _PURGED
        if not isinstance(done, Move):
            return "by a newer takeback, which knows what it did"
        if done.kind in (UNDO, REDO):
            return "of an operation that is lost" if self.of is None else f"of {named(self.of)}"
        where = f", into {shown(done.directory)}" if done.directory is not None else ""
        return f"{way(done.kind)} {shown(done.where)}{where}"


def _pruned(done: Pruned) -> str:
    if done.restored:
        return f"of {_checkpoints(len(done.restored))}, brought back from the trash"
    return f"of {_checkpoints(done.dropped)}, into the trash"


def _checkpoints(number: int) -> str:
    return "1 checkpoint" if number == 1 else f"{number:,} checkpoints"


def named(operation: Move) -> str:
    """Returns an operation as part of a sentence: ``the rewind to before turn 3``."""
    return f"the {operation.kind} {way(operation.kind)} {shown(operation.where)}"


def logged(operations: Sequence[Operation], here: Sequence[Operation]) -> list[Logged]:
    """Returns the log, oldest first, each line with what it was about.

    ``here`` are the operations that were done to the files of this machine.
    """
    by_id: dict[str | None, Move] = {move.id: move for move in moves(operations)}
    stacks = history(here)
    own = {operation.id for operation in here}
    marks = {steps[-1].operation.id: kind for kind, steps in _stacks(stacks) if steps}
    return [
        Logged(one, by_id.get(_of(one)), marks.get(one.id), one.id in own) for one in operations
    ]


def _of(operation: Operation) -> str | None:
    return operation.of if isinstance(operation, Move) else None


def _stacks(stacks: History) -> tuple[tuple[StepKind, tuple[Step, ...]], ...]:
    return ((REDO, stacks.redo), (UNDO, stacks.undo))


def find_operation(operations: Sequence[Operation], text: str) -> Move:
    """Returns the operation whose id is or begins with the text; raises NoSuchCheckpoint."""
    found = [one for one in operations if one.id == text]
    if not found and len(text) >= _SHORTEST:
        found = [one for one in operations if one.id.startswith(text)]
    if len(found) == 1:
        return _known(found[0])
    many = f"{text!r} could be {len(found)} operations"
    raise NoSuchCheckpoint(many if found else f"there is no operation {text!r}", hint=_LIST)


def _known(operation: Operation) -> Move:
    if isinstance(operation, Pruned):
        raise NoSuchCheckpoint(
            f"{operation.id} moved no files here: it was a prune {_pruned(operation)}",
            hint=("to bring them back: ", Command("prune", "--restore", operation.id)),
        )
    if operation.kind == PURGE:
        raise NoSuchCheckpoint(
            f"{operation.id} moved no files here: it was a purge", hint="it cannot be undone"
        )
    if not isinstance(operation, Move):
        raise NoSuchCheckpoint(
            f"what was there around the {shown(operation.kind)} {operation.id} is known to a newer "
            "takeback",
            hint="upgrade takeback",
        )
    return operation


def state_named(ledger: Ledger, operations: Sequence[Operation], text: str) -> Checkpoint | None:
    """Returns the checkpoint that ``OP.before`` or ``OP.after`` means; None for any other name.

    Raises NoSuchCheckpoint if no checkpoint has the state after an operation.
    """
    name, dot, side = text.rpartition(".")
    if not dot or side not in (BEFORE, AFTER):
        return None
    operation = find_operation(operations, name)
    words = f"{side} {named(operation)}"
    if side == AFTER:
        return state_after(ledger, operation, words)
    found = ledger.by_id(operation.before)
    if found is None:
        raise NoSuchCheckpoint(f"the state {words} is in no checkpoint", hint=_LIST)
    return found.replace(prompt=words)


def state_after(ledger: Ledger, operation: Move, words: str) -> Checkpoint:
    """Returns the checkpoint of the state that an operation left; raises NoSuchCheckpoint.

    An operation on some paths, or one that left some alone, may leave a state that no checkpoint
    has.
    """
    target = None if operation.target is None else ledger.by_id(operation.target)
    exact = target is not None and target.snapshot == operation.after
    found = target if exact else ledger.with_snapshot(operation.after)
    if found is None:
        raise NoSuchCheckpoint(
            f"the state {words} is in no checkpoint",
            hint=(f"what was there before it: {operation.id}.before; ", *_LIST),
        )
    return found


def is_state_name(text: str) -> bool:
    """Tells whether a name is of the form ``OP.before`` or ``OP.after``."""
    return text.endswith((f".{BEFORE}", f".{AFTER}"))


def hint_for(operations: Sequence[Operation], text: str) -> str:
    """Returns a hint for somebody who named an operation as if it were a checkpoint."""
    name = text.partition(".")[0]
    for one in operations:
        if len(name) >= _SHORTEST and one.id.startswith(name):
            return f"that is an operation; its states are {one.id}.before and {one.id}.after"
    return ""
