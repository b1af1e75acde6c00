"""Lines: merging two versions of a text that both come from a third, stretch by stretch; pure.

        base     a  b  c  d  e  f
        ours     a  B  c  d  e  f  g         by_us:   b -> B, + g
        theirs   a  b  c  X  Y  e  f         by_them: d -> X Y
        merged   a  B  c  X  Y  e  f  g

Where both changed the same lines, or lines that touch each other, the stretch is disputed, unless
both made the same of it. Of a file that two wrote at the same time, lines that are only to go do
not dispute what was only added beside them or between them:

        base     a  m  b           m goes, n stays
        ours     a  m  n  b
        theirs   a  b
        merged   a  n  b
"""

from __future__ import annotations

from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Final, Literal, TypeAlias

    Choice = Literal["ours", "theirs", "markers"]
    """What becomes of a disputed stretch."""
    Piece: TypeAlias = "bytes | Disputed"

OURS: Final = "ours"
THEIRS: Final = "theirs"
MARKERS: Final = "markers"

_BINARY_WITHIN = 8000
"""A zero byte this near to its beginning makes a file a binary one, as for git."""


class LineHunk(Value):
    """Some lines that became others; lines are counted from 0."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int

    @property
    def old_end(self) -> int:
        return self.old_start + self.old_count

    @property
    def new_end(self) -> int:
        return self.new_start + self.new_count


class Disputed(Value):
    """A stretch that both changed; ``line`` is where it begins in ours, from 1."""

    line: int
    base: bytes
    ours: bytes
    theirs: bytes


class Version(Value):
    """The lines of a text, and how they come from those of the base."""

    lines: Sequence[bytes]
    hunks: Sequence[LineHunk]

    def stretch(self, hunks: Sequence[LineHunk], start: int, end: int) -> tuple[int, int]:
        """Returns where the lines of the base from ``start`` to ``end`` are; hunks are in there."""
        first, last = hunks[0], hunks[-1]
        return (
            first.new_start - (first.old_start - start),
            last.new_end + (end - last.old_end),
        )


def split(text: bytes) -> list[bytes]:
    """Returns the lines of a text, each with its end; only a line feed ends one, as for git."""
    lines = text.split(b"\n")
    last = lines.pop()
    found = [line + b"\n" for line in lines]
    return [*found, last] if last else found


def is_binary(text: bytes) -> bool:
    """Tells whether a file has no lines."""
    return b"\0" in text[:_BINARY_WITHIN]


def merge(
    base: Sequence[bytes], ours: Version, theirs: Version, *, among_others: bool = False
) -> list[Piece]:
    """Returns the merged text in pieces, as far as the two do not dispute it.

    ``among_others``: ours has what others added while what theirs lacks was written.
    """
    pieces: list[Piece] = []
    done = 0
    for start, end, by_us, by_them in _stretches(ours.hunks, theirs.hunks):
        pieces.append(b"".join(base[done:start]))
        done = end
        if not by_them:
            first, last = ours.stretch(by_us, start, end)
            pieces.append(b"".join(ours.lines[first:last]))
            continue
        if not by_us:
            first, last = theirs.stretch(by_them, start, end)
            pieces.append(b"".join(theirs.lines[first:last]))
            continue
        if among_others and not any(
            (*(hunk.old_count for hunk in by_us), *(hunk.new_count for hunk in by_them))
        ):
            pieces.append(b"".join(_only_added(base, ours, start, end, by_us, by_them)))
            continue
        where, last = ours.stretch(by_us, start, end)
        mine = b"".join(ours.lines[where:last])
        first, last = theirs.stretch(by_them, start, end)
        other = b"".join(theirs.lines[first:last])
        if mine == other:
            pieces.append(mine)
        else:
            pieces.append(Disputed(where + 1, b"".join(base[start:end]), mine, other))
    pieces.append(b"".join(base[done:]))
    return [piece for piece in pieces if piece != b""]


def _only_added(
    base: Sequence[bytes],
    ours: Version,
    start: int,
    end: int,
    by_us: Sequence[LineHunk],
    by_them: Sequence[LineHunk],
) -> Iterator[bytes]:
    """Yields a stretch of the base without what they took out, with what we put in."""
    gone = {line for hunk in by_them for line in range(hunk.old_start, hunk.old_end)}
    for line in range(start, end + 1):
        for hunk in by_us:
            if hunk.old_start == line:
                yield from ours.lines[hunk.new_start : hunk.new_end]
        if line < end and line not in gone:
            yield base[line]


def _stretches(
    ours: Sequence[LineHunk], theirs: Sequence[LineHunk]
) -> Iterator[tuple[int, int, list[LineHunk], list[LineHunk]]]:
    """Yields the stretches of the base that changed, each with the hunks of both that are in it."""
    waiting = sorted(
        [(hunk.old_start, hunk.old_end, True, hunk) for hunk in ours]
        + [(hunk.old_start, hunk.old_end, False, hunk) for hunk in theirs],
        key=lambda one: one[:2],
    )
    start = end = -1
    by_us: list[LineHunk] = []
    by_them: list[LineHunk] = []
    for begins, ends, is_ours, hunk in waiting:
        if begins > end or start < 0:
            if start >= 0:
                yield start, end, by_us, by_them
            start, end, by_us, by_them = begins, ends, [], []
        end = max(end, ends)
        (by_us if is_ours else by_them).append(hunk)
    if start >= 0:
        yield start, end, by_us, by_them


def disputed(pieces: Iterable[Piece]) -> tuple[Disputed, ...]:
    """Returns what is disputed, in order."""
    return tuple(piece for piece in pieces if isinstance(piece, Disputed))


def settled(
    pieces: Iterable[Piece], choices: Iterable[Choice], names: tuple[str, str] = (OURS, THEIRS)
) -> bytes:
    """Returns the text with each disputed stretch as chosen; ``names`` stand at the markers."""
    chosen, found = iter(choices), list[bytes]()
    for piece in pieces:
        if not isinstance(piece, Disputed):
            found.append(piece)
            continue
        choice = next(chosen)
        if choice == OURS:
            found.append(piece.ours)
        elif choice == THEIRS:
            found.append(piece.theirs)
        else:
            found.append(_marked(piece, names))
    return b"".join(found)


def _marked(piece: Disputed, names: tuple[str, str]) -> bytes:
    """Returns both versions between markers, with the line ends that the text has."""
    end = b"\r\n" if b"\r\n" in piece.ours + piece.theirs + piece.base else b"\n"

    def whole(text: bytes) -> bytes:
        return text if not text or text.endswith(b"\n") else text + end

    ours, theirs = (name.encode("utf-8", "surrogateescape") for name in names)
    size = _marker_size(piece)
    return b"".join(
        (
            b"<" * size + b" " + ours + end,
            whole(piece.ours),
            b"=" * size + end,
            whole(piece.theirs),
            b">" * size + b" " + theirs + end,
        )
    )


def _marker_size(piece: Disputed) -> int:
    """Returns how long markers are that no line between them can be taken for one of."""
    found = set()
    for line in (*split(piece.ours), *split(piece.theirs)):
        if line[:1] in (b"<", b"=", b">"):
            first = line.split(None, 1)[0]
            if not first.strip(first[:1]):
                found.add(len(first))
    size = 7
    while size in found:
        size += 1
    return size
