"""Conflicts in words: what two changed, and what can be chosen about it."""

from __future__ import annotations

from takeback.model.lines import split
from takeback.model.merge import CHOICES
from takeback.model.operation import APPLY
from takeback.visible import shown
from takeback.words.text import shortened, shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from takeback.model.lines import Disputed
    from takeback.model.merge import Conflict, ConflictChoice, ConflictKind
    from takeback.model.operation import OperationKind, Plan
    from takeback.words.paint import Paint

_KINDS: dict[ConflictKind, str] = {
    "text": "the same lines were changed again since",
    "binary": "its bytes were changed again since, and it has no lines to merge",
    "link": "it leads to another place since",
    "mode": "its permission bits were changed again since",
    "type": "a file, a directory or a link is in the place of another one",
    "both_added": "it is to come back, and another one is there",
    "deleted_here": "it is to change, and was deleted since or cannot be kept now",
    "deleted_there": "it is to go, and was changed since",
    "shared": "{sessions} changed it at once, and nothing tells which lines are whose",
}
_APPLIED: dict[ConflictKind, str] = {
    "text": "the same lines were changed here, too",
    "binary": "its bytes were changed here, too, and it has no lines to merge",
    "link": "it leads to another place here",
    "mode": "its permission bits were changed here, too",
    "type": _KINDS["type"],
    "both_added": "it is to come, and another one is here",
    "deleted_here": "it is to change, and is not here or cannot be kept now",
    "deleted_there": "it is to go, and was changed here",
    "shared": _KINDS["shared"],
}
"""The same for what a turn of another branch brings in: that is not earlier than what is here."""
_CHOICES: dict[ConflictChoice, str] = {
    "ours": "Leave it as it is now",
    "theirs": "Change it all the same",
    "markers": "Write both, between conflict markers",
    "skip": "Leave the whole file as it is",
}
OPTION = "--conflicts="
_LINES = 12
_STRETCHES = 5


def title(conflict: Conflict, kind: OperationKind) -> str:
    """Says which file is in conflict in an operation, and why."""
    name = shown_file(conflict.path)
    if conflict.origin is not None:
        name = f"{shown_file(conflict.origin)}, now {name}"
    said = (_APPLIED if kind == APPLY else _KINDS)[conflict.kind]
    return f"{name}: {said.format(sessions=shown(' and '.join(conflict.sessions)))}"


def choice(name: ConflictChoice) -> str:
    """Says what a choice means."""
    return _CHOICES[name]


def disputed_lines(plan: Plan, paint: Paint) -> Iterator[str]:
    """Yields the first disputed stretches of a plan, each with the name of its file."""
    stretches = [(conflict, one) for conflict in plan.conflicts for one in conflict.hunks]
    for conflict, one in stretches[:_STRETCHES]:
        first, *lines = stretch_lines(one, plan.kind, paint)
        yield f"{shown_file(conflict.path)}, {first}"
        yield from lines
    if len(stretches) > _STRETCHES:
        yield f"... and {len(stretches) - _STRETCHES} such places more"


def all_alike(conflicts: Iterable[Conflict], line: str) -> Iterator[str]:
    """Yields what can be typed to settle all conflicts in the same way, and what it means.

    ``line`` is what is typed before that.
    """
    offered = [set(one.choices) for one in conflicts]
    for name in CHOICES:
        if all(name in one for one in offered):
            yield f"  {line} {OPTION}{name}  {choice(name)}"


def stretch_lines(found: Disputed, kind: OperationKind, paint: Paint) -> Iterator[str]:
    """Yields a disputed stretch: what is there now, and what would be there."""
    yield paint.id(f"line {found.line}")
    yield from (paint.added(line) for line in _side("now", found.ours))
    yield from (
        paint.deleted(line) for line in _side("turn" if kind == APPLY else "then", found.theirs)
    )


def _side(name: str, text: bytes) -> Iterator[str]:
    lines = split(text)
    for line in lines[:_LINES]:
        yield f"  {name:<5}{shortened(shown(line.decode('utf-8', 'replace').rstrip(chr(10))))}"
    if len(lines) > _LINES:
        yield f"  {name:<5}... and {len(lines) - _LINES} lines more"
    if not lines:
        yield f"  {name:<5}(nothing)"
