"""Reviews as documents: changed paths, and their lines with colours."""

from __future__ import annotations

from hashlib import sha256

from takeback.model.path_text import to_text
from takeback.words import syntax
from takeback.words.documents import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from takeback.model.checkpoint import Change
    from takeback.model.merge import ShownHunk, TextChange
    from takeback.model.timeline import ReviewedChange

    Document = dict[str, Any]

MOST_FILES, MOST_LINES = 20, 2_000
"""Up to so much, all lines are shown without being asked for."""


def seen(change: Change) -> str:
    """Returns a word for what a change is: another one as soon as either side is another."""
    text = repr((change.path, change.old, change.new)).encode()
    return sha256(text).hexdigest()[:16]


def is_small(changes: Sequence[ReviewedChange]) -> bool:
    """Tells whether all lines of a review can be shown at once."""
    lines = sum((one.counted.added or 0) + (one.counted.deleted or 0) for one in changes)
    return len(changes) <= MOST_FILES and lines <= MOST_LINES


def change(number: int, one: ReviewedChange, hunks: list[Document] | None) -> Document:
    """Returns one changed path; ``number`` is its place among all of them."""
    return {
        **counted([one.counted])[0],
        "number": number,
        "seen": seen(one.change),
        "tickable": one.tickable and hunks is not None and len(hunks) > 0,
        "hunks": hunks,
    }


def hunks(text: TextChange | None, path: bytes, *, colour: bool) -> list[Document]:
    """Returns the hunks of a text, numbered as they are ticked; none of what is no text."""
    if text is None:
        return []
    made = [_hunk(text, shown, number) for number, shown in enumerate(text.shown())]
    if colour:
        _colour(made, path)
    return made


def _hunk(text: TextChange, shown: ShownHunk, number: int) -> Document:
    head = text.patch(shown).partition(b"\n")[0].decode()
    return {"number": number, "header": head, "lines": list(_lines(text, shown))}


def _lines(text: TextChange, shown: ShownHunk) -> Iterator[Document]:
    first = shown.hunks[0]
    old, new = shown.start, first.new_start - (first.old_start - shown.start)
    for one in shown.hunks:
        for _ in range(one.old_start - old):
            yield _line(" ", old, new, text.old[old])
            old, new = old + 1, new + 1
        for at in range(one.old_start, one.old_end):
            yield _line("-", at, None, text.old[at])
        for at in range(one.new_start, one.new_end):
            yield _line("+", None, at, text.new[at])
        old, new = one.old_end, one.new_end
    for _ in range(shown.end - old):
        yield _line(" ", old, new, text.old[old])
        old, new = old + 1, new + 1


def _line(kind: str, old: int | None, new: int | None, data: bytes) -> Document:
    return {
        "kind": kind,
        "old": None if old is None else old + 1,
        "new": None if new is None else new + 1,
        "text": data.removesuffix(b"\n").decode("utf-8", "replace"),
        "tokens": None,
        "no_newline": not data.endswith(b"\n"),
    }


def _colour(made: list[Document], path: bytes) -> None:
    """Cuts the lines into coloured parts; each side of a hunk is read by itself."""
    lexer = syntax.lexer_for(to_text(path).rpartition("/")[2])
    lines = [line for hunk in made for line in hunk["lines"]]
    size = sum(len(line["text"]) for line in lines)
    if lexer is None or size > syntax.MOST_TEXT:
        return
    if any(len(line["text"]) > syntax.LONGEST_LINE for line in lines):
        return
    for hunk in made:
        for without in "+-":
            side = [line for line in hunk["lines"] if line["kind"] != without]
            for line, parts in zip(
                side, syntax.spans([line["text"] for line in side], lexer), strict=True
            ):
                line["tokens"] = _tokens(line["text"], parts)


def _tokens(text: str, parts: syntax.Spans) -> list[list[str]]:
    """Returns a line in pieces, each with what it is: empty for what is nothing special."""
    found: list[list[str]] = []
    at = 0
    for start, end, part in parts:
        if start > at:
            found.append(["", text[at:start]])
        found.append([part, text[start:end]])
        at = end
    if at < len(text):
        found.append(["", text[at:]])
    return found
