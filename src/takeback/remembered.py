"""Remembers what was read lately, within a bound: what was used last stays, the oldest goes.

A program that stays open (the server, the picker, an agent's extension) reads a whole history in
the course of months. Whatever it keeps of that for the next time is kept in one of these;
docs/design/memory.md names each of them with its room.
"""

from __future__ import annotations

from takeback.c_modules import OrderedDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Generic, TypeVar

    K = TypeVar("K")
    V = TypeVar("V")

    class _Typed(Generic[K, V]):
        """What type checkers see; ``typing`` would cost a hook some milliseconds."""

else:
    K = V = None

    class _Typed:
        def __class_getitem__(cls, _):
            return cls


class Remembered(_Typed[K, V]):
    """Values by their keys. What all of them weigh is never more than ``room``.

    Only the newest ``at_least`` stay whatever they weigh: a value that is needed again at once is
    not read twice because it is a large one.
    """

    __slots__ = ("_at_least", "_found", "_room", "_weight")

    def __init__(self, room: int, *, at_least: int = 0) -> None:
        # Of a plain dict the oldest is found only past the places of all that went before it.
        self._found: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._room = room
        self._at_least = at_least
        self._weight = 0

    def __len__(self) -> int:
        return len(self._found)

    @property
    def weight(self) -> int:
        """What is remembered weighs so much."""
        return self._weight

    def get(self, key: K) -> V | None:
        """Returns what is remembered, and makes it the last to go."""
        found = self._found.get(key)
        if found is None:
            return None
        self._found.move_to_end(key)
        return found[0]

    def add(self, key: K, value: V, weight: int = 1) -> None:
        """Remembers a value; for that, as many of the oldest go as it takes."""
        if weight > self._room and not self._at_least:
            return
        before = self._found.pop(key, None)
        if before is not None:
            self._weight -= before[1]
        self._found[key] = value, weight
        self._weight += weight
        while self._weight > self._room and len(self._found) > self._at_least:
            _, (_, gone) = self._found.popitem(last=False)
            self._weight -= gone

    def clear(self) -> None:
        """Forgets everything."""
        self._found.clear()
        self._weight = 0
