"""Everything that decides whether a path is held: git's rules, the index, the settings."""

from __future__ import annotations

import os
import sys
from stat import S_ISREG

from takeback import durable, errors
from takeback.c_modules import bisect_left
from takeback.git.objects import new_hasher
from takeback.model.coverage import EXCLUDED, SENSITIVE
from takeback.ordinary import NotOrdinary, ordinary
from takeback.worktree import gitconfig, project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from re import Pattern

    from takeback.git.process import Git, GitProcess
    from takeback.model.coverage import Policy, Reason


# -- the patterns of ``include`` and ``exclude``, and what the settings keep out of every capture
#
# ``*`` and ``?`` stop at a slash, ``**`` does not; a pattern without a slash matches a name at
# any depth; a pattern that matches a directory matches all below it.


class Patterns:
    """A list of patterns, compiled on first use (``re`` costs 10 ms, most people set none)."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self._patterns = patterns
        self._compiled: list[Pattern[bytes]] | None = None

    def match(self, path: bytes) -> bool:
        """Tells whether a path, or a directory above it, matches one of the patterns."""
        if not self._patterns:
            return False
        if self._compiled is None:
            self._compiled = [_compile(pattern) for pattern in self._patterns]
        return any(pattern.match(path) for pattern in self._compiled)


def _compile(pattern: str) -> Pattern[bytes]:
    import re

    text = pattern.strip("/")
    anywhere = "/" not in text and not pattern.startswith("/")
    parts = []
    for piece in re.split(r"(\*\*/?|\*|\?)", text):
        if piece == "**/":
            parts.append("(?:.*/)?")
        elif piece == "**":
            parts.append(".*")
        elif piece == "*":
            parts.append("[^/]*")
        elif piece == "?":
            parts.append("[^/]")
        else:
            parts.append(re.escape(piece))
    body = "".join(parts)
    full = ("(?:.*/)?" if anywhere else "") + body + r"(?:/.*)?\Z"
    return re.compile(full.encode("utf-8", "surrogateescape"), re.DOTALL)


class LeftOut:
    """The user's own word on which paths takeback must not have."""

    def __init__(self, policy: Policy) -> None:
        self._include = Patterns(policy.include)
        self._exclude = Patterns(policy.exclude)
        self._skip_sensitive = policy.skip_sensitive

    def reason(self, path: bytes, *, directory: bool = False) -> Reason | None:
        """Returns why a path is never captured; None if the settings do not speak against it."""
        if self._exclude.match(path):
            return EXCLUDED
        return SENSITIVE if self.is_secret(path, directory=directory) else None

    def is_secret(self, path: bytes, *, directory: bool = False) -> bool:
        """Tells whether no byte of a file may enter the store, not even to be saved for undo.

        What ``include`` names is captured although its name is sensitive.
        """
        if not self._skip_sensitive:
            return False
        from takeback.model import sensitive  # few people set it

        if directory:
            found = sensitive.is_sensitive_directory(path.rpartition(b"/")[2])
        else:
            found = sensitive.is_sensitive(path)
        return found and not self._include.match(path)


# -- asks git which paths its ignore rules hide, one answer per path
#
# The rules are git's own and so is the program that reads them: ``git check-ignore`` on our
# store, with the workspace as its work tree. So the project's configuration is never read,
# ``core.ignoreCase`` included, and there is no second interpretation of ``.gitignore`` that could
# be wrong.
#
#     .gitignore at every level     git finds them in the work tree (not if it is a link)
#     the project's info/exclude    copied to the store's own info/exclude
#     the user's excludes file      given by -c


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


# -- names that surely no ignore rule matches: git need not be started for them
#
# Only git decides whether a rule matches. But most new files have a name that has
# nothing to do with any rule, and that can be told without knowing the rules of matching:
#
#     a rule matches a path only if its last part matches one of the path's names
#     a part with a wildcard matches only what begins and ends as the part does
#
# So a path is surely not ignored if no rule's last part fits any of its names. Everything else, and
# everything odd (a backslash, a slash that may be within brackets, an unreadable file), is left to
# git.


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


# -- everything that decides whether a path is held


_UNREAD = (-1,)
"""A signature that no index has."""


