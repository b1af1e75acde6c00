"""The boxes that are ticked in the detail: those of files, and those of single hunks.

A file's tick is all of its hunks, and all of its hunks are the file: its permission bits go with
them, whereas they stay if only some hunks are ticked.
"""

from __future__ import annotations

from takeback.app.ticks import Ticked, TickedHunks
from takeback.model.checkpoint import Change
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.operation import Plan

TICKED, PARTLY, NOT_TICKED = "[x]", "[-]", "[ ]"


class Tickable(Value):
    """A text whose hunks can be ticked one by one, and how many there are."""

    change: Change
    count: int


class Ticks:
    """What is ticked now; two widgets draw it."""

    def __init__(self) -> None:
        self._files: set[bytes] = set()
        self._hunks: dict[bytes, TickedHunks] = {}

    @property
    def value(self) -> Ticked:
        return Ticked(frozenset(self._files), tuple(self._hunks.values()))

    def box(self, path: bytes) -> str:
        """Returns the box of a file."""
        return TICKED if path in self._files else PARTLY if path in self._hunks else NOT_TICKED

    def hunk_box(self, text: Tickable, number: int) -> str:
        """Returns the box of a hunk."""
        return TICKED if number in self._numbers(text) else NOT_TICKED

    def turn_file(self, path: bytes) -> None:
        """Ticks a file, also one that is ticked in part, or unticks it."""
        self._hunks.pop(path, None)
        self._files ^= {path}

    def turn_hunk(self, text: Tickable, number: int) -> None:
        """Ticks or unticks a hunk."""
        path = text.change.path
        numbers = self._numbers(text) ^ {number}
        self._files.discard(path)
        self._hunks.pop(path, None)
        if len(numbers) == text.count:
            self._files.add(path)
        elif numbers:
            self._hunks[path] = TickedHunks(text.change, numbers)

    def _numbers(self, text: Tickable) -> frozenset[int]:
        path = text.change.path
        if path in self._files:
            return frozenset(range(text.count))
        found = self._hunks.get(path)
        return frozenset() if found is None or found.change != text.change else found.numbers

    def clear(self) -> None:
        self._files.clear()
        self._hunks.clear()

    def clear_hunks(self) -> None:
        """Unticks the hunks and leaves the files: an operation has changed what they are of."""
        self._hunks.clear()

    def drop_outdated(self, plan: Plan) -> list[bytes]:
        """Unticks hunks of changes that a new plan does not make; returns the paths."""
        made = {change.path: change for change in (*plan.writes, *plan.deletes)}
        gone = [path for path, one in self._hunks.items() if made.get(path) != one.change]
        for path in gone:
            del self._hunks[path]
        return gone
