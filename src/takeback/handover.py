"""Handing over: a hook gives its event to the standby, which has all modules in memory.

Starting Python is a quarter of a hook's time, importing takeback half of it. So a hook that finds
the standby (``standby.py``) imports nothing more than this module:

    hook                                     standby
    its words, its environment ──>                looks at who asks (doorkeeper.py)
                               <──  "+", where a file is that only its equals can open, and for
    "!", its streams and directory, that file ──>        how long to wait; or "-", or no answer in
                               <──  how it ended         time: the hook does it all itself

A hook waits no longer than that, from the start of its process: then its agent goes on, and a line
says so. Where more is allowed, or a person waits for an answer, the standby says "w" first. The
event stays with the standby: nobody records it a second time. Only "!" hands the event over, and
with it what keeps the agent waiting: a standby that hangs before has neither, and later finds
nobody there. Hooks of another kind (in a sandbox, under other limits, with other places) have a
standby of their own, whose socket has another name.

There are two clients, which say the same: this one, and ``native/hook.c``, which needs no Python
and runs the launcher whenever anything is odd. Nothing but C modules and ``ownership`` is imported
here, not even ``__future__``.
"""

import sys
import time

from takeback.c_modules import environment, posix, socket
from takeback.ownership import why_not_private

PREFIX = "standby-"
PROTOCOL = 3
"""Raised with every change of what is said, so that an older client finds nobody to say it to."""
WAITED = b"TAKEBACK_WAITED"
"""Set by a client that waited for a standby in vain: the launcher, which it runs, does not."""
BESIDE = "--beside"
"""The word for an agent that does not wait at the end of a round, but before its next tool."""
TAKEN, REFUSED, GO = b"+", b"-", b"!"
LONGER = b"w"
MARGIN = 1.0
"""Seconds beyond those that an event may take: for a standby that just says that it took them."""
LONGEST_WAIT = 3600.0
"""Seconds that a hook waits where a person waits with it, who can end both."""
LENGTH = 4
LONGEST = 1 << 20
FD = 4
STREAMS = 3
PLACES = (
    b"PATH",
    b"HOME",
    b"TMPDIR",
    b"TAKEBACK_HOME",
    b"XDG_DATA_HOME",
    b"XDG_CONFIG_HOME",
    b"XDG_STATE_HOME",
    b"XDG_CACHE_HOME",
)
"""Variables that lead to programs and files: the standby's must equal the hook's."""
_PATIENCE = 0.5
_ANSWER = 64
_SAID = 3
_LEAST = 0.001
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")
RIGHTS = (b"Uid:", b"Gid:", b"Groups:", b"Cap", b"NoNewPrivs:", b"Seccomp")
_NICE, _STARTED = 16, 19  # fields after the name of the program in /proc/PID/stat
_PRIME = (1 << 61) - 1
_OLDEST = 60.0
"""Seconds since which no hook waits: where one seems to, the system counts in another way."""


class Lost(Exception):
    """The standby ended after it had taken the event, or is not done in time."""


def hand_over(home: str, words: list[str]) -> int | None:
    """Hands this process's event to the standby of a home; returns the status to end with.

    None if there is no standby, or none that can do exactly what this process could. Raises Lost.
    """
    directory = f"{home}/bin"
    environ = {**environment(), b"TAKEBACK_HOME": home.encode(errors="surrogateescape")}
    if WAITED in environ or not all(words) or why_not_private(directory):
        return None  # of the last anybody may be listening there
    try:
        name = name_for(environ)
    except OSError:
        return None
    if not posix.access(f"{directory}/{name}", posix.F_OK):
        return None
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        seconds = _taken(door, directory, name, request(words, environ))
        if seconds is None:
            return None
        return _ended(door, (began("self") or time.monotonic()) + seconds)
    finally:
        door.close()


def _ended(door: socket.socket, end: float) -> int:
    """Waits until that time for what the standby says of the end of the event."""
    while True:
        door.settimeout(max(end - time.monotonic(), _LEAST))
        try:
            answer = door.recv(1)
        except TimeoutError:
            raise Lost("the standby was not done in time; its agent went on") from None
        if not answer:
            raise Lost("the standby ended before the event was recorded")
        if answer != LONGER:
            return answer[0]
        end = time.monotonic() + LONGEST_WAIT


