"""Text for a terminal: names, times, sizes, cells, colours, and nothing that steers it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from unicodedata import category, east_asian_width

from takeback.model.path_text import to_text
from takeback.model.sensitive import SENSITIVE_WORD, is_sensitive
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence, Sized
    from typing import Protocol

    class Lexer(Protocol):
        """What we use of a pygments lexer, which has no types of its own."""

        priority: float

        def get_tokens(self, text: str) -> Iterable[tuple[object, str]]: ...

# -- colours, or their absence


class Paint:
    """Colours text, or leaves it as it is."""

    def __init__(self, *, on: bool) -> None:
        self.on = on

    def _painted(self, text: str, codes: str) -> str:
        return f"\x1b[{codes}m{text}\x1b[0m" if self.on and text else text

    def added(self, text: str) -> str:
        return self._painted(text, "32")

    def deleted(self, text: str) -> str:
        return self._painted(text, "31")

    def id(self, text: str) -> str:
        return self._painted(text, "36")

    def strong(self, text: str) -> str:
        return self._painted(text, "1")

    def faint(self, text: str) -> str:
        return self._painted(text, "2")

    def warning(self, text: str) -> str:
        return self._painted(text, "33")


# -- cells: how wide a text is on a terminal, and how to cut it to a width
#
# A Chinese, Japanese or Korean character and most emoji take two cells, a combining mark none.


MORE = "…"


def width(text: str) -> int:
    """Returns how many cells a text takes; it has no control characters."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(character: str) -> int:
    if character.isascii():
        return 1
    if category(character) in ("Mn", "Me"):
        return 0
    return 2 if east_asian_width(character) in ("W", "F") else 1


def cut(text: str, room: int) -> str:
    """Returns a text that is no wider than ``room``, with a sign where the rest was."""
    if width(text) <= room:
        return text
    return "" if room < 1 else _first(text, room - 1) + MORE


def cut_left(text: str, room: int) -> str:
    """Cuts off the beginning instead: the end of a path says more."""
    if width(text) <= room:
        return text
    return "" if room < 1 else MORE + _first(text[::-1], room - 1)[::-1]


def _first(text: str, room: int) -> str:
    taken = 0
    for at, character in enumerate(text):
        taken += _cells(character)
        if taken > room:
            return text[:at]
    return text


def filled(text: str, room: int) -> str:
    """Returns a text padded with blanks to a width."""
    return text + " " * (room - width(text))


# -- makes names, times and sizes readable, and harmless for a terminal


NOTHING_CHANGED = "Nothing was changed."
_UNITS = ("KB", "MB", "GB", "TB")
_LONGEST = 400
"""How many characters of a line are shown where a person is asked about it."""


def shown_lines(data: bytes) -> str:
    """Returns bytes as a terminal may show them: lines and tabs stay, the rest as ``shown``."""
    text = data.decode("utf-8", "surrogateescape")
    lines = (_shown_line(line) for line in text.split("\n"))
    return "\n".join(lines)


def _shown_line(line: str) -> str:
    ending = "\r" if line.endswith("\r") else ""  # a Windows line ending, which does no harm
    return "\t".join(shown(part) for part in line.removesuffix("\r").split("\t")) + ending


def shown_path(path: bytes) -> str:
    """Returns a path for people; the root itself is a dot."""
    return shown(to_text(path)) or "."


def shown_file(path: bytes) -> str:
    """Returns a path of the workspace for people, marked if it usually holds a secret."""
    return shown_path(path) + mark(path)


def mark(path: bytes) -> str:
    """Returns what follows the name of a file that usually holds a secret; else nothing."""
    return f" ({SENSITIVE_WORD})" if is_sensitive(path) else ""


def more_files(paths: Sequence[bytes]) -> str:
    """Says how many files there are that are not named, and whether any is sensitive."""
    if not paths:
        return ""
    hidden = sum(map(is_sensitive, paths))
    return f" +{len(paths)} more" + (f" ({hidden} {SENSITIVE_WORD})" if hidden else "")


def quoted(word: str) -> str:
    """Returns a word quoted for a shell."""
    from shlex import quote

    return shown(quote(word))


def count(things: int | Sized, one: str, many: str = "") -> str:
    """Returns ``1 file`` or ``3 files``."""
    number = things if isinstance(things, int) else len(things)
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(number: int) -> str:
    """Returns bytes as people read them, and write them in settings: a KB has 1,024.

    ``bytes`` in the page's words.js is the same; halves are rounded up, as both can.
    """
    if number < 1024:
        return f"{number} bytes"
    power = min((number.bit_length() - 1) // 10, len(_UNITS))
    tenths = (number * 20 + (1 << 10 * power)) // (2 << 10 * power)
    return f"{tenths // 10}.{tenths % 10} {_UNITS[power - 1]}"


def timestamp(time: float) -> str:
    """Returns a moment by RFC 3339, in UTC."""
    moment = datetime.fromtimestamp(time, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def shortened(line: str) -> str:
    """Returns a line without the end of a very long one, and says how much that is."""
    if len(line) <= _LONGEST:
        return line
    return f"{line[:_LONGEST]}... and {len(line) - _LONGEST:,} characters more"


# -- syntax colours: which part of a line is a keyword, a string, a comment; for every face


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


# -- a unified diff for a terminal: coloured by us, and no file can control the terminal


def patch_lines(patch: bytes, paint: Paint, *, short: bool = False) -> Iterator[str]:
    """Yields the lines of a diff. Lines between a file's head and its first hunk are its head.

    With ``short`` the end of a very long line is left out.
    """
    in_head = True
    for line in shown_lines(patch).removesuffix("\n").split("\n"):
        line = shortened(line) if short else line
        if line.startswith("diff --git "):
            in_head = True
        elif line.startswith("@@ "):
            in_head = False
        if in_head:
            yield paint.strong(line)
        elif line.startswith("@@ "):
            yield paint.id(line)
        elif line.startswith("+"):
            yield paint.added(line)
        elif line.startswith("-"):
            yield paint.deleted(line)
        else:
            yield line
