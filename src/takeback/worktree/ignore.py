"""Asks git which paths its ignore rules hide, one answer per path.

The rules are git's own and so is the program that reads them: ``git check-ignore`` on our store,
with the workspace as its work tree. So the project's configuration is never read,
``core.ignoreCase`` included, and there is no second interpretation of ``.gitignore`` that could be
wrong.

    .gitignore at every level     git finds them in the work tree (not if it is a link)
    the project's info/exclude    copied to the store's own info/exclude
    the user's excludes file      given by -c
"""

from __future__ import annotations

import os
import sys

from takeback import durable, errors
from takeback.ordinary import NotOrdinary, ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.git.child import GitProcess
    from takeback.git.process import Git

_CHECK = ("check-ignore", "--no-index", "--verbose", "--non-matching", "-z", "--stdin")
_FIELDS = 4  # of an answer, each ended by NUL: file, line, pattern, path
_LONGEST = 4000 if sys.platform == "linux" else 1000
"""Given more than PATH_MAX bytes, git 2.39 writes beyond a buffer, and crashed on some paths."""


class IgnoreRaced(Exception):
    """A directory above one of the paths became a symbolic link: git answers for none of them.

    The caller looks again at what is there and asks again.
    """


class IgnoreRules:
    """The ignore rules of one workspace.

    Nothing runs until the first question; then one git is kept for the next ones. It remembers the
    ``.gitignore`` files of the directory that it was last asked about and of those above it: if you
    know that one has changed, call ``close`` first. A ``.gitignore`` that is a FIFO would block git
    until TimedOut; the caller must not ask about paths below it.
    """

    def __init__(
        self,
        git: Git,
        work_tree: str,
        *,
        excludes_file: bytes | None,
        exclude_info: bytes,
        timeout: float = 60.0,
    ) -> None:
        self._git = git
        self._work_tree = work_tree
        # Without a value git would look for a file in a home directory.
        self._config = (("core.excludesFile", os.fsdecode(excludes_file or b"")),)
        self._exclude_info = exclude_info
        self._timeout = timeout
        self._prepared = False
        self._process: GitProcess | None = None

    def ignored(self, paths: Sequence[bytes]) -> list[bool]:
        """Tells for each path, relative to the workspace, whether it is ignored.

        Directories are passed like files. What lies in an ignored directory is ignored. Paths of
        one directory should be passed together: git reads its rules each time it gets there. A path
        that is too long for git is ignored only if a directory above it is. Raises IgnoreRaced or
        TimedOut; the next call starts git again.
        """
        if not paths:
            return []
        self._prepare()
        if max(map(len, paths)) > _LONGEST:
            paths = [_askable(path) for path in paths]
        # "./": a leading ":" would be pathspec magic, and "-" is harmless on stdin anyway
        question = b"./" + b"\0./".join(paths) + b"\0"
        try:
            answer = self._ask(question, len(paths))
        except errors.GitFailed as error:
            self.close()
            raise IgnoreRaced(str(error)) from error
        except errors.TimedOut:
            self.close()
            raise
        fields = answer.split(b"\0")
        if len(fields) != _FIELDS * len(paths) + 1:
            self.close()
            raise IgnoreRaced("git gave another number of answers than it was asked for")
        return [pattern[:1] not in (b"", b"!") for pattern in fields[2::_FIELDS]]

    def close(self) -> None:
        """Ends git; a later question starts it again and reads all rules afresh."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _ask(self, question: bytes, count: int) -> bytes:
        if self._process is None:
            self._process = self._git.spawn(_CHECK, work_tree=self._work_tree, config=self._config)
        missing = _FIELDS * count
        seen = 0

        def whole(answer: bytearray) -> bool:
            nonlocal missing, seen
            missing -= answer.count(b"\0", seen)
            seen = len(answer)
            return missing <= 0

        return self._process.ask(question, whole, timeout=self._timeout)

    def _prepare(self) -> None:
        """Copies the project's info/exclude to the store's."""
        if self._prepared:
            return
        place = os.path.join(self._git.git_dir, "info", "exclude")
        try:
            with open(place, "rb", opener=ordinary) as file:
                current = file.read()
        except FileNotFoundError:
            current = b""
        except NotOrdinary:
            current = None  # something else is there: it is put there anew
        if current != self._exclude_info:
            durable.make_directories(os.path.dirname(place))
            durable.replace_file(place, self._exclude_info, flush=False)
        self._prepared = True


def _askable(path: bytes) -> bytes:
    """Returns the path, or the lowest directory above it whose path is not too long for git."""
    return path if len(path) <= _LONGEST else path[: path.rfind(b"/", 0, _LONGEST)]
