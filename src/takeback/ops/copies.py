"""Copies what no checkpoint holds, such as ``.venv`` or ``node_modules``, out of the workspace.

It is a copy, not a link: through a link a command would write into the workspace. Texts in it that
name the workspace's path, and links that lead there, name the new place instead: the first line of
a script, the ``.pth`` file of a package that is installed in place. Otherwise a program there would
go on with the files of the workspace.
"""

from __future__ import annotations

import os
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG

from takeback import durable
from takeback.model.path_text import covers
from takeback.model.value import Value
from takeback.ordinary import all_names, ordinary

_PIECE = 1 << 20
"""A file that is not longer, and has no NUL, is a text."""
_ENDS = frozenset(b"/:;,'\"`()[]{}<>|&= \t\r\n\0")
"""What a path may be followed by; anything else makes it another path."""


class Removal(Value):
    """From where to where: the real path of the workspace, its other names, and the new place."""

    root: bytes
    there: bytes
    also: tuple[bytes, ...] = ()

    def text(self, text: bytes) -> bytes:
        """Returns a text in which the workspace, and each path in it, is at the new place.

        ``/a/b`` is in ``/a/b/c`` and in ``x=/a/b:/d``, not in ``/a/bc``.
        """
        for old in (*self.also, self.root):
            if old in text:
                text = _renamed(text, old, self.there)
        return text

    def path(self, path: bytes) -> bytes:
        """Returns a path; one that leads into the workspace, if only by links, is a new one."""
        path = self.text(path)
        if not path.startswith(b"/") or covers((self.there,), path):
            return path
        real = os.path.realpath(path)
        return self.there + real[len(self.root) :] if covers((self.root,), real) else path


def removal(root: bytes, there: str, called_in: str) -> Removal:
    """Returns what moves from a workspace; ``called_in`` is how a shell calls a place in it."""
    also, directory = [], os.fsencode(called_in)
    while directory.startswith(b"/") and directory != b"/":
        if directory != root and os.path.realpath(directory) == root:
            also.append(directory)
        directory = os.path.dirname(directory)
    return Removal(root, os.fsencode(there), tuple(also))


def copy_across(moved: Removal, path: bytes) -> None:
    """Copies a path of the workspace to the same path at the new place; raises OSError.

    Keeps permission bits, and the times of files, by which programs tell what is up to date.
    """
    source = os.path.join(moved.root, path)
    durable.make_directories(os.fsdecode(os.path.dirname(os.path.join(moved.there, path))))
    pending = [source]
    while pending:
        here = pending.pop()
        _copy(moved, here)
        if not os.path.islink(here) and os.path.isdir(here):
            names = map(os.fsencode, all_names(os.fsdecode(here)))
            pending += [os.path.join(here, name) for name in names]


def _copy(moved: Removal, source: bytes) -> None:
    """Copies one file, link or directory without what is in it; sockets and the like are left."""
    found = os.lstat(source)
    copy = moved.there + source[len(moved.root) :]
    if S_ISLNK(found.st_mode):
        durable.symlink(moved.path(os.readlink(source)), copy)
    elif S_ISDIR(found.st_mode):
        durable.mkdir(copy, mode=0o700 | S_IMODE(found.st_mode))
    elif S_ISREG(found.st_mode):
        _copy_file(moved, source, copy)
        durable.set_times(copy, found.st_atime_ns, found.st_mtime_ns)


def _copy_file(moved: Removal, source: bytes, copy: bytes) -> None:
    with open(source, "rb", opener=ordinary) as file:
        bits = S_IMODE(os.fstat(file.fileno()).st_mode)
        fd = durable.create(copy)
        try:
            data = file.read(_PIECE)
            if len(data) < _PIECE and b"\0" not in data:
                data = moved.text(data)
            while data:
                durable.write(fd, data)
                data = file.read(_PIECE)
            durable.chmod(fd, bits)
        finally:
            os.close(fd)


def _renamed(text: bytes, old: bytes, new: bytes) -> bytes:
    pieces, at = [], 0
    while (found := text.find(old, at)) >= 0:
        end = found + len(old)
        whole = end == len(text) or text[end] in _ENDS
        pieces += [text[at:found], new if whole else old]
        at = end
    return b"".join((*pieces, text[at:]))
