"""Disputes: the conflicts of a plan as questions, one disputed stretch after the other.

    a.txt  stretch 1 ── a.txt  stretch 2 ── b.bin ── ... ── what was chosen

Whoever leaves a whole file as it is is not asked about its other stretches.
"""

from __future__ import annotations

from takeback.model.merge import NOTHING_CHOSEN, SKIP, Conflict
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from takeback.model.lines import Disputed
    from takeback.model.merge import ConflictChoice, ConflictChoices
    from takeback.model.operation import OperationKind


class Dispute(Value):
    """One question: a conflict, the stretch of it if it has any, and which of how many it is.

    ``kind`` is the operation that it is about.
    """

    conflict: Conflict
    stretch: Disputed | None
    number: int
    of: int
    kind: OperationKind


class Disputes:
    """Asks about the conflicts of an operation in order.

    ``before`` is what was chosen until now about others.
    """

    def __init__(
        self,
        found: Iterable[Conflict],
        kind: OperationKind,
        before: ConflictChoices = NOTHING_CHOSEN,
    ) -> None:
        self._found = tuple(found)
        self._kind = kind
        self._before = before
        self._asked = [
            (at, stretch)
            for at, conflict in enumerate(self._found)
            for stretch in conflict.hunks or (None,)
        ]
        self._given: list[tuple[int, ConflictChoice]] = []
        """The questions that were answered, each with the choice."""

    def __len__(self) -> int:
        return len(self._asked)

    def __iter__(self) -> Iterator[Dispute]:
        return map(self._dispute, range(len(self)))

    @property
    def next(self) -> Dispute | None:
        """Returns the question that comes next; None if all are answered."""
        number = self._next()
        return None if number == len(self) else self._dispute(number)

    def _dispute(self, number: int) -> Dispute:
        at, stretch = self._asked[number]
        return Dispute(self._found[at], stretch, number + 1, len(self), self._kind)

    def _next(self) -> int:
        if not self._given:
            return 0
        number, choice = self._given[-1]
        at, _ = self._asked[number]
        number += 1
        while choice == SKIP and number < len(self) and self._asked[number][0] == at:
            number += 1
        return number

    def settle(self, choice: ConflictChoice) -> None:
        """Answers the question that comes next."""
        self._given.append((self._next(), choice))

    def step_back(self) -> bool:
        """Withdraws the last answer; False if there is none."""
        if self._given:
            self._given.pop()
            return True
        return False

    @property
    def chosen(self) -> ConflictChoices:
        """Returns everything that was chosen, now and before."""
        given: dict[int, list[ConflictChoice]] = {}
        for number, choice in self._given:
            given.setdefault(self._asked[number][0], []).append(choice)
        return self._before.with_more(
            (self._found[at], _whole(self._found[at], choices)) for at, choices in given.items()
        )


def _whole(conflict: Conflict, choices: list[ConflictChoice]) -> tuple[ConflictChoice, ...]:
    """Returns a choice for each stretch: who skips the file skips all of it."""
    if SKIP in choices:
        choices = [SKIP] * conflict.count
    return tuple(choices)
