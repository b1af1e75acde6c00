"""The conflicts of a plan, asked line by line: one question for each disputed stretch."""

from __future__ import annotations

from takeback.cli.refusals import number_of
from takeback.model.merge import SKIP, ConflictChoices
from takeback.visible import shown
from takeback.words import conflicts as words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from takeback.model.lines import Disputed
    from takeback.model.merge import Conflict, ConflictChoice
    from takeback.words.paint import Paint


class Conflicts:
    """Asks with ``ask``, which returns None if the person steps back."""

    def __init__(
        self, ask: Callable[[str], str | None], say: Callable[[str], None], paint: Paint
    ) -> None:
        self._ask = ask
        self._say = say
        self._paint = paint

    def answers(self, found: Sequence[Conflict]) -> ConflictChoices | None:
        """Returns what was chosen for each path; None if the person steps back."""
        chosen: dict[bytes, tuple[ConflictChoice, ...]] = {}
        for conflict in found:
            self._say(f"{words.title(conflict)}.")
            given = self._for(conflict)
            if given is None:
                return None
            chosen[conflict.path] = (*chosen.get(conflict.path, ()), *given)
        return ConflictChoices(chosen)

    def _for(self, conflict: Conflict) -> tuple[ConflictChoice, ...] | None:
        stretches: Sequence[Disputed | None] = conflict.hunks or (None,)
        given: list[ConflictChoice] = []
        for stretch in stretches:
            one = self._one(conflict, stretch)
            if one is None:
                return None
            given.append(one)
            if one == SKIP:
                return (one,) * len(stretches)
        return tuple(given)

    def _one(self, conflict: Conflict, stretch: Disputed | None) -> ConflictChoice | None:
        if stretch is not None:
            for line in words.stretch_lines(stretch, self._paint):
                self._say(line)
        for at, name in enumerate(conflict.choices, 1):
            self._say(f"{at:>4}  {words.choice(name)} ({name})")
        while True:
            typed = self._ask("number or word, or q: ")
            if typed is None:
                return None
            number = number_of(typed, len(conflict.choices))
            if number is not None:
                return conflict.choices[number - 1]
            for name in conflict.choices:
                if typed.lower() == name:
                    return name
            self._say(f"{shown(typed)} is not in the list.")
