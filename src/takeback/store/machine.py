"""Which machine this is: a random name for one takeback home, made when it first writes.

Every ref has one writer, the machine in its name, so what two machines wrote independently can be
fetched from one store into the other without conflict (namespace.py).

The file says where it is itself: its inode and that of the home. Copying the home, or restoring it
from a backup, copies the name too, and two machines with one name would write the same refs. So a
file that is not where it says belongs to another home, and this one gets a name of its own. A home
that was moved, or that several hosts share, stays one machine. Nothing is lost by a new name: the
log continues from the old one's (operations.py).
"""

from __future__ import annotations

import os

from takeback import durable
from takeback.model.ids import MachineId, looks_like_id, new_machine_id

_LONGEST = 200


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
        name, _, where = os.read(fd, _LONGEST).decode("ascii", "replace").partition(" ")
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
