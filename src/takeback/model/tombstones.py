"""Tombstones: what a purge took away, so that nothing brings it back; they do not tell what it was.

Each is a keyed hash: of a path, of the id of a content, of a passage of a conversation together
with the places in it that are blanked whenever the agent's own transcript is read again. A passage
is what stands between two quotes or line ends: a string of JSON, or a line.

Only a capture of a workspace in which something was purged imports this.
"""

from __future__ import annotations

from itertools import islice

from takeback.c_modules import blake2b
from takeback.model.needles import blank
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from takeback.model.needles import Needles, Span

    Passages = Mapping[str, tuple[Span, ...]]

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
