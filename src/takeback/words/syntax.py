"""Syntax colours: which part of a line is a keyword, a string, a comment; for every face."""

from __future__ import annotations

from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    class Lexer(Protocol):
        """What we use of a pygments lexer, which has no types of its own."""

        priority: float

        def get_tokens(self, text: str) -> Iterable[tuple[object, str]]: ...


Spans = tuple[tuple[int, int, str], ...]
"""Parts of a line: where each begins and ends, and what it is."""
PARTS = ("comment", "keyword", "string", "number", "name", "builtin")
LONGEST_LINE = 1_000
MOST_TEXT = 60_000
"""How many characters are coloured, in a third of a second; the rest stays plain."""


def spans(lines: Sequence[str], lexer: Lexer) -> list[Spans]:
    """Returns the parts of some lines that follow each other, line by line."""
    found: list[list[tuple[int, int, str]]] = [[] for _ in lines]
    number, column = 0, 0
    for token, text in lexer.get_tokens("\n".join(lines)):
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
