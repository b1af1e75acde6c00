"""Blame in words: in front of each line of a file, who wrote it."""

from __future__ import annotations

from takeback.blame import BY_HAND, BY_OPERATION, BY_TURN, FIRST, UNSEEN
from takeback.model.entries import UNKNOWN
from takeback.model.naming import age
from takeback.visible import shown
from takeback.words.documents import file_fields
from takeback.words.text import count, cut, filled, shown_lines, timestamp, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from takeback.blame import Author, Blame
    from takeback.words.documents import Document
    from takeback.words.text import Paint

_PROMPT = 28
_WORDS = {
    FIRST: "before takeback",
    BY_HAND: "by hand",
    UNSEEN: "not in a checkpoint yet",
}


def blame_lines(found: Blame, names: Mapping[str, str], paint: Paint, now: float) -> Iterator[str]:
    """Yields the lines, each with its author; ``names`` are those of the sessions."""
    rows = {id(one.author): _columns(one.author, names, now) for one in found.lines}
    widths = [max((width(row[at]) for row in rows.values()), default=0) for at in range(4)]
    digits = len(str(len(found.lines)))
    for line in found.lines:
        row = rows[id(line.author)]
        place, prompt, who, when = (filled(row[at], widths[at]) for at in range(4))
        text = shown_lines(line.text.removesuffix(b"\n"))
        head = "  ".join(part for part in (paint.id(place), prompt, who, paint.faint(when)) if part)
        yield f"{head}  {paint.faint(f'{line.number:>{digits}}')}  {text}".rstrip()


def _columns(author: Author, names: Mapping[str, str], now: float) -> tuple[str, str, str, str]:
    """Returns where a line comes from, what was asked, by what it was written, and when."""
    checkpoint, turn = author.checkpoint, author.turn
    when = "" if checkpoint is None else age(checkpoint.time, now)
    if author.kind == BY_TURN and turn is not None:
        number = turn.kind if turn.number is None else f"turn {turn.number}"
        place = f"{names.get(turn.session, shown(turn.session))} {number}"
        said = cut(shown(" ".join((turn.prompt or "").split())), _PROMPT)
        who = "" if author.who in (None, UNKNOWN) else shown(author.who or "")
        return place, f'"{said}"' if said else "", who, when
    if author.kind == BY_OPERATION:
        move = author.operation
        return ("takeback" if move is None else f"takeback {move.kind}"), "", "", when
    return _WORDS.get(author.kind, "not known"), "", "", when


def expired_line(found: Blame) -> str:
    """Says that some of it cannot be told apart any more."""
    changes = count(found.expired, "change")
    return f"the files of {changes} have expired; the next change is named instead"


def document(found: Blame) -> Document:
    """Returns the lines, each with the number of its author."""
    authors = list({id(one.author): one.author for one in found.lines}.values())
    numbers = {id(author): number for number, author in enumerate(authors)}
    return {
        **file_fields(found.path),
        "authors": [_author(author) for author in authors],
        "lines": [
            {
                "line": one.number,
                "text": one.text.decode("utf-8", "replace"),
                "author": numbers[id(one.author)],
            }
            for one in found.lines
        ],
        "expired": found.expired,
    }


def _author(author: Author) -> Document:
    checkpoint, turn, move = author.checkpoint, author.turn, author.operation
    return {
        "kind": author.kind,
        "checkpoint": None if checkpoint is None else checkpoint.id,
        "time": None if checkpoint is None else timestamp(checkpoint.time),
        "session": None if turn is None else turn.session,
        "agent": None if turn is None or checkpoint is None else checkpoint.agent,
        "turn": None if turn is None else turn.number,
        "prompt": None if turn is None else turn.prompt,
        "who": author.who,
        "operation": None if move is None else move.id,
    }
