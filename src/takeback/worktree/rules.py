"""Everything that decides whether a path is held: git's rules, the index, the settings."""

from __future__ import annotations

from takeback.c_modules import bisect_left
from takeback.git.objects import new_hasher
from takeback.worktree import gitconfig, project
from takeback.worktree.patterns import LeftOut, Patterns
from takeback.worktree.unignored import Unignored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from takeback.model.policy import Policy
    from takeback.worktree.ignore import IgnoreRules

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
