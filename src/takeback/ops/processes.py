"""Tells whether an agent's process still exists, and which processes started this one."""

from __future__ import annotations

import os

from takeback.model.session import Process


def started(pid: int) -> str | None:
    """Returns what tells a process from a later one with the same id; None if unknown."""
    told = fields(pid)
    return told[19] if len(told) > 19 else None


def fields(pid: int) -> list[str]:
    """Returns Linux's fields for a process, from its state on; empty elsewhere."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].decode().split()
    except OSError:
        return []


def seen(pid: int) -> Process:
    """Returns a process by its id, with what tells it from others with that id."""
    return Process(pid, started(pid), _namespace())


def _namespace() -> str | None:
    """Returns the namespace of the process ids seen here; None if the system does not say."""
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return None


def can_be_seen(process: Process) -> bool:
    """Tells whether a process's id means it here: a container has ids of its own."""
    return process.namespace in (None, _namespace())


def is_alive_here(process: Process) -> bool:
    """Tells whether a process is known to exist."""
    return can_be_seen(process) and is_alive(process)


def is_gone(process: Process) -> bool:
    """Tells whether a process is known to have ended."""
    return can_be_seen(process) and not is_alive(process)


def is_alive(process: Process) -> bool:
    """Tells whether this very process exists, not a later one with the same id.

    Call it only for one that can be seen.
    """
    try:
        os.kill(process.pid, 0)
    except PermissionError:
        return True  # another user's, so it exists
    except (OSError, OverflowError):
        return False
    if fields(process.pid)[:1] in (["Z"], ["X"]):  # dead, but not yet waited for
        return False
    return process.started in (None, started(process.pid))


def ancestors(of: int | None = None) -> tuple[Process, ...]:
    """Returns the processes above one, the nearest first; above this one if none is named.

    If the system does not tell, only the parent, and none of another process.
    """
    found = []
    pid, namespace = os.getppid() if of is None else _parent(of), _namespace()
    while pid > 0:
        told = fields(pid)
        found.append(Process(pid, told[19] if len(told) > 19 else None, namespace))
        pid = int(told[1]) if len(told) > 1 else 0
    return tuple(found)


def _parent(pid: int) -> int:
    told = fields(pid)
    return int(told[1]) if len(told) > 1 else 0


def variables(pid: int) -> dict[str, str]:
    """Returns the environment that a process was started with; empty if that is not known."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = file.read().split(b"\0")
    except OSError:
        return {}
    found = (os.fsdecode(pair).partition("=") for pair in pairs)
    return {name: value for name, is_one, value in found if is_one}
