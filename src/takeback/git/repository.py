"""Makes and keeps the bare repository of a store."""

from __future__ import annotations

import os

from takeback import durable
from takeback.errors import StoreDamaged
from takeback.ordinary import all_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.git.process import Git

# What people keep in their directories is not for fsck to judge: a `.gitmodules` that git would
# refuse is a file like any other here. This list may hold only ids that git 2.39 knows: it stops at
# any other.
_ACCEPTED = (
    "badFilemode",  # our trees carry all permission bits
    "zeroPaddedFilemode",
    "hasDotgit",  # .GIT, git~1 and the like
    "gitattributesBlob",
    "gitattributesLarge",
    "gitattributesLineLength",
    "gitattributesMissing",
    "gitattributesSymlink",
    "gitignoreSymlink",
    "gitmodulesBlob",
    "gitmodulesLarge",
    "gitmodulesMissing",
    "gitmodulesName",
    "gitmodulesParse",
    "gitmodulesPath",
    "gitmodulesSymlink",
    "gitmodulesUpdate",
    "gitmodulesUrl",
    "mailmapSymlink",
)

_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
\thooksPath = /dev/null
\tfsmonitor = false
\tlogAllRefUpdates = false
\tfsync = all
\tmultiPackIndex = false
[gc]
\tauto = 0
\tpruneExpire = never
\treflogExpire = never
\twriteCommitGraph = false
[maintenance]
\tauto = false
[repack]
\twriteBitmaps = false
\tupdateServerInfo = false
[pack]
\twindow = 10
\twriteReverseIndex = false
[transfer]
\tfsckObjects = false
"""

HEAD = "ref: refs/heads/takeback\n"
_LONG = 3600.0


def init(git_dir: str) -> None:
    """Makes an empty store at ``git_dir``, private to the user; keeps one that exists.

    Only what git needs to take it for a repository: `git init` makes directories besides that are
    never used here, and each takes a block of the disk.
    """
    for directory in (f"{git_dir}/objects/pack", f"{git_dir}/refs"):
        durable.make_directories(directory)
    write_own_files(git_dir)
    for directory in (f"{git_dir}/objects", git_dir, os.path.dirname(git_dir)):
        durable.sync_directory(directory)


def write_own_files(git_dir: str) -> None:
    """Writes the two files without which it is not a repository, flushed, as git does not."""
    durable.replace_file(f"{git_dir}/HEAD", HEAD.encode())
    durable.replace_file(f"{git_dir}/config", config_text().encode())


def config_text() -> str:
    """Returns the configuration file of a store."""
    accepted = "".join(f"\t{message} = ignore\n" for message in _ACCEPTED)
    return f"{_CONFIG}[fsck]\n{accepted}"


def fsck(git: Git) -> list[str]:
    """Returns what ``git fsck`` finds wrong with the store, in its own words; empty if nothing."""
    odd = odd_objects(git.git_dir)
    if odd:
        return [f"{name} is not an ordinary file: git was not asked" for name in odd]
    outcome = git.outcome(
        ["fsck", "--full", "--no-dangling", "--no-progress", "--no-reflogs"], timeout=_LONG
    )
    if outcome.status == 0:
        return []
    said = (outcome.stdout + outcome.stderr).decode("utf-8", "replace").splitlines()
    return [line for line in said if line] or [f"git fsck ended with status {outcome.status}"]


def odd_objects(git_dir: str) -> list[str]:
    """Returns what is neither a file nor a directory where the objects are.

    git opens what it finds there: it would wait for ever for somebody to write into a pipe.
    """
    top = os.path.join(git_dir, "objects")
    odd = []
    for directory in (top, *(os.path.join(top, name) for name in all_names(top))):
        try:
            with os.scandir(directory) as entries:
                odd += [e.path for e in entries if not e.is_dir() and not e.is_file()]
        except (NotADirectoryError, FileNotFoundError):
            continue
    return sorted(os.path.relpath(path, git_dir) for path in odd)


def _check_objects(git: Git) -> None:
    odd = odd_objects(git.git_dir)
    if odd:
        raise StoreDamaged(f"{odd[0]} in the store is not an ordinary file")


def index_pack(git: Git, pack: str) -> None:
    """Writes the index of a pack again, flushed; ``pack`` is its path without the suffix.

    Raises GitFailed, with nothing changed, if the pack cannot be read back.
    """
    folder, name = os.path.split(pack)
    if os.path.lexists(f"{pack}.idx") and not os.path.isfile(f"{pack}.idx"):
        durable.unlink(f"{pack}.idx")  # a pipe, or a link that leads nowhere: it holds nothing
    _check_objects(git)
    temporary = f"{folder}/tmp_idx_{name}"
    git.run(["index-pack", "-o", temporary, f"{pack}.pack"], timeout=_LONG)
    fd = os.open(temporary, os.O_RDONLY | os.O_CLOEXEC)
    try:
        durable.sync(fd)
    finally:
        os.close(fd)
    durable.rename(temporary, f"{pack}.idx")
    durable.sync_directory(folder)


def pack_reachable(git: Git, pack_dir: str, tips: Iterable[bytes] | None = None) -> list[str]:
    """Writes all that the refs lead to into a new pack, with deltas; returns its name.

    With ``tips`` all that those objects lead to instead, whatever the refs say. Raises GitFailed
    and writes nothing if an object is missing. The other packs stay.
    """
    if tips is None:
        return _pack_objects(git, pack_dir, "--all")
    listed = b"".join(tip.hex().encode() + b"\n" for tip in tips)
    return _pack_objects(git, pack_dir, "--revs", stdin=listed)


def pack_together(git: Git, pack_dir: str, names: Iterable[str]) -> list[str]:
    """Writes every object of some packs, referenced or not, into a new one; returns its name.

    Raises GitFailed and writes nothing if an object cannot be read back. The other packs stay.
    """
    listed = "".join(f"{name}.pack\n" for name in names).encode()
    return _pack_objects(git, pack_dir, "--stdin-packs", stdin=listed)


def reachable_bytes(git: Git) -> int:
    """Returns how many bytes what the refs lead to takes in the packs; reads no file's content."""
    _check_objects(git)
    said = git.run(["rev-list", "--all", "--objects", "--disk-usage"], timeout=_LONG)
    return int(said)


