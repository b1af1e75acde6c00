"""The objections to a plan, as questions that a person answers one by one."""

from __future__ import annotations

from takeback.model.operation import CONFLICTS, DURING_TURN, MASS_DELETE, OTHERS
from takeback.model.value import Value
from takeback.visible import shown
from takeback.words.text import NOTHING_CHANGED, count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.model.coverage import Waiver
    from takeback.model.operation import Plan, Refusal, RefusalCode

GO_ON = "Go on all the same"
NOT_WAIVED = "Nothing waives this. " + NOTHING_CHANGED
DELETE = "delete"
"""The word that has to be typed before most of the files are deleted."""


class Answer(Value):
    """One way to answer a refusal: its words, and the field of ``Overrides`` that it sets."""

    title: str
    field: Waiver


class Question(Value):
    """A refusal as a question of its own: the objection, and what going on means.

    Without ``answers`` it cannot be waived. ``paths`` are those that it is about, ``word`` has to
    be typed before the first answer counts.
    """

    title: str
    consequence: str
    answers: tuple[Answer, ...]
    paths: tuple[bytes, ...] = ()
    word: str | None = None


_CONSEQUENCES: dict[RefusalCode, str] = {
    "during_turn": (
        "It may write the same files again while they go back, or after, and what it then "
        "writes is in no plan that was shown here."
    ),
    "others": "Overwritten, their versions are saved first, and undo brings them back.",
    "mass_delete": "Each is saved first, and undo brings it back.",
    "during_git": (
        "The files go back; what git is in the middle of stays, and may then be about files "
        "that are no longer as it left them."
    ),
    "other_branch": (
        "The files of then come onto the branch of now; branch and commits stay as they are."
    ),
}
_WAYS: dict[Waiver, str] = {
    "during_turn": GO_ON,
    "keep_others": "Leave them as they are, take back the rest",
    "overwrite_others": "Overwrite them",
    "mass_delete": "Delete them",
    "during_git": GO_ON,
    "other_branch": GO_ON,
}
_AGREED: dict[Waiver, str] = {
    "during_turn": "although an agent is working here",
    "keep_others": "what another session changed is left as it is",
    "overwrite_others": "also what another session changed",
    "mass_delete": "although most of the files are deleted",
    "during_git": "although git is in the middle of something",
    "other_branch": "although another branch is checked out",
}
ANSWERABLE = tuple(_AGREED)
"""The fields of ``Overrides`` that an answer can set."""


def refusal(found: Refusal, plan: Plan) -> Question:
    """Returns a refusal of a plan as a question."""
    message = shown(found.message)
    if found.code != DURING_TURN:  # that one begins with the agent's name
        message = message[:1].upper() + message[1:]
    title = f"{message}."
    answers = tuple(Answer(_WAYS[one], one) for one in found.waivers)
    if not answers:
        return Question(title, NOT_WAIVED, ())
    return Question(
        title,
        _CONSEQUENCES[found.code],
        answers,
        paths=plan.others if found.code == OTHERS else (),
        word=DELETE if found.code == MASS_DELETE else None,
    )


def refused_lines(plan: Plan) -> Iterator[str]:
    """Yields the objections to a plan, and whether they can be answered."""
    for found in objections(plan):
        yield f"refused: {refusal(found, plan).title}"
    if not can_be_answered(plan):
        yield "It cannot be done now."
    elif plan.refused:
        yield questions_first(plan)


def objections(plan: Plan) -> tuple[Refusal, ...]:
    """Returns what speaks against a plan, apart from its conflicts: about those one chooses."""
    return tuple(found for found in plan.refused if found.code != CONFLICTS)


def questions_first(plan: Plan) -> str:
    """Says how many questions have to be answered before a refused plan can be carried out."""
    against = objections(plan)
    questions = len(against) + sum(one.count for one in plan.conflicts)
    how = "It can be done all the same" if against else "You choose where both changed the same"
    return f"{how}; {count(questions, 'question')} first."


def type_it(word: str) -> str:
    """Says which word has to be typed."""
    return f"Type the word {word} to go on:"


def not_it(typed: str) -> str:
    """Says that another word was typed."""
    return f'"{shown(typed.strip())}" is not the word.' if typed.strip() else "No word was typed."


def can_be_answered(plan: Plan) -> bool:
    """Tells whether every objection to a plan can be waived, one by one."""
    return all(refusal(found, plan).answers for found in objections(plan))


def agreed_lines(fields: Sequence[Waiver]) -> Iterator[str]:
    """Yields what was agreed to before this plan was made."""
    if fields:
        yield "You agreed:"
    for field in fields:
        yield f"  {_AGREED[field]}"
