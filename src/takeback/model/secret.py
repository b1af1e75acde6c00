"""A secret that is purged: its paths, its contents, and the pieces that are looked for."""

from __future__ import annotations

from itertools import islice

from takeback.c_modules import blake2b
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from takeback.model.escapes import Undone

    Passages = Mapping[str, tuple["Span", ...]]

    Span = tuple[int, int]

# -- needles: the pieces of a secret that are looked for in everything that is kept
#
#     TOKEN=abcdef123456           the line, and the value behind its first = or :
#     {"key": "a\/b \u003c c"}    as it is, and with the escapes of JSON undone: a/b < c
#
# A transcript quotes a file as text inside JSON, and a tool's arguments are often JSON inside JSON,
# each written as some program likes. So escapes are undone on both sides, one time after the other,
# and what is found leads back to the bytes that mean it (escapes.py). What is too short to be told
# from anything else is not looked for, and what is too large or binary is known by its id alone.


_LEAST_LINE = 12
_LEAST_VALUE = 8
LEAST = _LEAST_VALUE
"""No needle is shorter, and no content shorter than this is known again by its id."""
_LONGEST_TEXT = 2048
"""A longer line is looked for in pieces."""
_WINDOW = 1 << 20
"""So much of a text is looked at in one go."""
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

    __slots__ = ("_plain", "_reach", "cut", "texts")

    def __init__(self, texts: Iterable[bytes], *, cut: bool = False) -> None:
        self.texts = tuple(sorted(dict.fromkeys(texts), key=lambda text: (-len(text), text)))
        self.cut = cut
        self._plain: tuple[bytes, ...] = ()
        self._reach = 0
        if self.texts:
            from takeback.model.escapes import LOOSE, plain_part, widest  # 10 ms: see ``_said``

            self._plain = tuple(dict.fromkeys(map(plain_part, self.texts)))
            self._reach = max(map(widest, self.texts)) + LOOSE

    @classmethod
    def of(cls, contents: Iterable[bytes], names: bytes = b"") -> Needles:
        """Returns what to look for so as to find where some contents are quoted.

        What is also part of ``names``, the paths of files and directories that everybody may know,
        is no secret: blanking it would only take the records apart.
        """
        found: dict[bytes, None] = {}
        for content in contents:
            if len(content) <= LARGEST and b"\0" not in content:
                for text in _said(content):
                    found.update(dict.fromkeys(_texts(text)))
        kept = [text for text in found if text not in names]
        return cls(kept[:_MOST], cut=len(kept) > _MOST)

    def besides(self, names: bytes) -> Needles:
        """Returns those that are not part of other ``names``, either."""
        return Needles((text for text in self.texts if text not in names), cut=self.cut)

    def __bool__(self) -> bool:
        return bool(self.texts)

    def __or__(self, other: Needles) -> Needles:
        return Needles((*self.texts, *other.texts), cut=self.cut or other.cut)

    @property
    def longest(self) -> int:
        return len(self.texts[0]) if self.texts else 0

    def are_in(self, data: bytes) -> bool:
        """Tells whether one of them occurs in some bytes."""
        return any(spans for _, spans in self._windows(data))

    def spans(self, data: bytes) -> list[Span]:
        """Returns where they occur, as (start, end), in order, none touching another."""
        return merged(
            (at + start, at + end) for at, spans in self._windows(data) for start, end in spans
        )

    def _windows(self, data: bytes) -> Iterator[tuple[int, list[Span]]]:
        head = b""
        for at in range(0, len(data), _WINDOW):
            spans, head = self.look(head, data[at : at + _WINDOW])
            yield at, spans

    def look(self, head: bytes, piece: bytes) -> tuple[list[Span], bytes]:
        """Returns where they occur in a piece of a text, and the head to read the next one with.

        A place is counted from the beginning of the piece: what began in an earlier one, whose end
        is in ``head``, begins below zero. It has whole escapes, so that what was JSON stays JSON
        if it is blanked. The first piece has an empty head.
        """
        from takeback.model.escapes import LOOSE, hides, settled, undone

        data = head + piece
        if not any(part in data for part in self._plain) and not hides(data):
            return [], data[settled(data, len(data) - self._reach) :]
        steps = [*undone(data)]
        found = [
            _source(span, steps, depth)
            for depth, text in enumerate((data, *(step.text for step in steps)))
            for span in self._places(text)
        ]
        rest = max(0, len(steps[-1].text if steps else data) - self.longest - LOOSE)
        for step in reversed(steps):
            rest, _ = step.source((rest, rest + 1))
        at = len(head)
        return [(start - at, end - at) for start, end in _whole(data, found)], data[rest:]

    def _places(self, text: bytes) -> Iterator[Span]:
        for one in self.texts:
            at = text.find(one)
            while at >= 0:
                yield at, at + len(one)
                at = text.find(one, at + 1)

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


