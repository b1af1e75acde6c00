"""A project that an agent works on: some thousand files of all kinds, and what is done to them."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

_WORDS = b"""value count parser reader writer session cookie login schema column index cursor
handle buffer stream socket packet header footer client server worker thread queue timer token
""".split()
_ODD_NAMES = (
    b"\xff\xfe",
    b"new\nline",
    b"-dash",
    b":(top)x",
    b" ",
    b"caf\xc3\xa9",
    b"[a]*?",
    b"'\"",
)
_IGNORED = b"*.log\n/build/\n.env\n"
_BINARIES = 50
"""Of so many files one is binary."""


def is_ignored(path: bytes) -> bool:
    """Tells whether the project's own rules ignore a path; what ``_IGNORED`` says, by hand."""
    name = path.rpartition(b"/")[2]
    return name.endswith(b".log") or name == b".env" or path.split(b"/")[0] == b"build"


class Project:
    """The files, and the edits of an agent, of a shell and of a person. Each returns its paths."""

    def __init__(self, root: bytes, chance: random.Random, *, files: int) -> None:
        self.root = root
        self._chance = chance
        self._wanted = files
        self._made = 0
        self.files: list[bytes] = []
        """The regular files that are not ignored, in no order."""

    def make(self) -> None:
        """Makes the whole of it."""
        for number in range(self._wanted):
            self._write(
                self._new_path(), self._binary() if number % _BINARIES == 0 else self._text()
            )
        for number, name in enumerate(_ODD_NAMES):
            self._write(b"odd/%d/" % number + name, b"odd\n")
        self._write(b".gitignore", _IGNORED)
        self._write(b"build/out.bin", self._binary())
        self._write(b"trace.log", b"begun\n")
        self._write(b".env", b"TOKEN=none\n")
        os.makedirs(self._full(b"empty/inside"))
        os.symlink(b"src/part0", self._full(b"current"))
        os.symlink(b"nowhere", self._full(b"dangling"))
        self.refresh()

    def refresh(self) -> None:
        """Finds out which files are there, after others have moved them."""
        self.files = []
        for place, directories, names in os.walk(self.root):
            inside = os.path.relpath(place, self.root)
            prefix = b"" if inside == b"." else inside + b"/"
            directories[:] = [d for d in directories if not is_ignored(prefix + d)]
            for name in names:
                path = prefix + name
                if name != b".gitignore" and not is_ignored(path) and not _is_link(place, name):
                    self.files.append(path)
        self.files.sort()

    # -- what an agent does by its tools

    def write(self) -> list[bytes]:
        """Makes a new file, perhaps in a new directory."""
        path = self._new_path()
        self._write(path, self._binary() if self._chance.random() < 0.05 else self._text())
        self.files.append(path)
        return [path]

    def edit(self) -> list[bytes]:
        """Changes some lines of a file."""
        path = self._chance.choice(self.files)
        with open(self._full(path), "rb") as file:
            lines = file.read().split(b"\n")
        for _ in range(self._chance.randrange(1, 4)):
            lines[self._chance.randrange(len(lines))] = self._line()
        self._write(path, b"\n".join(lines))
        return [path]

    # -- what a shell does besides, without a word about the paths

    def run(self) -> list[bytes]:
        """Does one of the things that commands do."""
        few = len(self.files) < self._wanted * 0.95
        acts: list[Callable[[], list[bytes]]] = [
            self._rename,
            self._chmod,
            self._link,
            self._rewrite_binary,
            self._write_ignored,
            self._make_directory,
            self.write if few else self._delete,
        ]
        return self._chance.choice(acts)()

    def _delete(self) -> list[bytes]:
        path = self._taken()
        os.unlink(self._full(path))
        return [path]

    def _rename(self) -> list[bytes]:
        old, new = self._taken(), self._new_path()
        os.makedirs(os.path.dirname(self._full(new)), exist_ok=True)
        os.rename(self._full(old), self._full(new))
        self.files.append(new)
        return [old, new]

    def _chmod(self) -> list[bytes]:
        path = self._chance.choice(self.files)
        os.chmod(self._full(path), self._chance.choice((0o644, 0o755, 0o600, 0o640)))
        return [path]

    def _link(self) -> list[bytes]:
        path = b"links/%d" % self._chance.randrange(40)
        os.makedirs(self._full(b"links"), exist_ok=True)
        if os.path.lexists(self._full(path)):
            os.unlink(self._full(path))
        else:
            os.symlink(b"../" + self._chance.choice(self.files), self._full(path))
        return [path]

    def _rewrite_binary(self) -> list[bytes]:
        path = self._chance.choice(self.files)
        self._write(path, self._binary())
        return [path]

    def _write_ignored(self) -> list[bytes]:
        path = self._chance.choice((b"trace.log", b"build/out.bin", b".env"))
        self._write(path, self._line() * 20)
        return [path]

    def _make_directory(self) -> list[bytes]:
        path = b"empty/%d" % self._chance.randrange(40)
        if os.path.isdir(self._full(path)):
            os.rmdir(self._full(path))
        else:
            os.makedirs(self._full(path))
        return [path]

    # -- how

    def _full(self, path: bytes) -> bytes:
        return os.path.join(self.root, path)

    def _taken(self) -> bytes:
        at = self._chance.randrange(len(self.files))
        self.files[at], self.files[-1] = self.files[-1], self.files[at]
        return self.files.pop()

    def _new_path(self) -> bytes:
        self._made += 1
        part, number = self._chance.randrange(self._wanted // 40 + 1), self._made
        return b"src/part%d/%b_%d.py" % (part, self._chance.choice(_WORDS), number)

    def _write(self, path: bytes, data: bytes) -> None:
        os.makedirs(os.path.dirname(self._full(path)), exist_ok=True)
        with open(self._full(path), "wb") as file:
            file.write(data)

    def _line(self) -> bytes:
        words = self._chance.choices(_WORDS, k=self._chance.randrange(3, 9))
        return b"    %b = %d\n" % (b"_".join(words), self._chance.randrange(1 << 20))

    def _text(self) -> bytes:
        return b"".join(self._line() for _ in range(self._chance.randrange(5, 60)))

    def _binary(self) -> bytes:
        return self._chance.randbytes(self._chance.randrange(1_000, 20_000))


def _is_link(place: bytes, name: bytes) -> bool:
    return os.path.islink(os.path.join(place, name))