def _pack_objects(git: Git, pack_dir: str, which: str, *, stdin: bytes = b"") -> list[str]:
    _check_objects(git)
    said = git.run(
        [
            "pack-objects",
            which,
            "--delta-base-offset",
            "--quiet",
            "--window=10",
            os.path.join(pack_dir, "pack"),
        ],
        stdin=stdin,
        config=(
            ("core.bigFileThreshold", str(_largest_delta())),
            ("pack.windowMemory", str(_WINDOW)),
            ("pack.deltaCacheSize", "32m"),
            ("core.packedGitWindowSize", "16m"),
            ("core.packedGitLimit", "64m"),
            ("pack.threads", "1"),
            ("pack.writeReverseIndex", "false"),
        ),
        timeout=_LONG,
    )
    durable.sync_directory(pack_dir)  # git flushes what it wrote, and not its name
    return [f"pack-{name}" for name in said.decode().split()]


def foreign_refs(git: Git, ours: str) -> list[str]:
    """Returns the refs of a store that are not below ``ours``: somebody made them by hand."""
    said = git.run(["for-each-ref", "--format=%(refname)"]).decode(errors="surrogateescape")
    return [name for name in said.split() if not name.startswith(ours)]


_WINDOW = 256 << 20
_LARGEST_DELTA = 192 << 20
_SMALLEST_LARGEST = 16 << 20


def _largest_delta() -> int:
    """Returns how long a file may be that is stored as its difference from another.

    git needs up to six times as much memory for it, whatever is said of the window, and we twice
    as much to read it back: no more than a quarter of the machine's. Longer ones are stored whole.
    """
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return _SMALLEST_LARGEST
    return max(_SMALLEST_LARGEST, min(memory // 24, _LARGEST_DELTA))
