"""Which store a directory inherits: its own after a move, and what was at its path before.

same directory, old path gone       a move: taken over, with a note
same directory, old path there too  a bind mount: one store for both paths
same path, same `.git`              a root recreated around it: taken over
same path, another directory        another workspace: offered, never taken over unasked
"""

from __future__ import annotations

import os

from takeback import durable, kernel
from takeback.store import location as locations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.location import StoreLocation
    from takeback.store.locked import Locked


def earlier_location(home: str, location: StoreLocation) -> StoreLocation | None:
    """Finds the store that the workspace had before it was moved or its root recreated.

    A move: same root identity, and nothing with that identity at the old path any more, or the very
    same directory (a bind mount). A new root: same path, same `.git`. None otherwise.
    """
    if location.identity is None:
        return None
    for other in _in_use(home):
        assert other.identity is not None
        if other.directory == location.directory:
            continue
        same_root = other.identity.root == location.identity.root
        same_git = location.identity.git != "" and other.identity.git == location.identity.git
        if (same_root and _is_here(other, location.root)) or (
            same_git and other.root == location.root
        ):
            return other
    return None


def _in_use(home: str) -> list[StoreLocation]:
    """Lists the stores that belong to a directory; those that were set aside do not."""
    return [
        location
        for location in locations.all_locations(home)
        if location.identity is not None
        and os.path.basename(location.directory) == location.identity.root
        and locations.exists(location)
    ]


def _is_here(other: StoreLocation, root: bytes) -> bool:
    """Tells whether a store's directory is now at ``root``: it looks the same and is not a copy.

    A file system that was copied whole has copies with the same inode and birth time.
    """
    assert other.identity is not None
    gone = locations.mark(other.root) != other.identity.root
    return gone or locations.is_same(other.root, root)


def moved_root(home: str, start: bytes) -> bytes | None:
    """Returns the nearest ancestor that had a store at another path, or has it there as well.

    One whose store is at its own path does not count: a linked worktree inside it is separate.
    """
    had = {
        location.identity.root: location
        for location in _in_use(home)
        if location.identity is not None
    }
    path = start
    while had:
        found = had.get(locations.mark(path))
        if found is not None and found.root != path and _is_here(found, path):
            return path
        parent = os.path.dirname(path)
        if parent == path:
            break
        path = parent
    return None


def in_its_place(home: str, location: StoreLocation, was: str) -> StoreLocation | None:
    """Returns the store that is in use for the directory that another was at ``was`` for, if any.

    None also if that one was set aside: it was not in use itself.
    """
    if location.identity is None or os.path.basename(was) != location.identity.root:
        return None
    for other in _in_use(home):
        assert other.identity is not None
        same_path = other.root == location.root or locations.is_same(other.root, location.root)
        if same_path and other.identity.root == location.identity.root:
            return other
    return None


def inner_locations(home: str, root: bytes) -> list[StoreLocation]:
    """Lists the stores of workspaces inside ``root``; reads every store."""
    beneath = root.rstrip(b"/") + b"/"
    return [location for location in _in_use(home) if location.root.startswith(beneath)]


def take_over(locked: Locked, new: StoreLocation) -> None:
    """Makes a store the store of ``new``."""
    old = locked.store.location
    if os.path.islink(new.directory):  # of a bind mount that no longer exists
        durable.unlink(new.directory)
    durable.make_directories(os.path.dirname(new.directory))
    forget_seen(old)
    durable.rename(old.directory, new.directory)
    durable.sync_directory(os.path.dirname(new.directory))
    locations.write_location(new)


def strangers(home: str, location: StoreLocation) -> list[StoreLocation]:
    """Lists stores of the same path with another identity: what was here before."""
    base = locations.directory_of_path(home, location.root)
    found = []
    for name in sorted(locations.listing(base)):
        directory = os.path.join(base, name)
        other = None if os.path.islink(directory) else locations.read_location(directory)
        if other is not None and directory != location.directory and locations.exists(other):
            found.append(other)
    return found


def change_places(earlier: Locked, present: Locked) -> None:
    """Swaps the present location's store for the earlier one; its own is kept as an earlier one.

    They are exchanged in one instant if the system can do that: an event left meanwhile finds one
    store or the other, and makes no third.
    """
    old, new = earlier.store.location, present.store.location
    forget_seen(new)
    forget_seen(old)
    base = os.path.dirname(new.directory)
    fd = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        durable.exchange(os.fsencode(old.directory), os.fsencode(new.directory), dir_fd=fd)
    except kernel.Unsupported:
        durable.rename(new.directory, free_name(new.directory))
        durable.rename(old.directory, new.directory)
    else:
        durable.rename(old.directory, free_name(new.directory))
    finally:
        os.close(fd)
    durable.sync_directory(base)
    locations.write_location(new)


def free_name(directory: str) -> str:
    """Returns what a store is called that is set aside for the one at ``directory``."""
    number = 1
    while os.path.lexists(f"{directory}.{number}"):
        number += 1
    return f"{directory}.{number}"


def forget_seen(location: StoreLocation) -> None:
    """Makes the next opening read the whole identity again."""
    path = os.path.join(location.directory, "seen")
    if os.path.exists(path):
        durable.unlink(path)