def _source(span: Span, steps: Sequence[Undone], depth: int) -> Span:
    """Returns where that stands in a text which means a place in it undone ``depth`` times.

    Where an escape begins in that place or ends in it, the place has all of it, however often it
    would still be undone.
    """
    for step in steps[depth:]:
        span = step.meaning(span)
    for step in reversed(steps):
        span = step.source(span)
    return span


def _whole(data: bytes, spans: Iterable[Span]) -> Iterator[Span]:
    """Yields the same places with all of a character that stands in part of them."""
    for start, end in spans:
        back, on = range(start, max(-1, start - 4), -1), range(end, end + 4)
        yield (
            next((at for at in back if _begins(data, at)), start),
            next((at for at in on if _begins(data, at)), end),
        )


def _begins(data: bytes, at: int) -> bool:
    return at >= len(data) or data[at] & 0xC0 != 0x80


def merged(spans: Iterable[Span]) -> list[Span]:
    """Returns the same places in order, those that touch as one."""
    made: list[Span] = []
    for start, end in sorted(spans):
        if made and start <= made[-1][1]:
            made[-1] = (made[-1][0], max(end, made[-1][1]))
        else:
            made.append((start, end))
    return made


def _said(text: bytes) -> Iterator[bytes]:
    """Yields a text as it is, and with its escapes undone once, twice and so on."""
    from takeback.model.escapes import undone  # 10 ms, and a capture imports this for ``blank``

    yield text
    yield from (step.text for step in undone(text))


def _texts(content: bytes) -> Iterator[bytes]:
    """Yields the values first: if there are too many texts, they are the ones that matter."""
    lines = [line.strip() for line in content.splitlines()]
    lines = [line for line in lines if not line.startswith(_ARMOUR)]
    if len(lines) == 1:
        yield from _pieces(lines[0], _LEAST_VALUE)
    for value in (*map(_value, lines), *_quoted(content)):
        yield from _pieces(value, _LEAST_VALUE)
    for line in lines:
        yield from _pieces(line, _LEAST_LINE)


def _value(line: bytes) -> bytes:
    """Returns what follows the first ``=`` or ``:`` of a line, without what is around it."""
    places = [at for at in (line.find(b"="), line.find(b":")) if at >= 0]
    return line[min(places) + 1 :].strip(_AROUND) if places else b""


def _quoted(content: bytes) -> Iterator[bytes]:
    """Yields the values in quotes, and each line of one that has several, as JSON writes them."""
    import re

    for double, single in re.findall(_QUOTED, content):
        for text in _said(double or single):
            yield from (text, *text.splitlines())


def _pieces(text: bytes, least: int) -> Iterator[bytes]:
    """Yields what to look for of a value or a line, unless that is short; escapes undone, too."""
    for said in _said(text):
        if len(said.strip()) >= least and not said.startswith(_ARMOUR):
            for start in range(0, len(said), _LONGEST_TEXT):
                piece = said[start : start + _LONGEST_TEXT]
                if len(piece) >= _LEAST_VALUE:
                    yield piece


# -- a secret that is purged from a store: its paths, its contents, and the texts that quote it


NO_NEEDLES = Needles(())


class Secret(Value):
    """What is to go.

    ``paths`` go whatever they hold, ``contents`` (object ids) wherever they are. ``needles`` are
    blanked in what people and models said.
    """

    paths: frozenset[bytes] = frozenset()
    contents: frozenset[bytes] = frozenset()
    needles: Needles = NO_NEEDLES

    def is_at(self, path: bytes, oid: bytes) -> bool:
        """Tells whether a file of the workspace goes."""
        return path in self.paths or oid in self.contents


