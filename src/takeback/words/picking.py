"""Picking in words: what is asked about each hunk and each file, and what can be answered."""

from __future__ import annotations

from takeback.model.checkpoint import ADDED, DELETED, MODE, TYPE
from takeback.model.operation import APPLY
from takeback.words.patch import patch_lines
from takeback.words.text import count, shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.merge.picking import Offer
    from takeback.model.checkpoint import Change
    from takeback.model.merge import ShownHunk, TextChange
    from takeback.model.operation import OperationKind, Plan
    from takeback.words.paint import Paint

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
