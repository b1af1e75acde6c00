"""The command that a person types as a prompt, in the agent itself.

    /takeback            the newest turns
    /takeback 3 yes      goes to a place: a turn, a time, whatever the command line takes
    /takeback WORD ...   does what else there is; ``vocabulary`` is the table of it

The prompt hook answers, so no model is asked and no turn begins. Nothing is changed without
``yes``, and what the command line refuses is refused here too, with the flag that overrides it.
"""

from __future__ import annotations

from takeback.errors import TakebackError
from takeback.prompt_command import typed, vocabulary
from takeback.prompt_command.answering import Answered, shown_lines
from takeback.words import choices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.engine import Engine


def words_for(command: str, prompt: str) -> list[str] | None:
    """Returns the words after ``command`` in a prompt that is meant for takeback; else None."""
    first, *words = prompt.split() or [""]
    return words if first == command and "\n" not in prompt.strip() else None


def answer(
    tb: Engine, session: str, words: list[str], *, command: str, follows: bool = False
) -> Answered:
    """Answers a person who calls takeback by ``command``.

    A host that ``follows`` continues with a new session by itself: the answer does not say how to.
    """
    try:
        return vocabulary.answer(tb, session, typed.read(command, words, follows=follows))
    except TakebackError as error:
        line = typed.line(command, words)
        told = choices.inside(error, line, vocabulary.COMMANDS)
        return shown_lines(f"takeback: {choices.said(error).message}", told)
