"""What a campaign knows of the files by itself: a number for each entry, and their sum.

An entry's number is a hash of its path, kind, mode and content, so equal sums are equal trees.
After an edit only its own paths are looked at again; ``walked`` looks at everything.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import NamedTuple

Numbers = dict[bytes, int]
UNDO = "undo"


class Point(NamedTuple):
    """A checkpoint that was acknowledged, and the files at that moment.

    ``kind`` is that of the event it was made at, ``UNDO`` for an undo snapshot. ``changed`` is what
    is not as at the point ``before``, None for what is gone: kept to name the paths if a tree comes
    back wrong.
    """

    id: str
    sum: int
    time: float
    turn: int
    kind: str
    before: Point | None
    changed: dict[bytes, int | None]

    @property
    def is_undo(self) -> bool:
        return self.kind == UNDO

    def numbers(self) -> Numbers:
        """Returns all entries at this point."""
        newest: dict[bytes, int | None] = {}
        point: Point | None = self
        while point is not None:
            newest = {**point.changed, **newest}
            point = point.before
        return {path: number for path, number in newest.items() if number is not None}


class Tree:
    """The files of a workspace, all that snapshots hold, as numbers."""

    def __init__(self, root: bytes, is_ignored: Callable[[bytes], bool]) -> None:
        self._root = root
        self._is_ignored = is_ignored
        self._numbers = self.walked()
        self.sum = sum(self._numbers.values())
        self._before: Point | None = None
        self._changed: dict[bytes, int | None] = dict(self._numbers)

    def look(self, paths: Iterable[bytes]) -> None:
        """Looks again at paths that were changed, and at the directories above them."""
        for path in paths:
            while path:
                self._take(path, None if self._is_ignored(path) else number_of(self._root, path))
                path = path.rpartition(b"/")[0]

    def _take(self, path: bytes, number: int | None) -> None:
        old = self._numbers.pop(path, None)
        if number is not None:
            self._numbers[path] = number
        if old != number:
            self.sum += (number or 0) - (old or 0)
            self._changed[path] = number

    def point(self, id: str, *, time: float, turn: int, kind: str) -> Point:
        """Returns the point of a checkpoint that was just made of these files."""
        made = Point(id, self.sum, time, turn, kind, self._before, self._changed)
        self._before, self._changed = made, {}
        return made

    def go_to(self, point: Point) -> None:
        """Takes note that the files are said to be as at a point; they must be, to the last bit."""
        found = self.walked()
        if sum(found.values()) != point.sum:
            wanted = point.numbers()
            paths = found.keys() | wanted.keys()
            wrong = sorted(path for path in paths if found.get(path) != wanted.get(path))
            raise AssertionError(f"{len(wrong)} paths are not as at {point.id}: {wrong[:20]}")
        self._numbers, self.sum = found, point.sum
        self._before, self._changed = point, {}

    def check(self) -> None:
        """Fails if anything moved that the campaign did not move."""
        found = self.walked()
        paths = found.keys() | self._numbers.keys()
        wrong = sorted(path for path in paths if found.get(path) != self._numbers.get(path))
        assert not wrong, f"changed by nobody: {wrong[:20]}"

    def walked(self) -> Numbers:
        """Returns the number of every entry that is there now."""
        return walk(self._root, self._is_ignored)


def walk(root: bytes, is_ignored: Callable[[bytes], bool]) -> Numbers:
    """Returns the number of every entry below a directory that is not ignored, nor a ``.git``."""
    found: Numbers = {}
    waiting = [b""]
    while waiting:
        place = waiting.pop()
        with os.scandir(os.path.join(root, place)) as entries:
            for entry in entries:
                path = os.path.join(place, entry.name)
                if entry.name == b".git" or is_ignored(path):
                    continue
                number = number_of(root, path)
                assert number is not None
                found[path] = number
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
    return found


def number_of(root: bytes, path: bytes) -> int | None:
    """Returns the number of one entry; None if it is not there."""
    full = os.path.join(root, path)
    try:
        mode = os.lstat(full).st_mode
    except FileNotFoundError:
        return None
    content = b""
    if stat.S_ISLNK(mode):
        mode, content = stat.S_IFLNK, os.readlink(full)
    elif stat.S_ISREG(mode):
        with open(full, "rb") as file:
            content = file.read()
    digest = blake2b(b"%d %o %b\0" % (len(path), mode, path), digest_size=16)
    digest.update(content)
    return int.from_bytes(digest.digest(), "big")