class Rules:
    """The rules of one workspace at one moment.

    git is started only for a new name that a rule may match.
    """

    def __init__(
        self,
        root: bytes,
        policy: Policy,
        environ: Mapping[str, str],
        make_ignore_rules: Callable[[bytes | None, bytes], IgnoreRules],
    ) -> None:
        self._root = root
        self._git = project.git_directory(root)
        self._excludes_file = gitconfig.excludes_file(environ, self._git)
        self._excludes = project.rules_of(self._excludes_file) if self._excludes_file else b""
        if not self._excludes:  # git would wait for ever on a FIFO
            self._excludes_file = None
        self._exclude_info = project.exclude_info(self._git) if self._git else b""
        self._make_ignore_rules = make_ignore_rules
        self._ignore_rules: IgnoreRules | None = None
        self._unignored = Unignored(
            root, excludes_file=self._excludes_file, exclude_info=self._exclude_info
        )
        self._include = Patterns(policy.include)
        self.left_out = LeftOut(policy)
        self._tracked: dict[bytes, list[bytes]] = {}
        self._indexes: dict[bytes, tuple[int, ...]] = {}
        self.unread: list[bytes] = []
        """Indexes that exist but could not be read: what they track is unknown."""
        self.fingerprint = self._fingerprint(policy)

    def _fingerprint(self, policy: Policy) -> bytes:
        """Returns what must be the same for earlier verdicts to hold."""
        digest = new_hasher(len(self._exclude_info))
        digest.update(self._exclude_info)
        digest.update(b"\0" + (self._excludes_file or b""))
        digest.update(b"\0" + self._excludes)
        settings = (
            policy.size_limit,
            policy.ignored,
            policy.ignored_file_limit,
            policy.include,
            policy.exclude,
            policy.skip_sensitive,
        )
        digest.update(repr(settings).encode())
        return digest.digest()

    def ignored(self, paths: Sequence[bytes]) -> list[bool]:
        """Tells for each path whether git's rules ignore it; raises IgnoreRaced."""
        questions = [path for path in paths if not self._unignored.surely(path)]
        answers = dict(zip(questions, self._asked(questions), strict=True))
        return [answers.get(path, False) for path in paths]

    def _asked(self, paths: Sequence[bytes]) -> list[bool]:
        if not paths:
            return []
        if self._ignore_rules is None:
            self._ignore_rules = self._make_ignore_rules(self._excludes_file, self._exclude_info)
        return self._ignore_rules.ignored(paths)

    def included(self, path: bytes) -> bool:
        return self._include.match(path)

    def is_tracked(self, directory: bytes, name: bytes) -> bool:
        """Tells whether the project, or a repository nested in it, tracks this file."""
        path = directory + b"/" + name if directory else name
        for repository in _ancestors(directory):
            names = self._names(repository)
            inner = path[len(repository) + 1 :] if repository else path
            at = bisect_left(names, inner)
            if at < len(names) and names[at] == inner:
                return True
        return False

    def tracked_below(self, directory: bytes) -> list[bytes]:
        """Returns the tracked paths below a directory."""
        found = []
        for repository in _ancestors(directory):
            names = self._names(repository)
            prefix = (directory[len(repository) + 1 :] if repository else directory) + b"/"
            at = bisect_left(names, prefix)
            while at < len(names) and names[at].startswith(prefix):
                found.append(repository + b"/" + names[at] if repository else names[at])
                at += 1
        return list(dict.fromkeys(found))  # two repositories may track the same file

    def _names(self, repository: bytes) -> list[bytes]:
        names = self._tracked.get(repository)
        if names is None:
            self._index_signature(repository)  # before the names, so that a change shows
            git = self._git_of(repository)
            found = project.read_tracked(git) if git else []
            if found is None:
                index = b".git/index"
                self.unread.append(repository + b"/" + index if repository else index)
                self._indexes[repository] = _UNREAD
            names = self._tracked[repository] = found or []
        return names

    def _git_of(self, repository: bytes) -> project.GitDirectory | None:
        if not repository:
            return self._git
        return project.git_directory(self._root + b"/" + repository)

    def index_signatures(self, repositories: Iterable[bytes]) -> dict[bytes, tuple[int, ...]]:
        """Returns what must be the same for the indexes to hold the names they held.

        Each is looked at once, before its names are read, so that a change by git during a capture
        is seen by the next one.
        """
        return {path: self._index_signature(path) for path in repositories}

    def _index_signature(self, repository: bytes) -> tuple[int, ...]:
        found = self._indexes.get(repository)
        if found is None:
            git = self._git_of(repository)
            found = (project.index_signature(git) if git else None) or ()
            self._indexes[repository] = found
        return found

    def close(self) -> None:
        if self._ignore_rules is not None:
            self._ignore_rules.close()
            self._ignore_rules = None


def _ancestors(directory: bytes) -> list[bytes]:
    """Returns a directory and all above it, up to the root of the workspace."""
    found = [directory]
    while directory:
        directory = directory.rpartition(b"/")[0]
        found.append(directory)
    return found
