"""Finds the directory that holds a workspace's store.

    $TAKEBACK_HOME/workspaces/<name>-<hash of the path>/<identity of the root>/
        format        the version of this layout
        workspace.json   path and identity, for people and for moves
        store.git/    snapshots       ledger.db   index of the refs
        stat/         stat cache      journal     an operation under way
        lock          flock           log         failures, for `status`

The identity is the inode and birth time of the root: the same path made anew is another
workspace, the same directory at another path is a move. The device number is left out on
purpose: it changes with reboots (btrfs, device mapper, USB). The identity of `.git` is kept
as second evidence: a root that was made anew around the same `.git` stays what it was. A
`git init` in a workspace that had no git does not make it another one.
"""

from __future__ import annotations

import os

from takeback import durable, kernel
from takeback.git.objects import BLOB, object_id
from takeback.model import json_text
from takeback.model.path_text import to_bytes, to_text
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


class Identity(Value):
    """What stays the same when a directory is moved, and differs when it is made anew."""

    root: str
    git: str


class Place(Value):
    """One store directory and the workspace root it was made for.

    Without an identity the root is known to be the one that the store was last opened for.
    """

    directory: str
    root: bytes
    identity: Identity | None

    @property
    def home(self) -> str:
        """The ``$TAKEBACK_HOME`` that the store is in."""
        return os.path.dirname(os.path.dirname(os.path.dirname(self.directory)))


def _mark(path: bytes) -> str:
    try:
        status = os.lstat(path)
    except OSError:
        return ""
    return f"{status.st_ino:x}-{kernel.birth_time(path):x}"


def identity_of(root: bytes) -> Identity:
    """Reads the identity of a directory as it is now."""
    return Identity(_mark(root), _mark(root + b"/.git"))


def _places_of_path(home: str, root: bytes) -> str:
    name = "".join(c if c in _PLAIN else "_" for c in to_text(os.path.basename(root)))
    digest = object_id(BLOB, root).hex()[:16]
    return os.path.join(home, "workspaces", f"{name[:40] or 'root'}-{digest}")


def has_place(home: str, root: bytes) -> bool:
    """Tells whether some workspace at this path was ever kept; one stat, for the hook path."""
    return os.path.isdir(_places_of_path(home, root))


def place_for(home: str, root: bytes) -> Place:
    """Returns where the store of ``root`` is, or would be made. Writes nothing."""
    base = _places_of_path(home, root)
    seen = _seen(root)
    for name in _listing(base):
        if _read_seen(os.path.join(base, name)) == seen:
            return Place(os.path.join(base, name), root, None)
    identity = identity_of(root)
    return Place(os.path.join(base, identity.root), root, identity)


def _seen(root: bytes) -> bytes:
    """Returns what is the same as long as nobody touched the root itself since the last look.

    Where it is, the birth time need not be asked for, which would load ``ctypes`` (3 ms).
    """
    try:
        status = os.lstat(root)
    except OSError:
        return b"gone"
    return b"%x %x %x" % (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)


def _read_seen(directory: str) -> bytes:
    try:
        with open(os.path.join(directory, "seen"), "rb") as file:
            return file.read()
    except OSError:
        return b""


def remember(place: Place) -> None:
    """Notes that the root was found to be the one that the store belongs to."""
    seen = _seen(place.root)
    if _read_seen(place.directory) == seen:
        return
    try:
        durable.replace_file(os.path.join(place.directory, "seen"), seen, flush=False)
    except OSError:
        return  # a full disk: the next opening asks for the whole identity again


def exists(place: Place) -> bool:
    """Tells whether the store is there."""
    return os.path.isfile(os.path.join(place.directory, "format"))


def all_places(home: str) -> Iterator[Place]:
    """Yields every store under ``home`` that says whose it is."""
    base = os.path.join(home, "workspaces")
    for name in sorted(_listing(base)):
        for identity in sorted(_listing(os.path.join(base, name))):
            place = read_place(os.path.join(base, name, identity))
            if place is not None:
                yield place


def _listing(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []


def read_place(directory: str) -> Place | None:
    """Reads what a store says of its workspace; None if it does not say."""
    try:
        with open(os.path.join(directory, "workspace.json"), encoding="utf-8") as file:
            record = json_text.loads(file.read())
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict):
        return None
    path, root, git = (record.get(key) for key in ("path", "root", "git"))
    if not isinstance(path, str) or not isinstance(root, str) or not isinstance(git, str):
        return None
    return Place(directory, to_bytes(path), Identity(root, git))


def _forget_seen(place: Place) -> None:
    """Makes the next opening ask for the whole identity again."""
    path = os.path.join(place.directory, "seen")
    if os.path.exists(path):
        durable.unlink(path)


def write_place(place: Place) -> None:
    """Records in the store whose it is; ``place`` has an identity."""
    assert place.identity is not None
    record = {
        "v": 1,
        "path": to_text(place.root),
        "root": place.identity.root,
        "git": place.identity.git,
    }
    text = json_text.dumps(record) + "\n"
    durable.replace_file(os.path.join(place.directory, "workspace.json"), text.encode())


def earlier_place(home: str, place: Place) -> Place | None:
    """Finds the store that the workspace had before it was moved or its root made anew.

    A move: same root identity, and nothing of that identity at the old path any more. A
    new root: same path, same `.git`. None if there is neither.
    """
    if place.identity is None:
        return None
    for other in all_places(home):
        if not exists(other) or other.directory == place.directory or other.identity is None:
            continue
        moved = (
            other.identity.root == place.identity.root and _mark(other.root) != other.identity.root
        )
        same_git = place.identity.git != "" and other.identity.git == place.identity.git
        if moved or (same_git and other.root == place.root):
            return other
    return None


def take_over(old: Place, new: Place) -> None:
    """Makes the store of ``old`` the store of ``new``. The caller holds its lock."""
    durable.make_directories(os.path.dirname(new.directory))
    _forget_seen(old)
    durable.rename(old.directory, new.directory)
    durable.sync_directory(os.path.dirname(new.directory))
    write_place(new)


def strangers(home: str, place: Place) -> list[Place]:
    """Lists stores of the same path with another identity: what stood here before."""
    parent = os.path.dirname(place.directory)
    found = (read_place(os.path.join(parent, name)) for name in sorted(_listing(parent)))
    return [p for p in found if p is not None and p.directory != place.directory and exists(p)]


def set_aside(place: Place) -> None:
    """Keeps a store under another identity, as one that stood at this path before."""
    number = 1
    _forget_seen(place)
    while os.path.exists(f"{place.directory}.{number}"):
        number += 1
    durable.rename(place.directory, f"{place.directory}.{number}")
    durable.sync_directory(os.path.dirname(place.directory))


def moved_root(home: str, start: bytes) -> bytes | None:
    """Returns the nearest ancestor that had a store at another path, where it is no more."""
    had = {
        place.identity.root: place.root
        for place in all_places(home)
        if place.identity is not None and exists(place)
    }
    path = start
    while had:
        mark = _mark(path)
        if mark in had and _mark(had[mark]) != mark:
            return path
        parent = os.path.dirname(path)
        if parent == path:
            break
        path = parent
    return None