NOTHING = Secret()


# -- tombstones
#
# Each is a keyed hash: of a path, of the id of a content, of a passage of a conversation together
# with the places in it that are blanked whenever the agent's own transcript is read again. A
# passage is what stands between two quotes or line ends: a string of JSON, or a line.
#
# Only a capture of a workspace in which something was purged imports this.


_SIZE = 16
_PATH, _CONTENT, _PASSAGE = b"path\0", b"content\0", b"passage\0"


class Tombstones(Value):
    """All of one store. ``passages`` are by length, then by hash: most need not be hashed."""

    key: bytes
    paths: frozenset[str] = frozenset()
    contents: frozenset[str] = frozenset()
    passages: Mapping[int, Passages] = {}

    def hides(self, path: bytes) -> bool:
        """Tells whether a path was purged."""
        return self._hash(_PATH, path) in self.paths

    def bans(self, oid: bytes) -> bool:
        """Tells whether a content was purged."""
        return self._hash(_CONTENT, oid) in self.contents

    def blanked(self, data: bytes) -> bytes:
        """Returns a transcript with stars where purged passages have a secret."""
        if not self.passages:
            return data
        return blank(data, self._spans(data))

    def _spans(self, data: bytes) -> Iterator[Span]:
        for at, text in _cut(data):
            known = self.passages.get(len(text))
            if known is not None:
                for start, end in known.get(self._hash(_PASSAGE, text), ()):
                    yield at + start, at + end

    def _hash(self, kind: bytes, data: bytes) -> str:
        found: str = blake2b(kind + data, key=self.key, digest_size=_SIZE).hexdigest()
        return found

    def of_paths(self, *paths: bytes) -> Tombstones:
        """Returns them with some more paths."""
        return self.replace(paths=self.paths | {self._hash(_PATH, path) for path in paths})

    def of_contents(self, *ids: bytes) -> Tombstones:
        """Returns them with some more contents."""
        return self.replace(contents=self.contents | {self._hash(_CONTENT, oid) for oid in ids})

    def of_passages(self, data: bytes, needles: Needles) -> Tombstones:
        """Returns them with the passages of a transcript in which a needle occurs."""
        spans = needles.spans(data)
        passages = {length: dict(known) for length, known in self.passages.items()}
        first = 0
        for at, text in _cut(data) if spans else ():
            end = at + len(text)
            while first < len(spans) and spans[first][1] <= at:
                first += 1
            inside = []
            for start, stop in islice(spans, first, None):
                if start >= end:
                    break
                inside.append((max(start, at) - at, min(stop, end) - at))
            if inside:
                passages.setdefault(len(text), {})[self._hash(_PASSAGE, text)] = tuple(inside)
        return self.replace(passages=passages)

    def encode(self) -> dict[str, Any]:
        """Returns the record that the store keeps; ``decode`` reads it back."""
        return {
            "key": self.key.hex(),
            "paths": sorted(self.paths),
            "contents": sorted(self.contents),
            "passages": [
                [length, mark, [[*span] for span in spans]]
                for length, known in sorted(self.passages.items())
                for mark, spans in sorted(known.items())
            ],
        }


def decode(record: Mapping[str, Any]) -> Tombstones:
    """Reads ``encode``'s record; raises ValueError, TypeError or LookupError for others."""
    passages: dict[int, dict[str, tuple[Span, ...]]] = {}
    for length, mark, spans in record["passages"]:
        known = passages.setdefault(int(length), {})
        known[str(mark)] = tuple((int(start), int(end)) for start, end in spans)
    return Tombstones(
        bytes.fromhex(record["key"]),
        frozenset(map(str, record["paths"])),
        frozenset(map(str, record["contents"])),
        passages,
    )


def _cut(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields each passage and where it begins."""
    at = 0
    for text in data.replace(b'"', b"\n").split(b"\n"):
        if text:
            yield at, text
        at += len(text) + 1
