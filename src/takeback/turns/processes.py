"""Tells whether an agent's process still exists, and which processes started this one."""

from __future__ import annotations

import os

from takeback.model.checkpoint import Process
from takeback.model.ids import SessionId
from takeback.model.value import Value
from takeback.ordinary import small_content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from takeback.model.checkpoint import Checkpoint

    IsOver = Callable[[Checkpoint], bool]
    SessionsIn = Callable[[Mapping[str, str]], Collection[SessionId]]
    """Which sessions of agents the variables of a process name."""

SILENT_FOR = 3600.0
"""An agent whose process cannot be seen and that was silent for so long is considered gone."""
MANAGERS = frozenset(("init", "systemd", "launchd"))
"""Who takes in processes whose parent has ended, beside process 1, and starts a person's."""


def started(pid: int) -> str | None:
    """Returns what tells a process from a later one with the same id; None if unknown."""
    told = fields(pid)
    return told[19] if len(told) > 19 else None


def fields(pid: int) -> list[str]:
    """Returns Linux's fields for a process, from its state on; empty elsewhere."""
    return _told(pid)[1]


def _told(pid: int) -> tuple[str, list[str]]:
    """Returns the name of a process and its fields; empty where the system does not tell."""
    try:
        said = small_content(f"/proc/{pid}/stat")
    except OSError:
        return "", []
    named, _, told = said.rpartition(b")")
    return os.fsdecode(named.partition(b"(")[2]), told.decode().split()


def words(pid: int) -> list[str]:
    """Returns the words that a process was started with; empty if that is not known."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            said = file.read()
    except OSError:
        return []
    return [os.fsdecode(word) for word in said.split(b"\0")[:-1]]


_FIRST_NAMESPACE = "4026531836"
"""Linux's own, in which every process can be seen."""


class Ancestor(Value):
    """A process above another: what the kernel says of it.

    ``leader`` is the process that began its session, ``terminal`` is not 0 if that has one.
    """

    process: Process
    name: str
    leader: int = 0
    terminal: int = 0

    @property
    def is_of_a_person(self) -> bool:
        """Whether it began a session at a terminal, as the shell that a person types into."""
        return bool(self.terminal) and self.leader == self.process.pid


def itself(pid: int) -> tuple[Ancestor, ...]:
    """Returns a process as ``above`` does those above it; none if the system does not tell."""
    name, told = _told(pid)
    if len(told) <= 19:
        return ()
    process = Process(pid, told[19], _namespace())
    return (Ancestor(process, name, int(told[3]), int(told[4])),)


def sees_all(namespace: str | None) -> bool:
    """Tells whether no process of the machine is hidden from those of a namespace."""
    return namespace == _FIRST_NAMESPACE


def seen(pid: int) -> Process:
    """Returns a process by its id, with what tells it from others with that id."""
    return Process(pid, started(pid), _namespace())


def _namespace() -> str | None:
    """Returns the namespace of the process ids seen here; None if the system does not say."""
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return None


def is_same(one: Process, other: Process) -> bool:
    """Tells whether two are the same process, as far as each says."""
    if one.pid != other.pid or one.namespace not in (None, other.namespace):
        return False
    return one.started in (None, other.started) or other.started is None


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
    return process.started in (None, now := started(process.pid)) or now is None  # not told here


def ancestors(of: int | None = None) -> tuple[Process, ...]:
    """Returns the processes above one, the nearest first; above this one if none is named.

    If the system does not tell, only the parent, and none of another process.
    """
    return tuple(one.process for one in above(of))


def above(of: int | None = None) -> Iterator[Ancestor]:
    """Yields the processes above one, the nearest first, as ``ancestors`` returns them."""
    pid, namespace = os.getppid() if of is None else _parent(of), _namespace()
    while pid > 0:
        name, told = _told(pid)
        if len(told) > 19:
            begun = Process(pid, told[19], namespace)
            yield Ancestor(begun, name, int(told[3]), int(told[4]))
        else:
            yield Ancestor(Process(pid, None, namespace), name)
        pid = int(told[1]) if len(told) > 1 else 0


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
