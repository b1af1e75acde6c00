"""What the journal keeps of an operation under way: its line of the log, and what is left to do."""

from __future__ import annotations

from takeback.errors import Command, StoreDamaged, StoreTooNew
from takeback.model import codec
from takeback.model.coverage import Coverage
from takeback.model.goal import Goal
from takeback.model.ids import SnapshotId
from takeback.model.operation import Move
from takeback.model.operation import decode as decode_operation
from takeback.model.path_text import to_bytes, to_text
from takeback.model.plan import LeftAlone
from takeback.model.value import Value
from takeback.ops.child import Child
from takeback.store import journal
from takeback.worktree import unit as units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.store.locked import Locked
    from takeback.store.store import Store
    from takeback.worktree.unit import Unit


class JournalEntry(Value):
    """Everything that recovery needs to finish an operation, or to roll it back.

    ``operation`` is the line of the log as far as it is known before the end, ``left_alone`` what
    the plan leaves alone, ``child`` the session to be written. ``goal`` is where it goes if that is
    not a checkpoint, which the operation would name. ``back`` says that a roll-back has begun,
    after which there is no way forward.
    """

    operation: Move
    units: tuple[Unit, ...]
    left_alone: tuple[LeftAlone, ...] = ()
    child: Child | None = None
    goal: Goal | None = None
    back: bool = False


def write(locked: Locked, entry: JournalEntry) -> None:
    """Keeps the entry, flushed."""
    record = {
        "operation": codec.encode(entry.operation),
        "units": [units.encode(unit) for unit in entry.units],
        "left_alone": [codec.encode(item) for item in entry.left_alone],
        "child": None if entry.child is None else codec.encode(entry.child),
        "goal": None if entry.goal is None else _encode_goal(entry.goal),
        "back": entry.back,
    }
    journal.write(locked, record)


def read(store: Store) -> JournalEntry | None:
    """Returns the entry, None if no operation is under way.

    Raises StoreDamaged if it cannot be read, StoreTooNew if a newer takeback began it.
    """
    record = journal.read(store)
    if record is None:
        return None
    try:
        return _decode(record)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise StoreDamaged(
            f"the journal {store.path('journal')} is not readable",
            hint=("run: ", Command("doctor", "--fix")),
        ) from None


def _decode(record: dict[str, Any]) -> JournalEntry:
    operation = decode_operation(record["operation"])
    if not isinstance(operation, Move):
        raise StoreTooNew(
            f"an interrupted {operation.kind} was found, which a newer takeback began",
            hint="upgrade takeback; nothing was changed",
        )
    child, goal = record["child"], record["goal"]
    return JournalEntry(
        operation,
        tuple(units.decode(unit) for unit in record["units"]),
        tuple(codec.decode(LeftAlone, item) for item in record["left_alone"]),
        None if child is None else codec.decode(Child, child),
        None if goal is None else _decode_goal(goal, operation.about),
        record["back"] is True,
    )


def _encode_goal(goal: Goal) -> dict[str, Any]:
    coverage = to_text(goal.coverage.encode())
    return {"tree": goal.tree, "saved": goal.saved, "coverage": coverage}


def _decode_goal(record: dict[str, Any], about: str | None) -> Goal:
    coverage = Coverage.decode(to_bytes(record["coverage"]))
    return Goal(SnapshotId(record["tree"]), coverage, record["saved"], about)
