"""Names that surely no ignore rule matches: git need not be started for them.

Only git decides whether a rule matches (``ignore.py``). But most new files have a name that has
nothing to do with any rule, and that can be told without knowing the rules of matching:

    a rule matches a path only if its last part matches one of the path's names
    a part with a wildcard matches only what begins and ends as the part does

So a path is surely not ignored if no rule's last part fits any of its names. Everything else, and
everything odd (a backslash, a slash that may be within brackets, an unreadable file), is left to
git.
"""

from __future__ import annotations

import os
from stat import S_ISREG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_IGNORE_FILE = b".gitignore"
_LARGEST = 1 << 16
_LONGEST_PATH = 900
_SPACE = 0x20
_BOM = b"\xef\xbb\xbf"
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class Unignored:
    """The ignore rules of one workspace, read only as far as needed to rule out a match."""

    def __init__(self, root: bytes, *, excludes_file: bytes | None, exclude_info: bytes) -> None:
        self._root = root
        self._excludes_file = excludes_file
        self._exclude_info = exclude_info
        self._everywhere: list[_Parts] | None = None
        self._of_directory: dict[bytes, _Parts | None] = {}
        self._directory: bytes | None = None
        self._fitting: list[_Parts] = []
        self._is_clear = False

    def surely(self, path: bytes) -> bool:
        """Tells whether no rule can match a path or a directory above it.

        Paths of one directory should be asked about together.
        """
        if len(path) > _LONGEST_PATH:
            return False
        directory, _, name = path.rpartition(b"/")
        if directory != self._directory:
            self._enter(directory)
        if not self._is_clear:
            return False
        names = [name.lower()]  # git may be set to ignore case
        return not any(parts.may_match(names) for parts in self._fitting)

    def _enter(self, directory: bytes) -> None:
        """Finds the rules for the names in a directory, and whether one may match itself."""
        self._fitting = list(self._parts(directory))
        names = directory.lower().split(b"/") if directory else []
        self._is_clear = not any(parts.may_match(names) for parts in self._fitting)
        self._directory = directory

    def _parts(self, directory: bytes) -> Iterator[_Parts]:
        if self._everywhere is None:
            self._everywhere = [_Parts(self._exclude_info)]
            if self._excludes_file is not None:
                self._everywhere.append(_Parts(_read(self._excludes_file)))
        yield from self._everywhere
        while True:
            if directory not in self._of_directory:
                file = os.path.join(self._root, directory, _IGNORE_FILE)
                text = _read(file, os.O_NOFOLLOW)
                self._of_directory[directory] = None if text == b"" else _Parts(text)
            parts = self._of_directory[directory]
            if parts is not None:
                yield parts
            if not directory:
                return
            directory = directory.rpartition(b"/")[0]


class _Parts:
    """The last part of each rule of a file, as what a name must be, or begin and end with."""

    def __init__(self, text: bytes | None) -> None:
        self._anything = text is None
        self._names: set[bytes] = set()
        self._ends: set[tuple[bytes, bytes]] = set()
        for line in (text or b"").removeprefix(_BOM).lower().split(b"\n"):
            self._add(line.removesuffix(b"\r"))

    def _add(self, line: bytes) -> None:
        if not line or line.startswith(b"#"):
            return
        rule = line.rstrip(b" ").removeprefix(b"!").rstrip(b"/")
        part = rule.rpartition(b"/")[2]
        bracket = b"[" in rule[: len(rule) - len(part)]
        if not part or bracket or b"\\" in line or min(line) < _SPACE:
            # git may read these in its own way
            self._anything = True
            return
        wild = [at for at in map(part.find, (b"*", b"?", b"[")) if at >= 0]
        if not wild:
            self._names.add(part)
        elif b"[" in part:
            self._ends.add((part[: min(wild)], b""))
        else:
            self._ends.add((part[: min(wild)], part[max(part.rfind(b"*"), part.rfind(b"?")) + 1 :]))

    def may_match(self, names: list[bytes]) -> bool:
        if self._anything or not self._names.isdisjoint(names):
            return True
        return any(
            name.startswith(first) and name.endswith(last)
            for first, last in self._ends
            for name in names
        )


def _read(path: bytes, flags: int = 0) -> bytes | None:
    """Returns the contents of a file of rules, empty if there is none; None: ask git."""
    try:
        fd = os.open(path, _FLAGS | flags)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        if not S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            return None
        return os.read(fd, _LARGEST + 1)
    except OSError:
        return None
    finally:
        os.close(fd)
