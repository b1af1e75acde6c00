"""Tombstones: what a purge took away, so that nothing brings it back; they do not tell what."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from itertools import islice

from takeback import durable
from takeback.c_modules import blake2b
from takeback.errors import StoreDamaged
from takeback.model.secret import blank, merged
from takeback.model.value import Value
from takeback.ordinary import ordinary
from takeback.store.conversation import PIECE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from takeback.model.secret import Needles, Span
    from takeback.store.lock import Locked
    from takeback.store.store import Store

    Passages = Mapping[str, tuple[Span, ...]]

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


# -- the tombstones of a store, in a file of their own that only its user may read


FILE = "purged"
STAGED = "purged.new"
"""Those of a purge that has not begun yet."""
_KEY_SIZE = 32


def load(store: Store) -> Tombstones | None:
    """Returns what was purged here; None if nothing ever was, which costs one failing call.

    Raises StoreDamaged if it cannot be read: a capture that goes on without would bring back what
    was purged.
    """
    try:
        with open(store.path(FILE), encoding="ascii", opener=ordinary) as file:
            text = file.read()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(store) from error
    from takeback.model import json_text

    try:
        record: Any = json_text.loads(text)
        if record.pop("check") != _check(record):
            raise ValueError("a bit has flipped")
        return decode(record)
    except (ValueError, TypeError, LookupError, AttributeError):
        raise _unreadable(store) from None


def _unreadable(store: Store) -> StoreDamaged:
    return StoreDamaged(
        f"{store.path(FILE)}, which says what was purged, is not readable",
        hint="if it cannot be had back, remove it: then captures hold again what was purged",
    )


def loaded_or_none_yet(store: Store) -> Tombstones:
    """Returns what was purged here, or nothing, with a new key."""

    return load(store) or Tombstones(os.urandom(_KEY_SIZE))


def stage(locked: Locked, found: Tombstones) -> None:
    """Keeps the tombstones of a purge, flushed, before it begins."""
    from takeback.model import json_text

    record = {"v": 1, **found.encode()}
    text = json_text.dumps({**record, "check": _check(record)}) + "\n"
    durable.replace_file(locked.store.path(STAGED), text.encode())


def _check(record: dict[str, Any]) -> str:
    """Returns what shows a flipped bit: without it a secret would be captured again, unseen."""
    from zlib import crc32

    from takeback.model import json_text

    return f"{crc32(json_text.dumps(record).encode()):08x}"


def set_up(locked: Locked) -> None:
    """Makes those that were kept the ones that count; once more changes nothing."""
    store = locked.store
    try:
        durable.rename(store.path(STAGED), store.path(FILE))
    except FileNotFoundError:
        return
    durable.sync_directory(store.directory)


# -- quotes: where conversations quote a secret, also across the pieces in which they are kept


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
