"""Reads what the project's own git knows, as plain files: its place, its index, what is staged."""

from __future__ import annotations

import errno
import os
from stat import S_ISREG
from struct import Struct, error

from takeback.c_modules import eq
from takeback.git.objects import BLOB, object_id
from takeback.model.value import Value
from takeback.ordinary import ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


# -- what is staged in the project's index, as a digest: it is never restored
#
# Only what a person staged counts (mode, object id, stage and name of each entry), not the stat
# data that git rewrites with every look. Read as plain bytes; a split, compressed or large index
# has no digest.


_LARGEST = 2 << 20
"""About 20,000 entries, which take 20 ms if git has written the index since the last time."""
_HEADER = 12
_WIDTHS = (20, 32)
_LONG = 0x0FFF
_EXTENDED = 0x4000
_STAGE = 0x3000
_NOTHING = "nothing"


def staged(git: GitDirectory, known: str | None = None) -> str | None:
    """Returns the digest of the index and what identifies the file; None if it has no digest.

    ``known`` is what this returned before: the file is read only if it has changed since.
    """
    path = git.git_dir + b"/index"
    try:
        found = os.lstat(path)
    except OSError:
        return _NOTHING
    if not S_ISREG(found.st_mode) or found.st_size > _LARGEST:
        return None
    seen = f"{found.st_ino:x}-{found.st_size:x}-{found.st_mtime_ns:x}"
    if known is not None and known.endswith(f" {seen}"):
        return known
    try:
        with open(path, "rb", opener=ordinary) as file:
            digest = _digest(file.read(_LARGEST + 1))
    except OSError:
        return None
    return None if digest is None else f"{digest} {seen}"


def differ(then: str | None, now: str | None) -> bool:
    """Tells whether it is known that something different is staged now."""
    if then is None or now is None:
        return False
    return then.split()[0] != now.split()[0]


def _digest(index: bytes) -> str | None:
    if index[:4] != b"DIRC" or int.from_bytes(index[4:8], "big") not in (2, 3):
        return None
    count = int.from_bytes(index[8:_HEADER], "big")
    for width in _WIDTHS:
        entries = _entries(index, count, width)
        if entries is not None:
            return object_id(BLOB, b"\0".join(entries)).hex() if entries else _NOTHING
    return None


def _entries(index: bytes, count: int, width: int) -> list[bytes] | None:
    """Returns what is staged, by entry; None if ids are not that wide, or the index is split."""
    found = []
    position, ids = _HEADER, 40 + width
    flags_at = Struct(">H").unpack_from
    try:
        for _ in range(count):
            (flags,) = flags_at(index, position + ids)
            start = position + ids + (4 if flags & _EXTENDED else 2)
            length = flags & _LONG
            end = start + length if length < _LONG else index.index(b"\0", start)
            oid, mode = index[position + 40 : position + ids], index[position + 24 : position + 28]
            found.append(b"%b%b%d %b" % (mode, oid, flags & _STAGE, index[start:end]))
            position += (end - position + 8) & ~7
    except (error, ValueError):
        return None
    return found if _ends_well(index, position, len(index) - width) else None


def _ends_well(index: bytes, position: int, stop: int) -> bool:
    """Tells whether extensions follow up to the trailer, and none that holds other entries."""
    while position < stop:
        size = int.from_bytes(index[position + 4 : position + 8], "big")
        if (
            not index[position : position + 4].isalpha()
            or index[position : position + 4] == b"link"
        ):
            return False
        position += 8 + size
    return position == stop


# -- reads the names out of a git index file, without git and without the project's objects
#
# The scan needs them because a tracked file is captured even if it is ignored. Only names matter
# here, and a name too many only captures more, so stat data, object ids and the bitmaps of a split
# index are skipped.
#
#     header   "DIRC", version, number of entries
#     entry    40 bytes of stat data, object id, flags (v3+: maybe 2 bytes more), name
#              v2, v3: the name ends in 1 to 8 NULs, so that entries begin at multiples of 8
#              v4: how many bytes of the previous name to drop, the rest of the name, one NUL
#     ...      extensions: 4 letters, size, data
#     trailer  a hash as wide as the object ids, or zeros (index.skipHash)
#
# Nothing in the file says whether ids are SHA-1 or SHA-256. Only the right width makes the
# entries and extensions meet the trailer exactly, so both are tried.


_STAT = 40
_FIELDS = ">26xB%dxH"  # of an entry: the byte of the mode that holds the type, the flags
_DIRECTORY = 0x40  # that byte of mode 040000: a directory of a sparse index
_LENGTH = 0x0FFF  # of the name, in the flags; all ones for a longer one, 0 for a replaced one


class IndexUnreadable(ValueError):
    """The bytes are not an index that this reader knows, or they are damaged."""


