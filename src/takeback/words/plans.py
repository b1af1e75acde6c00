"""Plans in words: what happens to which file, and the questions that a person answers."""

from __future__ import annotations

from takeback.model.checkpoint import ADDED, DELETED, MODE, TYPE
from takeback.model.operation import (
    APPLY,
    CONFLICTS,
    DURING_TURN,
    MASS_DELETE,
    OTHERS,
    REWIND,
    changed_too,
)
from takeback.model.sensitive import is_sensitive
from takeback.model.value import Value
from takeback.rewind.request import ALL_OTHERS, EDITS
from takeback.visible import shown
from takeback.words import outcomes
from takeback.words.changes import ANOTHER_SESSION, OWN_EDIT
from takeback.words.outcomes import (
    beyond_lines,
    counts,
    fits,
    kept_lines,
    left_alone_lines,
    listed,
    sending_lines,
    short,
)
from takeback.words.sessions import whose
from takeback.words.text import NOTHING_CHANGED, count, mark, patch_lines, shown_file, shown_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.merge.picking import Offer
    from takeback.model.checkpoint import Change
    from takeback.model.conflicts import ShownHunk, TextChange
    from takeback.model.coverage import Waiver
    from takeback.model.entries import Turn
    from takeback.model.operation import OperationKind, Plan, Refusal, RefusalCode
    from takeback.words.outcomes import Ways
    from takeback.words.text import Paint


# -- the objections to a plan, as questions that a person answers one by one


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


# -- picking in words: what is asked about each hunk and each file, and what can be answered


_LINES = 40
_KEYS = {
    "y": ("yes", "take this back"),
    "n": ("no", "leave it as it is"),
    "a": ("all", "take it back, and all that follows in the file"),
    "d": ("done", "leave it, and all that follows in the file"),
    "s": ("split", "ask about its parts, one by one"),
    "e": ("edit", "change the hunk in your editor first"),
    "q": ("quit", "leave it, and all that follows; what you took before counts"),
    "?": ("help", "say what can be answered"),
}
_APPLIED = {
    "y": ("yes", "bring this in"),
    "a": ("all", "bring it in, and all that follows in the file"),
}


def key(typed: str, keys: str) -> str | None:
    """Returns the key that was meant, which may be typed as a word; None if there is none."""
    meant = typed.lower()
    return next((one for one in keys if meant in (one, _KEYS[one][0])), None)


def help_lines(keys: str, kind: OperationKind) -> Iterator[str]:
    """Yields what each answer means."""
    for one in keys:
        word, about = _APPLIED.get(one, _KEYS[one]) if kind == APPLY else _KEYS[one]
        yield f"  {one}, {word:<6} {about}"


def hunk_lines(text: TextChange, hunk: ShownHunk, paint: Paint) -> Iterator[str]:
    """Yields a hunk as it is shown."""
    yield from patch_lines(text.patch(hunk), paint, short=True)


def offer_lines(offer: Offer, text: TextChange | None, paint: Paint) -> Iterator[str]:
    """Yields what would happen to a file as a whole."""
    for hunk in text.shown() if text is not None else ():
        lines = list(hunk_lines(text, hunk, paint)) if text is not None else []
        yield from lines[:_LINES]
        if len(lines) > _LINES:
            yield f"... and {count(len(lines) - _LINES, 'line')} more"
    if offer.below:
        yield f"with {count(offer.below, 'path')} below it"


def not_asked_lines(plan: Plan, offers: Sequence[Offer]) -> Iterator[str]:
    """Names the files that cannot be picked: those that no snapshot has."""
    asked = {change.path for offer in offers for change in (offer.change, *offer.below)}
    for change in (*plan.writes, *plan.deletes):
        entry = change.new or change.old
        if entry is not None and not entry.is_directory and change.path not in asked:
            yield f"{shown_file(change.path)}: git ignores it, so it stays; name it without --patch"


def file_line(change: Change, paint: Paint) -> str:
    """Names the file that is asked about."""
    return paint.strong(shown_file(change.path))


def hunk_question(at: int, of: int, kind: OperationKind) -> str:
    """Asks about one hunk of what an operation would change."""
    what = "Apply this hunk" if kind == APPLY else "Take this hunk back"
    return f"({at}/{of}) {what}"


def mode_question(change: Change, kind: OperationKind) -> str:
    """Asks about the permission bits of a file."""
    was, then = (entry.mode & 0o777 if entry else 0 for entry in (change.old, change.new))
    back = "" if kind == APPLY else "back "
    return f"Change its permission bits from {was:04o} {back}to {then:04o}"


def whole_question(change: Change, kind: OperationKind) -> str:
    """Asks about something that has no hunks."""
    if change.kind == MODE:
        return mode_question(change, kind)
    thing = _thing(change)
    if kind == APPLY:
        asked = {ADDED: f"Create this {thing}", TYPE: f"Put a {thing} in its place"}
        other = f"Replace this {thing}"
    else:
        asked = {ADDED: f"Bring this {thing} back", TYPE: f"Put the {thing} back in its place"}
        other = f"Take this {thing} back"
    asked[DELETED] = f"Delete this {thing}"
    return asked.get(change.kind, other)


