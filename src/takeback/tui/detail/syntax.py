"""Syntax colours: which part of a line is a keyword, a string, a comment."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate

from takeback.tui.detail.diff import Hunk, Patch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    from takeback.tui.detail.diff import Line, Spans

    class Lexer(Protocol):
        """What we use of a pygments lexer, which has no types of its own."""

        priority: float

        def get_tokens(self, text: str) -> Iterable[tuple[object, str]]: ...


PARTS = ("comment", "keyword", "string", "number", "name", "builtin")
_LONGEST_LINE = 1_000
_MOST_TEXT = 60_000
"""How many characters are coloured, in a third of a second; the rest stays plain."""


def coloured(patch: Patch, path: str) -> Patch:
    """Returns the patch with its lines marked up by the lexer for the file's name.

    A hunk is read twice, as it was and as it is. The first call takes 120 ms to load pygments.
    """
    if any(len(line.text) > _LONGEST_LINE for hunk in patch.hunks for line in hunk.lines):
        return patch
    lexer = lexer_for(path.rpartition("/")[2])
    if lexer is None:
        return patch
    hunks, left = [], _MOST_TEXT
    for hunk in patch.hunks:
        ends = accumulate(len(line.text) for line in hunk.lines)
        most = sum(1 for end in ends if end <= left)
        left -= sum(len(line.text) for line in hunk.lines)
        hunks.append(_hunk(hunk, most, lexer) if most else hunk)
    return patch.replace(hunks=tuple(hunks))


def _hunk(hunk: Hunk, most: int, lexer: Lexer) -> Hunk:
    lines = hunk.lines[:most]
    spans: dict[int, Spans] = {}
    for without in "+-":
        side = [(at, line) for at, line in enumerate(lines) if line.sign != without]
        found = _spans([line for _, line in side], lexer)
        spans.update((at, found[number]) for number, (at, _) in enumerate(side))
    coloured = (line.replace(spans=spans[at]) for at, line in enumerate(lines))
    return hunk.replace(lines=(*coloured, *hunk.lines[most:]))


def _spans(lines: Sequence[Line], lexer: Lexer) -> list[Spans]:
    found: list[list[tuple[int, int, str]]] = [[] for _ in lines]
    number, column = 0, 0
    for token, text in lexer.get_tokens("\n".join(line.text for line in lines)):
        part = _part(token)
        for index, piece in enumerate(text.split("\n")):
            if index:
                number, column = number + 1, 0
            if part is not None and piece and number < len(found):
                found[number].append((column, column + len(piece), part))
            column += len(piece)
    return [tuple(spans) for spans in found]


@lru_cache(maxsize=512)
def _part(token: object) -> str | None:
    from pygments.token import (  # type: ignore[import-untyped]
        Comment,
        Keyword,
        Name,
        Number,
        Operator,
        String,
    )

    for kind, part in (
        (Comment, "comment"),
        (Keyword, "keyword"),
        (Operator.Word, "keyword"),
        (Name.Tag, "keyword"),
        (String, "string"),
        (Number, "number"),
        (Name.Builtin, "builtin"),
        (Name.Function, "name"),
        (Name.Class, "name"),
        (Name.Decorator, "name"),
        (Name.Attribute, "name"),
    ):
        if token in kind:
            return part
    return None


@lru_cache(maxsize=64)
def lexer_for(name: str) -> Lexer | None:
    """Returns the lexer for a file's name, None if there is none.

    pygments' own search turns 1,500 patterns into regular expressions first, which takes 400 ms;
    nearly all of them are ``*.suffix`` or a whole name.
    """
    from pygments.lexers import (  # type: ignore[import-untyped]
        get_all_lexers,
        get_lexer_by_name,
    )

    ending = name.rpartition(".")[2].lower()
    wanted = {name, *("*" + name[at:] for at, sign in enumerate(name) if sign == ".")}
    fitting = [
        (max(map(len, wanted.intersection(patterns))), ending in aliases, aliases[0])
        for _, aliases, patterns, _ in get_all_lexers(plugins=False)
        if aliases and not wanted.isdisjoint(patterns)
    ]
    best = max(((length, named) for length, named, _ in fitting), default=None)
    lexers: list[Lexer] = [
        get_lexer_by_name(alias, stripnl=False, ensurenl=False, tabsize=0)
        for length, named, alias in fitting
        if (length, named) == best
    ]
    return max(lexers, key=lambda lexer: lexer.priority, default=None)
