"""Finds the directory that holds a workspace's store: its own, or one that it inherits."""

from __future__ import annotations

import os

from takeback import durable, kernel
from takeback.git.objects import BLOB, object_id
from takeback.git.refs import PACKED
from takeback.model import json_text
from takeback.model.ids import MachineId, looks_like_id, new_machine_id, new_workspace_id
from takeback.model.path_text import to_bytes, to_text
from takeback.model.value import Value
from takeback.ordinary import all_names, ordinary, small_content
from takeback.store.namespace import EVERYTHING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.store.lock import Locked


# -- which machine this is: a random name for one takeback home, made when it first writes
#
# Every ref has one writer, the machine in its name, so what two machines wrote independently can be
# fetched from one store into the other without conflict (namespace.py).
#
# The file says where it is itself: its inode and that of the home. Copying the home, or restoring
# it from a backup, copies the name too, and two machines with one name would write the same refs.
# So a file that is not where it says belongs to another home, and this one gets a name of its
# own. A home that was moved, or that several hosts share, stays one machine. Nothing is lost by a
# new name: the log continues from the old one's (operations.py).


_LONGEST_NAME = 200


def known_machine(home: str) -> MachineId | None:
    """Returns the name of a home's machine; None if it has none of its own. Writes nothing."""
    name, is_here = _read(home)
    return name if is_here else None


def is_copy(home: str) -> bool:
    """Tells whether the file has the name of another home, which this one is a copy of."""
    name, is_here = _read(home)
    return name is not None and not is_here


