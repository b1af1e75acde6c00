"""Escapes: what a text says once the escapes of JSON are undone, and where each byte of it stands.

    raw       "a\\\\\\"b \\u0041"
    once       a\\"b A
    twice      a"b A          each byte leads back to the bytes of the raw text that mean it

It is undone from the left, as a reader of JSON does, wherever it is met: what is no escape stands
for itself. A program may write any character as ``\\u`` with its number, in either case, and some
write ``/`` and ``<`` so.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Span = tuple[int, int]

DEPTH = 4
"""So many times they are undone: a file of JSON in the arguments of a tool, kept by an agent."""
LOOSE = 12 * DEPTH
"""So many bytes at the end of a text may still change their meaning with what follows them."""
_WIDEST = 16
"""So many bytes mean one byte at most, where no escape stands for a part of another."""
_ESCAPE = re.compile(
    rb"(\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb'|u[0-9a-fA-F]{4}|["\\/bfnrt]))'
)
_PLAIN = re.compile(rb"[ !#$%()*,\-.0-9:;=?@A-Z\[\]^_a-z{|}~]+")
_HIDDEN = re.compile(
    rb"\\u00(?:2[0134589acdeACDE]|3[0-9abdfABDF]|[45][0-9a-fA-F]|6[1-9a-fA-F]|7[0-9a-eA-E])"
)
"""One of these by its number, or a backslash."""
_FIRST_OF_TWO = (b"\\ud8", b"\\ud9", b"\\uda", b"\\udb")
_SHORT = {
    b"\\" + escape: meant
    for escape, meant in zip(
        (b'"', b"\\", b"/", b"b", b"f", b"n", b"r", b"t"),
        (b'"', b"\\", b"/", b"\b", b"\f", b"\n", b"\r", b"\t"),
        strict=True,
    )
}


class _Meant(dict[bytes, bytes]):
    """What each escape means; those with a number are worked out once."""

    def __missing__(self, escape: bytes) -> bytes:
        units = bytes.fromhex(escape.replace(b"\\u", b"").decode())
        made = units.decode("utf-16-be", "surrogatepass").encode(errors="surrogatepass")
        self[escape] = made
        return made


class Undone:
    """A text whose escapes were undone once, and which part of it means which of the other."""

    __slots__ = ("_from", "_to", "text")

    def __init__(self, parts: list[bytes]) -> None:
        """``parts`` are in turn what stands for itself, and an escape."""
        made = parts[:]
        made[1::2] = map(_Meant(_SHORT).__getitem__, parts[1::2])
        self.text = b"".join(made)
        self._from = [*accumulate(map(len, parts))]
        self._to = [*accumulate(map(len, made))]

    def meaning(self, span: Span) -> Span:
        """Returns where that stands in this text which some bytes of the other have a part in."""
        return _across(span, self._from, self._to)

    def source(self, span: Span) -> Span:
        """Returns where that stands in the other text which means some bytes of this one."""
        return _across(span, self._to, self._from)


def _across(span: Span, here: list[int], there: list[int]) -> Span:
    first, last = bisect_right(here, span[0]), bisect_left(here, span[1])
    start, end = there[first - 1] if first else 0, there[last]
    if first % 2 == 0:
        start += span[0] - (here[first - 1] if first else 0)
    if last % 2 == 0:
        end -= here[last] - span[1]
    return start, end


def undone(text: bytes) -> Iterator[Undone]:
    """Yields a text with its escapes undone once, twice and so on, as often as there are any."""
    for _ in range(DEPTH):
        if b"\\" not in text:
            return
        parts = _ESCAPE.split(text)
        if len(parts) == 1:
            return
        found = Undone(parts)
        yield found
        text = found.text


def plain_part(text: bytes) -> bytes:
    """Returns the longest part of a text that stands in any other as it is, unless that hides it.

    Programs that escape more than they must do so with quotes, slashes, ``<``, ``>``, ``&``, ``+``,
    and with what is not ASCII.
    """
    return max(_PLAIN.findall(text), key=len, default=b"")


def hides(text: bytes) -> bool:
    """Tells whether a text has what is plain by its number, or a backslash: hardly any does.

    In one that has none no escape comes of another, and what is plain stands for itself however
    often its escapes are undone.
    """
    return b"\\u00" in text and _HIDDEN.search(text) is not None


def widest(text: bytes) -> int:
    """Returns how many bytes mean a text at most, in one that hides nothing plain."""
    return len(text) + (_WIDEST - 1) * len(_PLAIN.sub(b"", text))


def settled(text: bytes, at: int) -> int:
    """Returns the last place up to one that lies in no escape of a text that hides nothing plain.

    An escape has up to five bytes behind its backslashes; two may stand for one character.
    """
    while at > 0:
        last = text.rfind(b"\\", max(0, at - 5), at)
        if last >= 0:
            at = last
        elif text[max(0, at - 6) : at - 2].lower() in _FIRST_OF_TWO:
            at -= 6
        else:
            return at
    return 0
