"""Needles: the pieces of a secret that are looked for in everything that is kept.

    TOKEN=abcdef123456           the line, and the value behind its first = or :
    "pass\\word 1234"             as it is, and as JSON writes it, once and twice

A transcript quotes a file as text inside JSON, and a tool's arguments are often JSON inside JSON.
What is too short to be told from anything else is not looked for, and what is too large or binary
is known by its id alone.
"""

from __future__ import annotations

from takeback.c_modules import json_string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Span = tuple[int, int]

_LEAST_LINE = 12
_LEAST_VALUE = 8
LEAST = _LEAST_VALUE
"""No needle is shorter, and no content shorter than this is known again by its id."""
_LONGEST_TEXT = 2048
"""A longer line is looked for in pieces. As JSON inside JSON it is still shorter than a piece of a
conversation."""
_MOST = 512
LARGEST = 1 << 20
"""A larger content is known by its id alone."""
_AROUND = b" \t\r\"'`,;{}[]()"
_QUOTED = rb"""[:=]\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')"""
"""A value in quotes, of which a line may have several."""
_ARMOUR = b"-----"
"""How the first and last line of every key begin: they are no secret."""
_STAR = b"*"


class Needles:
    """Some texts, longest first. ``cut`` says that there were more of them than are looked for."""

    __slots__ = ("cut", "texts")

    def __init__(self, texts: Iterable[bytes], *, cut: bool = False) -> None:
        self.texts = tuple(sorted(dict.fromkeys(texts), key=lambda text: (-len(text), text)))
        self.cut = cut

    @classmethod
    def of(cls, contents: Iterable[bytes], names: bytes = b"") -> Needles:
        """Returns what to look for so as to find where some contents are quoted.

        What is also part of ``names``, the paths of files and directories that everybody may know,
        is no secret: blanking it would only take the records apart.
        """
        found: dict[bytes, None] = {}
        for content in contents:
            if len(content) > LARGEST or b"\0" in content:
                continue
            found.update(dict.fromkeys(_texts(content)))
        kept = [text for text in found if text not in names]
        forms = (form for text in kept[:_MOST] for form in _forms(text))
        return cls(forms, cut=len(kept) > _MOST)

    def __bool__(self) -> bool:
        return bool(self.texts)

    def __or__(self, other: Needles) -> Needles:
        return Needles((*self.texts, *other.texts), cut=self.cut or other.cut)

    @property
    def longest(self) -> int:
        return len(self.texts[0]) if self.texts else 0

    def are_in(self, data: bytes) -> bool:
        """Tells whether one of them occurs in some bytes."""
        return any(text in data for text in self.texts)

    def spans(self, data: bytes) -> list[Span]:
        """Returns where they occur, as (start, end), in order, none touching another."""
        found = []
        for text in self.texts:
            at = data.find(text)
            while at >= 0:
                found.append((at, at + len(text)))
                at = data.find(text, at + 1)
        return _merged(found)

    def blanked(self, data: bytes) -> bytes:
        """Returns the same with as many stars in the place of each; equal, if none occurs."""
        return blank(data, self.spans(data))

    def blanked_text(self, text: str) -> str:
        """Returns the same of a text; a character that takes several bytes becomes as many."""
        data = text.encode(errors="surrogatepass")
        made = self.blanked(data)
        return text if made == data else made.decode(errors="surrogatepass")


def blank(data: bytes, spans: Iterable[Span]) -> bytes:
    """Returns some bytes with stars in some places: their length, and so all offsets, stay."""
    made = None
    for start, end in spans:
        made = bytearray(data) if made is None else made
        made[start:end] = _STAR * (min(end, len(data)) - start)
    return data if made is None else bytes(made)


def _merged(spans: list[Span]) -> list[Span]:
    made: list[Span] = []
    for start, end in sorted(spans):
        if made and start <= made[-1][1]:
            made[-1] = (made[-1][0], max(end, made[-1][1]))
        else:
            made.append((start, end))
    return made


def _texts(content: bytes) -> Iterator[bytes]:
    """Yields the values first: if there are too many texts, they are the ones that matter."""
    lines = [line.strip() for line in content.splitlines()]
    lines = [line for line in lines if not line.startswith(_ARMOUR)]
    if len(lines) == 1 and len(lines[0]) >= _LEAST_VALUE:
        yield from _pieces(lines[0])
    for value in (*map(_value, lines), *_quoted(content)):
        if len(value) >= _LEAST_VALUE and not value.startswith(_ARMOUR):
            yield from _pieces(value)
    for line in lines:
        if len(line) >= _LEAST_LINE:
            yield from _pieces(line)


def _value(line: bytes) -> bytes:
    """Returns what follows the first ``=`` or ``:`` of a line, without what is around it."""
    places = [at for at in (line.find(b"="), line.find(b":")) if at >= 0]
    return line[min(places) + 1 :].strip(_AROUND) if places else b""


def _quoted(content: bytes) -> Iterator[bytes]:
    """Yields the values in quotes; of one that has several lines, as JSON writes them, each."""
    import re  # 10 ms, and a capture imports this module for ``blank``

    for double, single in re.findall(_QUOTED, content):
        yield from (double or single).split(rb"\n")


def _pieces(text: bytes) -> Iterator[bytes]:
    for start in range(0, len(text), _LONGEST_TEXT):
        piece = text[start : start + _LONGEST_TEXT]
        if len(piece) >= _LEAST_VALUE:
            yield piece


def _forms(text: bytes) -> Iterator[bytes]:
    """Yields a text as it is, and as it stands in JSON, and in JSON inside JSON."""
    yield text
    try:
        plain = text.decode()
    except UnicodeDecodeError:
        return
    for escaped in (_escaped, _escaped_to_ascii):
        once = escaped(plain)
        yield once.encode()
        yield escaped(once).encode()


def _escaped_to_ascii(text: str) -> str:
    return json_string(text)[1:-1]


def _escaped(text: str) -> str:
    """Escapes as JavaScript does: what is not ASCII stays as it is."""
    return "".join(c if ord(c) > 0x7E else _escaped_to_ascii(c) for c in text)