def _read(home: str) -> tuple[MachineId | None, bool]:
    """Returns the name in the file, None without one, and whether it is that of this home."""
    try:
        fd = os.open(_path(home), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None, False
    try:
        name, _, where = os.read(fd, _LONGEST_NAME).decode("ascii", "replace").partition(" ")
        is_here = where.strip() == _where(fd, home)
    except OSError:
        return None, False
    finally:
        os.close(fd)
    return MachineId(name) if looks_like_id(name) else None, is_here


def machine_of(home: str) -> MachineId:
    """Returns the name of a home's machine, and makes one if it has none; durable."""
    found = known_machine(home)
    if found is None:
        found = new_machine_id()
        give_name(home, found)
    return found


def give_name(home: str, name: MachineId) -> None:
    """Writes a name. If two processes do so at once, one of them uses its name only once."""
    temporary = f"{_path(home)}.{os.getpid()}.tmp"
    try:
        durable.unlink(temporary)  # left by a dead process that had our number
    except FileNotFoundError:
        pass
    fd = durable.create(temporary)
    try:
        durable.write(fd, f"{name} {_where(fd, home)}\n".encode())
        durable.sync(fd)
    finally:
        os.close(fd)
    try:
        durable.rename(temporary, _path(home))
    except IsADirectoryError:  # nobody's doing that we know of: it is kept, beside
        durable.rename(_path(home), f"{_path(home)}.{name}")
        durable.rename(temporary, _path(home))
    durable.sync_directory(home)


def _where(fd: int, home: str) -> str:
    return f"{os.fstat(fd).st_ino:x}-{os.stat(home).st_ino:x}"


def _path(home: str) -> str:
    return os.path.join(home, "machine")


# -- finds the directory that holds a workspace's store
#
#     $TAKEBACK_HOME/workspaces/<name>-<hash of the path>/<identity of the root>/
#         format        the version of this layout
#         workspace.json   the workspace's id, where it is and was seen, for people and for moves
#         store.git/    snapshots       ledger.db   index of the refs
#         stat/         stat cache      journal     an operation under way
#         lock          flock           log         failures, for `status`
#
# The workspace's own id is random, made with the store, and stays whatever becomes of the
# directory. Identity is evidence of *where* it is: the inode and birth time of the root. A
# recreated directory at the same path is another workspace, the same directory at another path is
# a move (below). The device number is left out on purpose: it changes with reboots
# (btrfs, device mapper, USB). The identity of `.git` is kept as second evidence: a root that was
# recreated around the same `.git` stays the same workspace. A `git init` in a workspace that had
# no git does not make it another one.
#
# One directory at two paths at once (a bind mount) has one store: under the second path there is a
# link to it, valid only as long as both paths are the same directory.


_LONGEST = 1 << 20
"""Bytes that are read of what a store says of its workspace: a few hundred paths, at most."""
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


class Identity(Value):
    """What stays the same when a directory is moved, and differs when it is recreated."""

    root: str
    git: str


class StoreLocation(Value):
    """One store directory and the workspace root it was made for.

    Without an identity the root is known to be the one that the store was last opened for. ``id``
    is the workspace's own, ``also`` the other paths that it was seen at, ``machine`` the one that
    made the store, from which a copy of it continues; all are empty if they were not read.
    """

    directory: str
    root: bytes
    identity: Identity | None
    id: str = ""
    also: tuple[bytes, ...] = ()
    machine: str = ""

    @property
    def home(self) -> str:
        """The ``$TAKEBACK_HOME`` that the store is in."""
        return os.path.dirname(os.path.dirname(os.path.dirname(self.directory)))


def mark(path: bytes) -> str:
    """Returns inode and birth time of a directory; empty if there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return ""
    return f"{status.st_ino:x}-{kernel.birth_time(path):x}"


def identity_of(root: bytes) -> Identity:
    """Reads the identity of a directory as it is now."""
    return Identity(mark(root), mark(root + b"/.git"))


def directory_of_path(home: str, root: bytes) -> str:
    """Returns where the stores of all workspaces that were ever at a path are."""
    name = to_text(os.path.basename(root))
    if not _PLAIN.issuperset(name):
        name = "".join(c if c in _PLAIN else "_" for c in name)
    digest = object_id(BLOB, root).hex()[:16]
    return os.path.join(home, "workspaces", f"{name[:40] or 'root'}-{digest}")


def is_known(home: str, root: bytes) -> bool:
    """Tells whether there was ever a store for this path; one stat, for the hook path."""
    return os.path.isdir(directory_of_path(home, root))


def workspace_around(home: str, paths: Sequence[str], here: bytes = b"") -> str | None:
    """Returns the workspace that one of the paths is in: ``here`` or one with a store."""
    for path in paths:
        folder = os.path.realpath(os.fsencode(path))
        while folder != os.path.dirname(folder):
            if folder == here or is_known(home, folder):
                return os.fsdecode(folder)
            folder = os.path.dirname(folder)
    return None


def find(home: str, root: bytes) -> StoreLocation:
    """Returns where the store of ``root`` is, or would be created. Writes nothing."""
    base = directory_of_path(home, root)
    seen = _seen(root)
    for name in listing(base):
        directory = os.path.join(base, name)
        if _read_seen(directory) == seen:
            real = _followed(directory, root)
            if real is not None:
                return StoreLocation(real, root, None)
    identity = identity_of(root)
    directory = os.path.join(base, identity.root)
    return StoreLocation(_followed(directory, root) or directory, root, identity)


def _followed(directory: str, root: bytes) -> str | None:
    """Returns the store that ``directory`` is or links to; None for a stale link."""
    try:
        target = os.readlink(directory)
    except OSError:
        return directory
    known = read_location(target)
    return target if known is not None and is_same(known.root, root) else None


def is_same(one: bytes, other: bytes) -> bool:
    """Tells whether two paths are the same directory at this moment."""
    try:
        first, second = os.stat(one), os.stat(other)
    except OSError:
        return False
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)


def link_location(location: StoreLocation, other: StoreLocation) -> StoreLocation:
    """Lets the store of ``other`` be found under the path of ``location``, the same directory."""
    durable.make_directories(os.path.dirname(location.directory))
    if os.path.islink(location.directory):  # it leads to where the store was before
        durable.unlink(location.directory)
    durable.symlink(os.fsencode(other.directory), location.directory)
    durable.sync_directory(os.path.dirname(location.directory))
    if location.root not in other.also:
        write_location(other.replace(also=(*other.also, location.root)))
    return location.replace(directory=other.directory)


def links_to(home: str, location: StoreLocation) -> list[str]:
    """Lists the links that lead to a store from the other paths of its workspace."""
    bases = {directory_of_path(home, path) for path in (location.root, *location.also)}
    found = [os.path.join(base, name) for base in sorted(bases) for name in listing(base)]
    return [path for path in found if os.path.islink(path) and _leads_to(path, location.directory)]


def _leads_to(link: str, directory: str) -> bool:
    return os.readlink(link) == directory


def locks_above(location: StoreLocation) -> list[str]:
    """Lists the locks of the workspaces around this one, the outermost first.

    Changing or capturing a workspace takes them shared, so that nobody sees half of a change to a
    directory that lies in two workspaces. Costs one stat for each directory above the root.
    """
    base = os.path.dirname(location.directory)
    home = os.path.dirname(os.path.dirname(base))
    roots = [location.root]
    if base != directory_of_path(home, location.root):  # opened by another path
        known = read_location(location.directory)
        roots += [known.root] if known is not None else []
    found: list[str] = []
    for root in roots:
        path = os.path.dirname(root)
        above: list[str] = []
        while path != os.path.dirname(path):
            if is_known(home, path):
                outer = find(home, path)
                if exists(outer) and outer.directory != location.directory:
                    above.append(os.path.join(outer.directory, "lock"))
            path = os.path.dirname(path)
        found += [lock for lock in reversed(above) if lock not in found]
    return found


def _seen(root: bytes) -> bytes:
    """Returns what stays the same as long as the root itself was not touched since the last look.

    If it is the same, the birth time is not needed, which would load ``ctypes`` (3 ms).
    """
    try:
        status = os.lstat(root)
    except OSError:
        return b"gone"
    return b"%x %x %x" % (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)


def _read_seen(directory: str) -> bytes:
    try:
        return small_content(os.path.join(directory, "seen"))
    except OSError:
        return b""


def remember(location: StoreLocation) -> None:
    """Notes that the root was found to be the one that the store belongs to."""
    seen = _seen(location.root)
    if _read_seen(location.directory) == seen:
        return
    try:
        durable.replace_file(os.path.join(location.directory, "seen"), seen, flush=False)
    except OSError:
        return  # a full disk: the next opening reads the whole identity again


def exists(location: StoreLocation) -> bool:
    """Tells whether the store exists; a link that leads elsewhere does not count.

    ``format`` is written last and the first ref after that: with a ref, only ``format`` was lost.
    """
    directory = location.directory
    return not os.path.islink(directory) and (
        os.path.isfile(os.path.join(directory, "format")) or has_refs(directory)
    )


def has_refs(directory: str) -> bool:
    """Tells whether anything was ever recorded in a store."""
    bare = os.path.join(directory, "store.git")
    return os.path.isdir(f"{bare}/{EVERYTHING}") or os.path.isfile(f"{bare}/{PACKED}")


def all_locations(home: str) -> Iterator[StoreLocation]:
    """Yields every store under ``home`` that says which workspace it belongs to."""
    base = os.path.join(home, "workspaces")
    for name in sorted(listing(base)):
        for identity in sorted(listing(os.path.join(base, name))):
            directory = os.path.join(base, name, identity)
            location = None if os.path.islink(directory) else read_location(directory)
            if location is not None:
                yield location


def listing(path: str) -> list[str]:
    """Returns the names in a directory; none if it cannot be read."""
    try:
        return all_names(path)
    except OSError:
        return []


def _beginning(path: str) -> bytes:
    with open(path, "rb", opener=ordinary) as file:
        return file.read(_LONGEST)


def read_location(directory: str) -> StoreLocation | None:
    """Reads what a store says of its workspace; None if it does not say."""
    try:
        record = json_text.loads(_beginning(os.path.join(directory, "workspace.json")).decode())
        return _location_in(directory, record)
    except (OSError, ValueError, RecursionError):  # also a path that is no text
        return None


def _location_in(directory: str, record: object) -> StoreLocation | None:
    if not isinstance(record, dict):
        return None
    path, root, git = (record.get(key) for key in ("path", "root", "git"))
    if not isinstance(path, str) or not isinstance(root, str) or not isinstance(git, str):
        return None
    if not path.startswith("/") or "\0" in path:
        return None  # no directory has such a path
    own, also, made_by = (record.get(key) for key in ("id", "paths", "machine"))
    return StoreLocation(
        directory,
        to_bytes(path),
        Identity(root, git),
        own if isinstance(own, str) else "",
        tuple(to_bytes(p) for p in also if isinstance(p, str)) if isinstance(also, list) else (),
        made_by if isinstance(made_by, str) else "",
    )


def write_location(location: StoreLocation) -> None:
    """Records in the store which workspace it belongs to; ``location`` has an identity.

    A store keeps the id that it has, and gets one if it has none.
    """
    assert location.identity is not None
    known = read_location(location.directory)
    own = location.id or (known.id if known is not None else "") or new_workspace_id()
    also = location.also or (known.also if known is not None else ())
    made_by = (known.machine if known is not None else "") or machine_of(location.home)
    record = {
        "v": 1,
        "id": own,
        "machine": made_by,
        "path": to_text(location.root),
        "paths": [to_text(path) for path in also if path != location.root],
        "root": location.identity.root,
        "git": location.identity.git,
    }
    text = json_text.dumps(record) + "\n"
    durable.replace_file(os.path.join(location.directory, "workspace.json"), text.encode())


# -- which store a directory inherits: its own after a move, and what was at its path before
#
# same directory, old path gone       a move: taken over, with a note
# same directory, old path there too  a bind mount: one store for both paths
# same path, same `.git`              a root recreated around it: taken over
# same path, another directory        another workspace: offered, never taken over unasked


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
        for location in all_locations(home)
        if location.identity is not None
        and os.path.basename(location.directory) == location.identity.root
        and exists(location)
    ]


def _is_here(other: StoreLocation, root: bytes) -> bool:
    """Tells whether a store's directory is now at ``root``: it looks the same and is not a copy.

    A file system that was copied whole has copies with the same inode and birth time.
    """
    assert other.identity is not None
    gone = mark(other.root) != other.identity.root
    return gone or is_same(other.root, root)


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
        found = had.get(mark(path))
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
        same_path = other.root == location.root or is_same(other.root, location.root)
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
    write_location(new)


def strangers(home: str, location: StoreLocation) -> list[StoreLocation]:
    """Lists stores of the same path with another identity: what was here before."""
    base = directory_of_path(home, location.root)
    found = []
    for name in sorted(listing(base)):
        directory = os.path.join(base, name)
        other = None if os.path.islink(directory) else read_location(directory)
        if other is not None and directory != location.directory and exists(other):
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
    write_location(new)


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
