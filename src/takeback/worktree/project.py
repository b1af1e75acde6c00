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
    from collections.abc import Iterator, Mapping

_TEXT_LIMIT = 4 << 20
_REFS_LIMIT = 64 << 20  # packed-refs of a large project: 100,000 refs are 7 MB
_INDEX_LIMIT = 512 << 20
_HEX = frozenset(b"0123456789abcdef")
_SPACE = b" \t\r\v\f"
_TRUE = (b"true", b"yes", b"on", b"1")
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"b": b"\b"}
_INCLUDE_DEPTH = 5
_CONFIG_FILES = 64  # in all: files that include each other must not multiply


class GitDirectory(Value):
    """Where a project's git keeps its files; ``linked`` for a worktree of another repository."""

    git_dir: bytes
    common_dir: bytes
    linked: bool = False
    root: bytes = b""


class Head(Value):
    """What is checked out, for information: no branch when detached, no commit when unborn."""

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
    """Returns the branch and commit that are checked out, as far as plain files tell.

    Where refs are kept as a reftable, HEAD names the branch ``.invalid``: nothing is known.
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
    """Names the operation of git that waits for the user: merge, rebase, cherry-pick, revert."""
    here = git.git_dir + b"/"
    # A rebase first: it stops at a conflict with a CHERRY_PICK_HEAD of its own.
    for marker, what in (
        (b"rebase-merge", "rebase"),
        (b"rebase-apply", "rebase"),
        (b"MERGE_HEAD", "merge"),
        (b"CHERRY_PICK_HEAD", "cherry-pick"),
        (b"REVERT_HEAD", "revert"),
    ):
        if os.path.lexists(here + marker):
            return what
    # Between two commits of a series there is no marker, only the list of what is left.
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
    """Returns the names of all tracked files, sorted; None where the index is unreadable."""

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
    return _read(git.common_dir + b"/info/exclude")


def excludes_file(environ: Mapping[str, str], git: GitDirectory | None = None) -> bytes | None:
    """Returns the file of ignore rules that the user has for all projects, if it exists.

    It is ``core.excludesFile``, the last setting of these files wins: the user's (either
    GIT_CONFIG_GLOBAL or the XDG one and ``~/.gitconfig``), the project's, its worktree's; the
    system's is not read. Without a setting it is ``git/ignore`` in the XDG directory.
    """
    home = os.fsencode(environ.get("HOME", ""))
    xdg = os.fsencode(environ.get("XDG_CONFIG_HOME", "")) or (home and home + b"/.config")
    config = _Config(home)
    if "GIT_CONFIG_GLOBAL" in environ:
        config.read(os.fsencode(environ["GIT_CONFIG_GLOBAL"]))
    else:
        config.read(xdg and xdg + b"/git/config")
        config.read(home and home + b"/.gitconfig")
    if git is not None:
        config.read(git.common_dir + b"/config")
        if config.settings.get(b"extensions.worktreeconfig", b"").lower() in _TRUE:
            config.read(git.git_dir + b"/config.worktree")
    path = config.settings.get(b"core.excludesfile")
    path = xdg and xdg + b"/git/ignore" if path is None else config.expanded(path)
    if path and git is not None:  # git reads a relative one from the root of the work tree
        path = os.path.join(git.root, path)
    return path if path.startswith(b"/") and os.path.isfile(path) else None


def read_text_file(path: bytes) -> bytes:
    """Returns the bytes of a small regular file, nothing for anything else; never waits."""
    return _read(path)


class _Config:
    """The settings of some of git's configuration files, a later one over an earlier one."""

    def __init__(self, home: bytes) -> None:
        self.settings: dict[bytes, bytes] = {}
        self._home = home
        self._files_left = _CONFIG_FILES

    def read(self, file: bytes, depth: int = 0) -> None:
        """Adds one file and what it includes; includes under a condition are left out."""
        self._files_left -= 1
        if depth > _INCLUDE_DEPTH or self._files_left < 0:
            return
        for key, value in _assignments(_read(file)):
            if key == b"include.path":
                self.read(os.path.join(os.path.dirname(file), self.expanded(value)), depth + 1)
            else:
                self.settings[key] = value

    def expanded(self, path: bytes) -> bytes:
        """Replaces a leading ``~`` or ``~user``."""
        if path.startswith(b"~/") and self._home:
            return self._home + path[1:]
        return os.path.expanduser(path) if path.startswith(b"~") else path


def _assignments(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields ``section.key`` in lower case and the value; lines that make no sense are skipped."""
    section = b""
    position = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    while position < len(data):
        stop = data.find(b"\n", position) % (len(data) + 1)  # the end when there is none
        line = data[position:stop].lstrip(_SPACE)
        position = stop + 1
        if line.startswith(b"["):
            name, _, line = line[1:].partition(b"]")
            section = name.lower()
            line = line.lstrip(_SPACE)
        name, equals, value = line.partition(b"=")
        name = name.rstrip(_SPACE).lower()
        if not name.replace(b"-", b"").isalnum():  # a comment, an empty line, nonsense
            continue
        if equals:
            value, position = _value(data, stop - len(value))
        yield section + b"." + name, value if equals else b"true"


def _value(data: bytes, position: int) -> tuple[bytes, int]:
    """Returns the value that begins at ``position``, and where the next line begins."""
    stop = data.find(b"\n", position) % (len(data) + 1)
    line = data[position:stop]
    if not any(special in line for special in (b"\\", b'"', b"#", b";")):
        return line.strip(_SPACE), stop + 1
    value = bytearray()
    solid = 0  # up to here; unquoted blanks beyond it count only if something follows
    quoted = False
    while position < len(data):
        char = data[position : position + 1]
        position += 1
        if char == b"\n":
            break
        if not quoted and char in _SPACE:
            value += char if solid else b""
            continue
        if not quoted and char in b"#;":
            return bytes(value[:solid]), data.find(b"\n", position) % (len(data) + 1) + 1
        if char == b"\\":
            if data.startswith(b"\r\n", position):
                position += 1
            char = data[position : position + 1]
            position += 1
            value += b"" if char == b"\n" else _ESCAPES.get(char, char)
        elif char == b'"':
            quoted = not quoted
        else:
            value += char
        solid = len(value)
    return bytes(value[:solid]), position


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
    """Returns the object id of ``ref`` in packed-refs, or nothing."""
    refs = _read(git.common_dir + b"/packed-refs", _REFS_LIMIT)
    end = refs.find(b" %s\n" % ref)
    return refs[refs.rfind(b"\n", 0, max(end, 0)) + 1 : max(end, 0)]


def _object_id(content: bytes) -> str | None:
    text = content.strip()
    return text.decode() if len(text) in (40, 64) and _HEX.issuperset(text) else None


def _read(path: bytes, limit: int = _TEXT_LIMIT) -> bytes:
    """Returns the bytes of a regular file; nothing if it is anything else, or too large.

    Symbolic links are followed, as git does (dotfiles are often links); what they lead to
    is opened without waiting, so a FIFO or a terminal cannot hold us up.
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
