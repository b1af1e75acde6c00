"""Reads what the project's own git knows, as plain files.

git never runs in the project: even a reading command there can start a program that its
configuration names. Nothing here raises because a project is odd (damaged, half-written,
a FIFO where a file should be): the answer is then what could be read.
"""

from __future__ import annotations

import errno
import os
from stat import S_ISREG

from takeback.model.value import Value
from takeback.worktree.index import IndexUnreadable, tracked_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass

_TEXT_LIMIT = 4 << 20
RULES_LIMIT = 4 << 20
"""A file of ignore rules that is larger, or not a regular file, means no rules.

git compares each new name with each rule: a thousand names with 4 MB of them take it 1 to 5 s.
"""
_REFS_LIMIT = 64 << 20  # packed-refs of a large project: 100,000 refs are 7 MB
_INDEX_LIMIT = 512 << 20
_HEX = frozenset(b"0123456789abcdef")


class GitDirectory(Value):
    """Where a project's git keeps its files; ``linked`` for a worktree of another repository."""

    git_dir: bytes
    common_dir: bytes
    linked: bool = False
    root: bytes = b""


class Head(Value):
    """What is checked out, for information only: no branch when detached, no commit when unborn."""

    branch: str | None = None
    commit: str | None = None


def git_directory(root: bytes) -> GitDirectory | None:
    """Returns the git directory of the work tree at ``root``, or None if it is not one."""
    dot_git = os.path.join(root, b".git")
    pointer = _gitdir_line(dot_git)
    git_dir = dot_git if pointer is None else os.path.realpath(os.path.join(root, pointer))
    if not os.path.lexists(git_dir + b"/HEAD"):
        return None
    common = _read(git_dir + b"/commondir").rstrip(b"\r\n")
    if not common or b"\0" in common:
        return GitDirectory(git_dir, git_dir, False, root)
    common_dir = os.path.realpath(os.path.join(git_dir, common))
    return GitDirectory(git_dir, common_dir, pointer is not None, root)


def is_own(git: GitDirectory) -> bool:
    """Tells whether a git directory itself says that it belongs to its root.

    A ``.git`` that is a file or a link can name any repository, so it proves nothing; a repository
    that has this worktree says so itself.
    """
    dot_git = os.path.join(git.root, b".git")
    if os.path.isdir(dot_git):
        return not os.path.islink(dot_git)
    back = _read(git.git_dir + b"/gitdir").rstrip(b"\r\n")
    return bool(back) and b"\0" not in back and os.path.realpath(back) == os.path.realpath(dot_git)


def enclosing(path: bytes) -> list[bytes]:
    """Returns ``path`` and its ancestors, as far as they are roots of git work trees."""
    found = []
    path = os.path.abspath(path)
    while True:
        dot_git = os.path.join(path, b".git")
        if os.path.lexists(dot_git + b"/HEAD") or _gitdir_line(dot_git) is not None:
            found.append(path)
        parent = os.path.dirname(path)
        if parent == path:
            return found
        path = parent


def head(git: GitDirectory) -> Head:
    """Returns the branch and commit that are checked out, as far as can be told from plain files.

    If refs are kept as a reftable, HEAD names the branch ``.invalid``: nothing is known.
    """
    name = git.git_dir + b"/HEAD"
    try:  # git before 2005, and some tools since, make HEAD a symbolic link
        content = b"ref: " + os.readlink(name)
    except OSError:
        content = _read(name)
    if not content.startswith(b"ref:"):
        return Head(None, _object_id(content))
    ref = content[4:].strip()
    if ref == b"refs/heads/.invalid":
        return Head()
    branch = os.fsdecode(ref.removeprefix(b"refs/heads/"))
    for _ in range(5):  # a ref may name another one
        if not ref.startswith(b"refs/") or b".." in ref:
            return Head(branch)
        content = _read(os.path.join(git.common_dir, ref)) or _packed(git, ref)
        if not content.startswith(b"ref:"):
            return Head(branch, _object_id(content))
        ref = content[4:].strip()
    return Head(branch)


