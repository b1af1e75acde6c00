"""The objections to a plan, asked line by line: one question each, as in the picker."""

from __future__ import annotations

from takeback.cli.numbers import ask_number
from takeback.words import plans
from takeback.words.text import shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.model.operation import Plan
    from takeback.words.plans import Question


class Refusals:
    """Asks with ``ask``, which returns None if the person steps back; ``ways`` says how to."""

    def __init__(
        self, ask: Callable[[str], str | None], say: Callable[[str], None], *, ways: str
    ) -> None:
        self._ask = ask
        self._say = say
        self._ways = ways

    def answers(self, plan: Plan) -> dict[str, bool] | None:
        """Returns the chosen fields of ``Overrides``; None if the person steps back."""
        given: dict[str, bool] = {}
        for found in plans.objections(plan):
            field = self._answer(plans.refusal(found, plan))
            if field is None:
                return None
            given[field] = True
        return given

    def _answer(self, question: Question) -> str | None:
        self._say(question.title)
        for path in question.paths:
            self._say(f"  {shown_file(path)}")
        self._say(question.consequence)
        if question.word is not None:
            return self._word(question.word, question.answers[0].field)
        for at, answer in enumerate(question.answers, 1):
            self._say(f"{at:>4}  {answer.title}")
        number = ask_number(
            lambda: self._ask(f"number, {self._ways}: "), self._say, len(question.answers)
        )
        return None if number is None else question.answers[number - 1].field

    def _word(self, word: str, field: str) -> str | None:
        while True:
            typed = self._ask(f"{plans.type_it(word)} ")
            if typed is None:
                return None
            if typed == word:
                return field
            self._say(plans.not_it(typed))
