"""The words that can be typed: one table, which the usage and the parser follow."""

from __future__ import annotations

import time

from takeback.app import proposal as proposals
from takeback.model.agent import summary_way
from takeback.model.conflicts import ConflictChoices
from takeback.model.operation import BOTH, FILES, FORK, REDO, REVERT, SCOPES, SUMMARISE, UNDO
from takeback.model.path_text import to_text
from takeback.model.value import Value
from takeback.prompt_command.answering import Answered, proposed, shown_lines
from takeback.rewind.request import NOTHING, keeping_of
from takeback.words.listing import Columns
from takeback.words.plans import plan_lines
from takeback.words.status import status_lines
from takeback.words.text import Paint, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from takeback.app.engine import Engine
    from takeback.model.operation import ScopeKind, StepKind
    from takeback.prompt_command.typed import Typed

_NEWEST = 10
_MANY = 100
_HELP = "help"
_TURN_END = "end"
_PLAIN = Paint(on=False)


class Word(Value):
    """A word that a person begins with, and what it does.

    ``forms`` are what is typed after the command, each with what it does: the usage. ``answer``
    does it. ``least`` and ``most`` say how many names follow the word; ``scopes``, ``keeps`` and
    ``merges`` which words about the way it is done go with it. Anything else is a slip.
    """

    forms: tuple[tuple[str, str], ...]
    answer: Callable[[Engine, str, Typed], Answered]
    least: int = 0
    most: int = 0
    scopes: tuple[ScopeKind, ...] = ()
    keeps: bool = False
    merges: bool = False

    def takes(self, names: int, typed: Typed) -> bool:
        """Tells whether what was typed can be meant."""
        return (
            self.least <= names <= self.most
            and (typed.scope is None or typed.scope in self.scopes)
            and (typed.keep == NOTHING or self.keeps)
            and (typed.conflicts is None or self.merges)
        )


def answer(tb: Engine, session: str, typed: Typed) -> Answered:
    """Does what was typed; what cannot be meant is answered with all that can be."""
    if not typed.wanted:
        return _NO_WORD.answer(tb, session, typed)
    first, *names = typed.wanted
    word = _WORDS.get(first, _PLACE)
    unknown = any(word.startswith("-") for word in typed.wanted)  # an option, or a wish for help
    if unknown or first == _HELP or not word.takes(len(names), typed):
        return shown_lines(*_usage(typed.command))
    return word.answer(tb, session, typed)


def _usage(command: str) -> list[str]:
    known = list(usage(command))
    room = max(len(form) for form, _ in known)
    return [f"{form:<{room}}  {does}" for form, does in known]


def _turn(word: str) -> str:
    """Returns the name that a number stands for: of a turn, of a step of it, or of its end."""
    number, *part = word.split(".", 1)
    named = number.isdigit() and all(one.isdigit() or one == _TURN_END for one in part)
    return f"turn:{word}" if named else word


def _turns(tb: Engine, session: str, typed: Typed) -> Answered:
    columns = Columns(tb.turns_behind(session, limit=_NEWEST), _PLAIN, time.time())
    command, lines = typed.command, list(columns.all_lines())
    ways = f"Go back to before one: {command} N; take back only one: {command} revert N"
    more = f"All that can be typed: {command} {_HELP}"
    return shown_lines(*(lines or ["No turn yet."]), ways, more)


def _rewind(tb: Engine, session: str, typed: Typed) -> Answered:
    [place] = typed.wanted
    keeping = keeping_of(typed.keep, typed.conflicts)
    going = proposals.rewind_to(
        tb, _turn(place), scope=typed.scope, session=session, keeping=keeping
    )
    return proposed(tb, going, typed)


def _revert(tb: Engine, session: str, typed: Typed) -> Answered:
    turns = [tb.turn(_turn(name), session=session) for name in typed.wanted[1:]]
    choices = ConflictChoices(otherwise=typed.conflicts)
    return proposed(tb, proposals.revert(turns, choices=choices), typed)


def _fork(tb: Engine, session: str, typed: Typed) -> Answered:
    target = tb.find(_turn(typed.wanted[1]), session=session)
    return proposed(tb, proposals.fork(target, files=typed.scope in (FILES, BOTH)), typed)


def _summarise(tb: Engine, session: str, typed: Typed) -> Answered:
    """Shows what would be sent; a model takes longer than a person waits for a prompt."""
    _, place, way = typed.wanted
    target = tb.find(_turn(place), session=session)
    going = proposals.summarise(target, summary_way(way), session=session)
    words = ("takeback", "summarise", target.id, f"--{way}", "--session", session)
    line = " ".join(quoted(word) for word in words)
    return shown_lines(
        *plan_lines(going.plan(tb), _PLAIN, whole=typed.whole),
        f"To do it, in a terminal: cd {quoted(to_text(tb.root))} && {line}",
    )


def _step(kind: StepKind) -> Callable[[Engine, str, Typed], Answered]:
    def answer(tb: Engine, session: str, typed: Typed) -> Answered:
        if typed.agreed:
            proposals.recover_before(tb, kind)
        return proposed(tb, proposals.next_step(tb, kind), typed)

    return answer


def _status(tb: Engine, session: str, typed: Typed) -> Answered:
    return shown_lines(*status_lines(tb.status(), _PLAIN, time.time()))


def usage(command: str) -> Iterator[tuple[str, str]]:
    """Yields all that can be typed, each with what it does."""
    for word in (_NO_WORD, _PLACE, *_WORDS.values()):
        yield from ((f"{command} {form}".rstrip(), does) for form, does in word.forms)


_NO_WORD = Word((("", "the newest turns"),), _turns)
_PLACE = Word(
    (
        ("3", "what going back to before turn 3 would do (or 10m: ten minutes ago)"),
        ("3 yes", "do it: files and conversation (a time: the files)"),
        ("3 files yes", "the files alone (or: conversation)"),
        ("3 keep-edits yes", "do it, and keep what you typed yourself since"),
        ("3 mine yes", "take back only what this session changed since"),
        ("3 yes --FLAG", "although something speaks against it, which names its flag"),
    ),
    _rewind,
    scopes=SCOPES,
    keeps=True,
    merges=True,
)
_WORDS: dict[str, Word] = {
    REVERT: Word(
        (("revert 3 yes", "take back turn 3 only, and keep what came later"),),
        _revert,
        least=1,
        most=_MANY,
        scopes=(FILES,),
        merges=True,
    ),
    FORK: Word(
        (
            ("fork 3 yes", "begin a new session with the conversation before turn 3"),
            ("fork 3 files yes", "the same, and bring the files back to it, too"),
        ),
        _fork,
        least=1,
        most=1,
        scopes=SCOPES,
    ),
    SUMMARISE: Word(
        (
            (
                "summarise 3 from",
                "what a summary from there on would take, and its line (or: up-to)",
            ),
        ),
        _summarise,
        least=2,
        most=2,
    ),
    UNDO: Word((("undo yes", "take the last rewind, revert or fork back"),), _step(UNDO)),
    REDO: Word((("redo yes", "take the last undo back"),), _step(REDO)),
    "status": Word((("status", "how much is kept here, and what went wrong"),), _status),
}
"""What can be typed beside a place, in the order of the usage; a new word is a new row."""
COMMANDS: Mapping[str, str] = {"log": "", **{word: word for word in _WORDS}}
"""What stands here for a command of the command line."""
