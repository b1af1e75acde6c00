"""A plan in lines of text: what happens to which file, each named once, and what goes with it."""

from __future__ import annotations

from takeback.model.checkpoint import DELETED
from takeback.model.operation import REWIND, changed_too
from takeback.model.sensitive import is_sensitive
from takeback.rewind.request import ALL_OTHERS, EDITS
from takeback.visible import shown
from takeback.words import conflicts, waivers
from takeback.words.changes import ANOTHER_SESSION, OWN_EDIT
from takeback.words.render import (
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
from takeback.words.text import count, mark, shown_file, shown_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.model.checkpoint import Change
    from takeback.model.operation import Plan
    from takeback.model.timeline import Turn
    from takeback.words.paint import Paint
    from takeback.words.waivers import Ways

_UNDO_SNAPSHOT = "undo"
_VERBS = {
    "added": "create",
    "modified": "write",
    "mode": "change mode of",
    "type": "replace",
    "deleted": "delete",
}


def plan_lines(
    plan: Plan, paint: Paint, *, whole: bool, ways: Ways = waivers.NO_WAYS
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
        yield from listed([conflicts.title(one, plan.kind) for one in plan.conflicts], whole=whole)
    for warning in plan.warnings:
        yield paint.warning(shown(warning))
    for refusal in plan.refused:
        flag = waivers.flag(refusal)
        same = f"; to do it all the same: {flag}" if flag else ""
        yield paint.deleted(f"refused: {shown(waivers.sentence(refusal))}{same}")


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
