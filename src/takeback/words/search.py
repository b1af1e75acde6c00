"""What a search found, as lines of text: what happened to it, whose it is, and how to go back."""

from __future__ import annotations

import os

from takeback.model.checkpoint import EXPIRED
from takeback.model.naming import age
from takeback.model.path_text import to_text
from takeback.visible import shown
from takeback.words.cells import cut, filled, width
from takeback.words.render import short
from takeback.words.rows import session_names
from takeback.words.text import quoted, shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.model.timeline import Session
    from takeback.timeline.look import Found
    from takeback.words.paint import Paint

_WIDEST = 24
_INDENT = " " * 6


def found_lines(
    items: Sequence[Found],
    sessions: Sequence[Session],
    paint: Paint,
    now: float,
    *,
    root: bytes,
    room: int | None = None,
) -> Iterator[str]:
    """Yields two lines for each: what was found where, and the command that goes back there."""
    names = {id: cut(name, _WIDEST) for id, name in session_names(sessions).items()}
    whose = [names.get(item.checkpoint.session, "") for item in items]
    places = [_place(item) for item in items]
    for item, who, place in zip(items, whose, places, strict=True):
        left = [
            f"{age(item.checkpoint.time, now):>4}",
            filled(who, max(map(width, whose))),
            filled(place, max(map(width, places))),
            item.change or item.what,
        ]
        if item.place.expired is not None:
            left.append(EXPIRED)
        start = "  ".join([item.place.id, *left])
        line = f"{start}  {_text(item)}"
        if room is not None:
            line = cut(line, room)
        yield paint.id(line[: len(item.place.id)]) + line[len(item.place.id) :]
        argv = command(item, root) if item.place.expired is None else None
        if argv is not None:
            yield _INDENT + " ".join(quoted(word) for word in argv)


def _place(item: Found) -> str:
    checkpoint = item.checkpoint
    return f"turn {checkpoint.turn}" if checkpoint.turn else checkpoint.kind


def _text(item: Found) -> str:
    if item.path is None:
        return f'"{short(item.text)}"'
    return shown_file(item.path) + (f": {shown(item.text)}" if item.what == "content" else "")


def command(item: Found, root: bytes, start: bytes | None = None) -> list[str] | None:
    """Returns the command that goes back to what was found; None if it cannot be typed.

    Its path is relative to the current directory, as every command takes it, or to ``start``.
    """
    argv = ["takeback", "rewind", item.place.id]
    if item.path is None:
        return argv
    try:
        path = to_text(os.path.relpath(os.path.join(root, item.path), start or os.getcwdb()))
        path.encode()
    except (UnicodeEncodeError, OSError):
        return None
    return [*argv, "--", path]
