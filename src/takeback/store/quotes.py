"""Quotes: where conversations quote a secret, also across the pieces in which they are kept."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from takeback.model.needles import merged
from takeback.store.conversation import PIECE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.model.needles import Needles, Span
    from takeback.store.store import Store


class Quotes:
    """Reads conversations. What was read is remembered: those that begin alike are read once."""

    def __init__(self, store: Store, needles: Needles) -> None:
        self._store = store
        self._needles = needles
        self._looked: dict[tuple[bytes, bytes], tuple[list[Span], bytes, int]] = {}
        self.read: dict[bytes, int] = {}
        """The pieces that were read, and how many bytes each has."""

    def within(self, pieces: Sequence[bytes]) -> dict[int, tuple[Span, ...]]:
        """Returns where each piece of a file quotes it, by its number; one may have half a quote.

        Raises StoreDamaged if a piece cannot be read.
        """
        spans: list[Span] = []
        starts: list[int] = []
        head, at = b"", 0
        for piece in pieces:
            found, head, size = self._look(head, piece)
            spans += [(at + start, at + end) for start, end in found]
            starts.append(at)
            at += size
        made: dict[int, tuple[Span, ...]] = {}
        for start, end in merged(spans):
            for number in range(bisect_right(starts, start) - 1, bisect_left(starts, end)):
                first = starts[number]
                place = max(0, start - first), min(end - first, self.read[pieces[number]])
                made[number] = (*made.get(number, ()), place)
        return made

    def _look(self, head: bytes, piece: bytes) -> tuple[list[Span], bytes, int]:
        key = (head, piece)  # with what is carried over, a piece always reads the same
        if key not in self._looked:
            data = self._store.blob(piece, PIECE)
            self.read[piece] = len(data)
            self._looked[key] = (*self._needles.look(head, data), len(data))
        return self._looked[key]