def _taken(door: socket.socket, directory: str, name: str, asked: bytes) -> float | None:
    """Hands the event over; returns for how many seconds to wait then."""
    fds: list[int] = []
    if len(asked) > LONGEST:
        return None
    try:
        fds.append(posix.open(".", posix.O_RDONLY | posix.O_CLOEXEC))
        posix.chdir(directory)  # the path of a socket may have at most 107 bytes
        try:
            door.settimeout(_PATIENCE)
            door.connect(name)
        finally:
            posix.fchdir(fds[0])
        door.sendall(len(asked).to_bytes(LENGTH, "big") + asked)
        answer = door.recv(_ANSWER)
        said = answer[1:].split(b" ")
        if answer[:1] != TAKEN or len(said) != _SAID or not all(map(bytes.isdigit, said)):
            return None
        pid, number, milliseconds = said
        proof = b"/proc/%b/fd/%b" % (pid, number)
        fds.append(posix.open(proof, posix.O_RDWR | posix.O_CLOEXEC))
        rights = b"".join(fd.to_bytes(FD, sys.byteorder) for fd in (*range(STREAMS), *fds))
        door.sendmsg([GO], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    except OSError:
        return None
    finally:
        for fd in fds:
            posix.close(fd)
    return int(milliseconds) / 1000


def request(words: list[str], environ: dict[bytes, bytes]) -> bytes:
    """Returns what a hook sends first: its words and its variables, none of which can hold a NUL.

    Between the two is an empty piece, which no word and no variable is.
    """
    said = [word.encode(errors="surrogateescape") for word in words]
    return b"\0".join([*said, b"", *(b"%b=%b" % pair for pair in environ.items())])


def name_for(environ: dict[bytes, bytes]) -> str:
    """Returns the name of the socket for hooks that are like this process; raises OSError.

    It ends in a number for what this process is; a hook that takes a wrong name is refused later.
    """
    python = posix.stat(sys.executable)
    which = f"{PROTOCOL} {sys.executable} {python.st_ino} {python.st_mtime_ns} {__file__}"
    own = which.encode(errors="surrogateescape")
    said = b"\0".join([kind("self"), *places(environ), own])
    return f"{PREFIX}{int.from_bytes(said, 'big') % _PRIME:x}"


def places(environ: dict[bytes, bytes]) -> list[bytes]:
    """Returns where a process with these variables finds programs and files."""
    return [environ.get(name, b"") for name in PLACES]


def kind(process: str) -> bytes:
    """Returns, from the kernel, what must be equal for two processes to be able to do the same.

    That is whose rights they have, their sandbox and limits, and which files are at their paths.
    Raises OSError, also if this process may not look at that one.
    """
    place = f"/proc/{process}"
    rights = [line for line in _read(f"{place}/status").split(b"\n") if line.startswith(RIGHTS)]
    spaces = [posix.readlink(f"{place}/ns/{name}").encode() for name in NAMESPACES]
    root = posix.stat(f"{place}/root/.")
    found = [*rights, *spaces, b"%d %d" % (root.st_dev, root.st_ino), _numbers(place)[_NICE]]
    return b"\0".join([*found, _read(f"{place}/limits"), _label(place)])


def started(process: str) -> bytes:
    """Returns when a process began, which tells it from a later one with the same id."""
    return _numbers(f"/proc/{process}")[_STARTED]


def began(process: str) -> float | None:
    """Returns when a process began, by ``time.monotonic``; None if nobody can say."""
    try:
        ticks = int(started(process)) / posix.sysconf("SC_CLK_TCK")
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks
    except (AttributeError, IndexError, OSError, ValueError):
        return None
    return time.monotonic() - age if 0 <= age < _OLDEST else None


def _numbers(place: str) -> list[bytes]:
    return _read(f"{place}/stat").rpartition(b")")[2].split()


def _label(place: str) -> bytes:
    """Returns the label that a security module gives the process; empty if there is none."""
    try:
        return _read(f"{place}/attr/current")
    except OSError:
        return b""


def _read(path: str) -> bytes:
    fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        pieces = []
        while piece := posix.read(fd, 1 << 14):
            pieces.append(piece)
        return b"".join(pieces)
    finally:
        posix.close(fd)
