"""The conflicts of a plan, asked line by line: one question for each disputed stretch."""

from __future__ import annotations

from takeback.app.disputes import Disputes
from takeback.cli.numbers import ask_number
from takeback.words import outcomes as words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.app.disputes import Dispute
    from takeback.model.merge import Conflict, ConflictChoice, ConflictChoices
    from takeback.model.operation import Plan
    from takeback.words.text import Paint


class Conflicts:
    """Asks with ``ask``, which returns None if the person steps back; ``ways`` says how to."""

    def __init__(
        self,
        ask: Callable[[str], str | None],
        say: Callable[[str], None],
        paint: Paint,
        *,
        ways: str,
    ) -> None:
        self._ask = ask
        self._say = say
        self._paint = paint
        self._ways = ways

    def answers(self, plan: Plan, before: ConflictChoices) -> ConflictChoices | None:
        """Returns what was chosen, ``before`` included; None if the person steps back."""
        disputes = Disputes(plan.conflicts, plan.kind, before)
        last: Conflict | None = None
        while (dispute := disputes.next) is not None:
            if dispute.conflict is not last:
                last = dispute.conflict
                self._say(f"{words.title(last, dispute.kind)}.")
            chosen = self._one(dispute)
            if chosen is None:
                return None
            disputes.settle(chosen)
        return disputes.chosen

    def _one(self, dispute: Dispute) -> ConflictChoice | None:
        conflict, stretch = dispute.conflict, dispute.stretch
        if stretch is not None:
            for line in words.stretch_lines(stretch, dispute.kind, self._paint):
                self._say(line)
        for at, name in enumerate(conflict.choices, 1):
            self._say(f"{at:>4}  {words.choice(name)} ({name})")
        number = ask_number(
            lambda: self._ask(f"number or word, {self._ways}: "),
            self._say,
            len(conflict.choices),
            {name: at for at, name in enumerate(conflict.choices, 1)},
        )
        return None if number is None else conflict.choices[number - 1]
