"""Picking in words: what is asked about each hunk and each file, and what can be answered."""

from __future__ import annotations

from takeback.model.change import ADDED, DELETED, MODE, TYPE
from takeback.words.patch import patch_lines
from takeback.words.text import count, shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.model.change import Change
    from takeback.model.picking import ShownHunk, TextChange
    from takeback.model.plan import Plan
    from takeback.ops.picking import Offer
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


def key(typed: str, keys: str) -> str | None:
    """Returns the key that was meant, which may be typed as a word; None if there is none."""
    meant = typed.lower()
    return next((one for one in keys if meant in (one, _KEYS[one][0])), None)


def help_lines(keys: str) -> Iterator[str]:
    """Yields what each answer means."""
    for one in keys:
        word, about = _KEYS[one]
        yield f"  {one}, {word:<6} {about}"


def hunk_lines(text: TextChange, hunk: ShownHunk, paint: Paint) -> Iterator[str]:
    """Yields a hunk as it is shown."""
    yield from patch_lines(text.patch(hunk), paint)


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


def hunk_question(at: int, of: int, keys: str) -> str:
    """Asks about one hunk."""
    return f"({at}/{of}) Take this hunk back [{','.join(keys)}]? "


def mode_question(change: Change, keys: str) -> str:
    """Asks about the permission bits of a file."""
    return f"{_mode(change)} [{','.join(keys)}]? "


def whole_question(change: Change, keys: str) -> str:
    """Asks about something that has no hunks."""
    kind = change.kind
    if kind == MODE:
        return mode_question(change, keys)
    thing = _thing(change)
    asked = {
        ADDED: f"Bring this {thing} back",
        DELETED: f"Delete this {thing}",
        TYPE: f"Put {_thing(change)} back in its place",
    }.get(kind, f"Take this {thing} back")
    return f"{asked} [{','.join(keys)}]? "


def _mode(change: Change) -> str:
    was, then = (entry.mode & 0o777 if entry else 0 for entry in (change.old, change.new))
    return f"Change its permission bits from {was:04o} back to {then:04o}"


def _thing(change: Change) -> str:
    entry = change.new or change.old
    if entry is not None and entry.is_directory:
        return "directory"
    return "link" if entry is not None and entry.is_link else "file"