def with_keys(question: str, keys: str) -> str:
    """Returns a question with the keys that answer it."""
    return f"{question} [{','.join(keys)}]? "


def _thing(change: Change) -> str:
    entry = change.new or change.old
    if entry is not None and entry.is_directory:
        return "directory"
    return "link" if entry is not None and entry.is_link else "file"


# -- a plan in lines of text: what happens to which file, each named once, and what goes with it


_UNDO_SNAPSHOT = "undo"
_VERBS = {
    "added": "create",
    "modified": "write",
    "mode": "change mode of",
    "type": "replace",
    "deleted": "delete",
}


def plan_lines(
    plan: Plan, paint: Paint, *, whole: bool, ways: Ways = outcomes.NO_WAYS
) -> Iterator[str]:
    """Yields the plan: what is written, deleted, left alone, and the objections.

    ``ways`` is what a person says or presses here to have it another way.
    """
    if plan.whose is not None:
        yield whose(plan.whose, ways.session)
    if plan.sending is not None:
        yield from sending_lines(plan.sending)
    yield from _change_lines(plan, paint, whole=whole)
    yield from _own_lines(plan, ways.keep.get(EDITS, ""))
    yield from _other_lines(plan, ways.keep.get(ALL_OTHERS, ""))
    then = plan.goal.checkpoint
    if then is not None and then.kind == _UNDO_SNAPSHOT and plan.turns:
        yield f"{count(plan.turns, 'turn')} since then, taken back too:"
        yield from listed([_turn(turn) for turn in plan.turns], whole=whole)
    if plan.saved:
        yield "not in any checkpoint, saved first:"
        yield from listed([shown_file(path) for path in plan.saved], whole=whole)
    yield from left_alone_lines(plan.left_alone, "left alone", ways)
    yield from beyond_lines(plan, whole=whole)
    if plan.goes_on is not None:
        yield f"The conversation goes on as session {shown(plan.goes_on)}"
    yield from kept_lines(plan, whole=whole)
    if plan.conflicts:
        yield f"{changed_too(plan.kind)}:"
        yield from listed([outcomes.title(one, plan.kind) for one in plan.conflicts], whole=whole)
    for warning in plan.warnings:
        yield paint.warning(shown(warning))
    for refusal in plan.refused:
        flag = outcomes.flag(refusal)
        same = f"; to do it all the same: {flag}" if flag else ""
        yield paint.deleted(f"refused: {shown(outcomes.sentence(refusal))}{same}")


def _change_lines(plan: Plan, paint: Paint, *, whole: bool) -> Iterator[str]:
    own = frozenset() if _is_all_own(plan) else frozenset(plan.outside)
    others = frozenset(plan.others)

    def marks(change: Change) -> list[str]:
        """Returns whose work is taken back, if that is not what the plan is about."""
        found = ((own, OWN_EDIT), (others, ANOTHER_SESSION))
        return [whose for paths, whose in found if change.path in paths]

    def comes_later(change: Change) -> bool:
        """Sorts what somebody would miss into the part that is shown."""
        return not (marks(change) or is_sensitive(change.path))

    for changes in (plan.writes, plan.deletes):
        shorter = not fits(changes, whole=whole)
        ordered = sorted(changes, key=comes_later) if shorter else changes
        lines = ["  ".join([*_words(plan, one, paint), *marks(one)]) for one in ordered]
        yield from listed(lines, whole=whole)


def _words(plan: Plan, change: Change, paint: Paint) -> Iterator[str]:
    entry = change.new or change.old
    tail = "/" if entry is not None and entry.is_directory else ""
    line = f"{_VERBS[change.kind]} {shown_path(change.path)}{tail}{mark(change.path)}"
    yield paint.deleted(line) if change.kind == DELETED else paint.added(line)
    lines = plan.lines.get(change.path, (0, 0))
    if any(lines):
        yield counts(*lines, paint)


def _is_all_own(plan: Plan) -> bool:
    return len(plan.outside) == len(plan.writes) + len(plan.deletes)


def _own_lines(plan: Plan, way: str) -> Iterator[str]:
    number = len(plan.outside)
    if number:
        edits = "your own edit" if number == 1 else "your own edits"
        some = "all of these are" if number > 1 else "this is"
        if not _is_all_own(plan):
            some = f"{number:,} of these {'are' if number > 1 else 'is'}"
        them = "them" if number > 1 else "it"
        yield f"{some} {edits} since then, taken back too"
        keeps = way if plan.kind == REWIND else "`takeback checkpoint` first"
        yield f"(undo brings {them} back" + (f"; {keeps} keeps {them})" if keeps else ")")


def _other_lines(plan: Plan, way: str) -> Iterator[str]:
    if plan.others and way and plan.kind == REWIND:
        yield f"({way} takes back only what its own session changed)"


def _turn(turn: Turn) -> str:
    number = f"turn {turn.number}" if turn.number is not None else "a command"
    prompt = f' "{short(turn.prompt)}"' if turn.prompt else ""
    return f"{number} of {shown(turn.session)}{prompt}"