def in_progress(git: GitDirectory) -> str | None:
    """Names the git operation that is waiting for the user: merge, rebase, cherry-pick, revert."""
    here = git.git_dir + b"/"
    # Rebase comes first: it stops at a conflict with a CHERRY_PICK_HEAD of its own.
    for marker, what in (
        (b"rebase-merge", "rebase"),
        (b"rebase-apply", "rebase"),
        (b"MERGE_HEAD", "merge"),
        (b"CHERRY_PICK_HEAD", "cherry-pick"),
        (b"REVERT_HEAD", "revert"),
    ):
        if os.path.lexists(here + marker):
            return what
    # Between two commits of a series there is no marker, only the list of the remaining ones.
    rest = _read(here + b"sequencer/todo").split(maxsplit=1)[:1]
    return {b"pick": "cherry-pick", b"revert": "revert"}.get(rest[0]) if rest else None


def index_file(git: GitDirectory) -> bytes:
    """Returns the path of the index, which need not exist."""
    return git.git_dir + b"/index"


def index_signature(git: GitDirectory) -> tuple[int, ...] | None:
    """Returns what changes whenever the index does, or None without one."""
    try:
        status = os.stat(index_file(git))
    except OSError:
        return None
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def read_tracked(git: GitDirectory) -> list[bytes] | None:
    """Returns the names of all tracked files, sorted; None if the index is unreadable."""

    def shared(name: bytes) -> bytes | None:
        return _read(git.git_dir + b"/sharedindex." + name, _INDEX_LIMIT) or None

    for _ in range(2):  # git may have replaced both halves of a split index between our reads
        data = _read(index_file(git), _INDEX_LIMIT)
        if not data and _is_absent(index_file(git)):
            return []
        try:
            return tracked_names(data, shared)
        except IndexUnreadable:
            continue
    return None


def exclude_info(git: GitDirectory) -> bytes:
    """Returns the bytes of the project's ``info/exclude``."""
    return rules_of(git.common_dir + b"/info/exclude")


def read_text_file(path: bytes) -> bytes:
    """Returns the bytes of a small regular file, empty for anything else; never blocks."""
    return _read(path)


def rules_of(path: bytes) -> bytes:
    """Returns the bytes of a file of ignore rules, empty for anything else; never blocks."""
    return _read(path, RULES_LIMIT)


def _is_absent(path: bytes) -> bool:
    try:
        os.stat(path)
    except OSError as error:
        return error.errno in (errno.ENOENT, errno.ENOTDIR)
    return False


def _gitdir_line(dot_git: bytes) -> bytes | None:
    """Returns where a ``.git`` that is a file points, or None for anything else."""
    line = _read(dot_git)
    path = line[8:].rstrip(b"\r\n") if line.startswith(b"gitdir: ") else b""
    return path if path and b"\0" not in path else None


def _packed(git: GitDirectory, ref: bytes) -> bytes:
    """Returns the object id of ``ref`` in packed-refs, or empty bytes."""
    refs = _read(git.common_dir + b"/packed-refs", _REFS_LIMIT)
    end = refs.find(b" %s\n" % ref)
    return refs[refs.rfind(b"\n", 0, max(end, 0)) + 1 : max(end, 0)]


def _object_id(content: bytes) -> str | None:
    text = content.strip()
    return text.decode() if len(text) in (40, 64) and _HEX.issuperset(text) else None


def _read(path: bytes, limit: int = _TEXT_LIMIT) -> bytes:
    """Returns the bytes of a regular file; empty if it is anything else, or too large.

    Symbolic links are followed, as in git (dotfiles are often links); what they lead to is opened
    without blocking, so a FIFO or a terminal cannot hold us up.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):  # ValueError: a NUL in a name that a file gave us
        return b""
    try:
        status = os.fstat(fd)
        if not S_ISREG(status.st_mode) or status.st_size > limit:
            return b""
        data = b""
        while chunk := os.read(fd, max(status.st_size - len(data), 1 << 16) + 1):
            data += chunk
            if len(data) > limit:
                return b""
        return data
    except OSError:
        return b""
    finally:
        os.close(fd)
