"""Loose objects: the files that git itself writes one by one (merge-tree, hash-object).

takeback writes none, but its store may hold some. Nothing here is hash-checked.
"""

from __future__ import annotations

import os

from takeback import errors
from takeback.git.delta import check_size
from takeback.git.objects import KINDS, ObjectId, parse_hex
from takeback.git.packfile import inflate
from takeback.ordinary import all_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator


def loose_path(objects_dir: str, oid: ObjectId) -> str:
    """Returns where git keeps an object that is in no pack."""
    name = oid.hex()
    return f"{objects_dir}/{name[:2]}/{name[2:]}"


def loose_objects(objects_dir: str) -> Iterator[ObjectId]:
    """Yields the ids of all loose objects, taken from their file names."""
    for directory in sorted(all_names(objects_dir)):
        if len(directory) == 2 and os.path.isdir(f"{objects_dir}/{directory}"):
            for name in sorted(all_names(f"{objects_dir}/{directory}")):
                oid = parse_hex((directory + name).encode())
                if oid is not None:
                    yield oid


class LooseObject:
    """One open loose object: kind and size are known, its bytes come from ``pieces`` once.

    Raises FileNotFoundError if there is none, StoreDamaged for anything wrong in it.
    """

    def __init__(self, path: str, most: int | None = None) -> None:
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise errors.StoreDamaged(f"it cannot be read: {error.strerror}") from error
        self._inflated = inflate(self._read, 0, b"", None)
        try:
            self.kind, self.size, self._first = self._parse()
            check_size(self.size, most)
        except BaseException:
            self.close()
            raise

    def _read(self, position: int, length: int) -> bytes:
        try:
            return os.pread(self._fd, length, position)
        except OSError as error:
            raise errors.StoreDamaged(f"it cannot be read: {error.strerror}") from error

    def _parse(self) -> tuple[int, int, bytes]:
        head, zero, rest = next(self._inflated, b"").partition(b"\0")
        name, _, size = head.partition(b" ")
        if not zero or name not in KINDS or not size.isdigit() or len(size) > 15:
            raise errors.StoreDamaged("it has no object header")
        return KINDS[name], int(size), rest

    def pieces(self) -> Generator[bytes, None, None]:
        """Returns the object's bytes in pieces of at most 1 MB; closing it closes the file."""
        pieces = self._pieces()
        next(pieces)  # so that close() reaches its finally
        return pieces

    def _pieces(self) -> Generator[bytes, None, None]:
        made = len(self._first)
        try:
            yield b""
            yield self._first
            for piece in self._inflated:
                made += len(piece)
                if made > self.size:
                    raise errors.StoreDamaged("it is longer than it says")
                yield piece
            if made != self.size:
                raise errors.StoreDamaged("it is not as long as it says")
        finally:
            self.close()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
