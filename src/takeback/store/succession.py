"""Which store a directory inherits: its own after a move, and what stood at its path before.

same directory, old path gone       a move: taken over, with a note
same directory, old path there too  a bind mount: one store for both paths
same path, same `.git`              a root made anew around it: taken over
same path, another directory        another workspace: offered, never taken over by itself
"""

from __future__ import annotations

import os

from takeback import durable, kernel
from takeback.store import place as places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.place import Place


def earlier_place(home: str, place: Place) -> Place | None:
    """Finds the store that the workspace had before it was moved or its root made anew.

    A move: same root identity, and nothing of that identity at the old path any more, or the
    very same directory (a bind mount). A new root: same path, same `.git`. None if there is
    neither.
    """
    if place.identity is None:
        return None
    for other in _in_use(home):
        assert other.identity is not None
        if other.directory == place.directory:
            continue
        same_root = other.identity.root == place.identity.root
        same_git = place.identity.git != "" and other.identity.git == place.identity.git
        if (same_root and _is_here(other, place.root)) or (same_git and other.root == place.root):
            return other
    return None


def _in_use(home: str) -> list[Place]:
    """Lists the stores of directories; those that were set aside belong to none."""
    return [
        place
        for place in places.all_places(home)
        if place.identity is not None
        and os.path.basename(place.directory) == place.identity.root
        and places.exists(place)
    ]


def _is_here(other: Place, root: bytes) -> bool:
    """Tells whether a store's directory is now at ``root``: it looks the same and is no twin.

    A file system that was copied whole has twins of the same inode and birth time.
    """
    assert other.identity is not None
    gone = places.mark(other.root) != other.identity.root
    return gone or places.is_same(other.root, root)


def moved_root(home: str, start: bytes) -> bytes | None:
    """Returns the nearest ancestor that had a store at another path, or has it there as well.

    One whose store is at its own path is no answer: a linked worktree inside it is apart.
    """
    had = {place.identity.root: place for place in _in_use(home) if place.identity is not None}
    path = start
    while had:
        found = had.get(places.mark(path))
        if found is not None and found.root != path and _is_here(found, path):
            return path
        parent = os.path.dirname(path)
        if parent == path:
            break
        path = parent
    return None


def inner_places(home: str, root: bytes) -> list[Place]:
    """Lists the stores of workspaces inside ``root``; reads all stores there are."""
    beneath = root.rstrip(b"/") + b"/"
    return [place for place in _in_use(home) if place.root.startswith(beneath)]


def take_over(old: Place, new: Place) -> None:
    """Makes the store of ``old`` the store of ``new``. The caller holds its lock."""
    if os.path.islink(new.directory):  # of a bind mount that is no more
        durable.unlink(new.directory)
    durable.make_directories(os.path.dirname(new.directory))
    _forget_seen(old)
    durable.rename(old.directory, new.directory)
    durable.sync_directory(os.path.dirname(new.directory))
    places.write_place(new)


def strangers(home: str, place: Place) -> list[Place]:
    """Lists stores of the same path with another identity: what stood here before."""
    base = places.places_of_path(home, place.root)
    found = []
    for name in sorted(places.listing(base)):
        directory = os.path.join(base, name)
        other = None if os.path.islink(directory) else places.read_place(directory)
        if other is not None and directory != place.directory and places.exists(other):
            found.append(other)
    return found


def change_places(old: Place, new: Place) -> None:
    """Makes the store of ``old`` that of ``new``, whose own is kept as one that stood there before.

    The caller holds the locks of both. They are exchanged in one instant where the system can:
    whoever leaves an event meanwhile finds one store or the other, and makes no third.
    """
    _forget_seen(new)
    _forget_seen(old)
    base = os.path.dirname(new.directory)
    fd = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        durable.exchange(_name(old), _name(new), dir_fd=fd)
    except kernel.Unsupported:
        durable.rename(new.directory, _free_name(new))
        durable.rename(old.directory, new.directory)
    else:
        durable.rename(old.directory, _free_name(new))
    finally:
        os.close(fd)
    durable.sync_directory(base)
    places.write_place(new)


def _name(place: Place) -> bytes:
    return os.fsencode(os.path.basename(place.directory))


def _free_name(place: Place) -> str:
    number = 1
    while os.path.lexists(f"{place.directory}.{number}"):
        number += 1
    return f"{place.directory}.{number}"


def _forget_seen(place: Place) -> None:
    """Makes the next opening ask for the whole identity again."""
    path = os.path.join(place.directory, "seen")
    if os.path.exists(path):
        durable.unlink(path)