def tracked_names(
    index: bytes, shared: Callable[[bytes], bytes | None] | None = None
) -> list[bytes]:
    """Returns the names of all files in an index, sorted, each once.

    A split index names the file that holds its other half: ``shared`` is called with that
    hex id and returns the bytes. Names that git itself would refuse (absolute, ``..``,
    ``.git``) are left out. Raises IndexUnreadable.
    """
    names, link = _parse(index)
    if link is not None:
        other = shared(link) if shared is not None else None
        if other is None:
            raise IndexUnreadable(f"the shared index {link.decode()} is missing")
        more, further = _parse(other)
        if further is not None:
            raise IndexUnreadable("the shared index is split itself")
        names += more
    names.sort()  # nearly free, as an index is sorted
    if any(map(eq, names, names[1:])):  # stages of a conflict, or both halves list it
        names = list(dict.fromkeys(names))
    return _harmless(names)


def _parse(index: bytes) -> tuple[list[bytes], bytes | None]:
    """Returns the names, and the hex id of the shared index if there is one."""
    if len(index) < _HEADER or index[:4] != b"DIRC":
        raise IndexUnreadable("not an index")
    version = int.from_bytes(index[4:8], "big")
    count = int.from_bytes(index[8:12], "big")
    if version not in (2, 3, 4):
        raise IndexUnreadable(f"index version {version} is unknown")
    entries = _compressed if version == 4 else _padded
    for width in _WIDTHS:
        try:
            names, position = entries(index, count, width)
            return names, _extensions(index, position, width)
        except (IndexUnreadable, IndexError, error):  # not this width, or beyond the end
            continue
    raise IndexUnreadable("the index is damaged")


def _padded(index: bytes, count: int, width: int) -> tuple[list[bytes], int]:
    """Reads the entries of versions 2 and 3; this loop is what a hook waits for."""
    names: list[bytes] = []
    keep = names.append
    fields = Struct(_FIELDS % (width + 13)).unpack_from
    to_name = _STAT + width + 2
    position = _HEADER
    for _ in range(count):
        kind, flags = fields(index, position)
        start = position + to_name
        length = flags & (_EXTENDED | _LENGTH)
        if kind != _DIRECTORY and 0 < length < _LENGTH:  # nearly always
            end = start + length
            keep(index[start:end])
        else:
            if flags & _EXTENDED:
                start += 2
            end = _end(index, start, flags)
            if kind != _DIRECTORY and end > start:
                keep(index[start:end])
        position += (end - position + 8) & ~7
    return names, position


def _compressed(index: bytes, count: int, width: int) -> tuple[list[bytes], int]:
    """Reads the entries of version 4."""
    names: list[bytes] = []
    keep = names.append
    find = index.find
    fields = Struct(_FIELDS % (width + 13)).unpack_from
    to_name = _STAT + width + 2
    position = _HEADER
    name = b""
    for _ in range(count):
        kind, flags = fields(index, position)
        start = position + to_name
        if flags & _EXTENDED:
            start += 2
        drop = byte = index[start]
        start += 1
        if byte & 0x80:
            drop &= 0x7F
            while byte & 0x80 and drop <= len(name):
                byte = index[start]
                start += 1
                drop = (drop + 1) << 7 | byte & 0x7F
        end = find(b"\0", start)
        if end < 0 or drop > len(name):
            raise IndexUnreadable("a name does not follow from the one before")
        name = name[: len(name) - drop] + index[start:end]
        if kind != _DIRECTORY and flags & _LENGTH:
            keep(name)
        position = end + 1
    return names, position


def _end(index: bytes, start: int, flags: int) -> int:
    """Returns where the name at ``start`` ends."""
    length = flags & _LENGTH
    if length < _LENGTH:
        return start + length
    end = index.find(b"\0", start)
    if end < start + _LENGTH:
        raise IndexUnreadable("a long name is not long")
    return end


def _extensions(index: bytes, position: int, width: int) -> bytes | None:
    """Walks the extensions to the trailer; returns the hex id that a ``link`` holds."""
    stop = len(index) - width
    link = None
    while position < stop:
        name = index[position : position + 4]
        size = int.from_bytes(index[position + 4 : position + 8], "big")
        position += 8
        if not name.isalpha() or position + size > stop:
            raise IndexUnreadable("an extension does not fit")
        if name == b"link":
            shared = index[position : position + width]
            if size >= width and any(shared):
                link = shared.hex().encode()
        elif name != b"sdir" and name[:1].islower():
            raise IndexUnreadable("an extension that must be understood is unknown")
        position += size
    if position != stop:
        raise IndexUnreadable("the entries do not end at the trailer")
    return link


def _harmless(names: list[bytes]) -> list[bytes]:
    """Leaves out names that lead outside the work tree or into a repository."""
    bad = (b"\0", b"/../", b"/./", b"//", b"/.git/")
    everything = b"/%s/" % b"/\n/".join(names)  # one search for all: saves 15 ms per 100,000
    if not any(part in everything for part in bad):
        return names
    return [name for name in names if not any(part in b"/%s/" % name for part in bad)]


# -- reads what the project's own git knows, as plain files
#
# git never runs in the project: even a reading command there can start a program that its
# configuration names. Nothing here raises because a project is odd (damaged, half-written,
# a FIFO where a file should be): the answer is then what could be read.


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
