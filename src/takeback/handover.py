"""Handing over: a hook gives its event to the standby, which has all modules in memory.

Starting Python is a quarter of a hook's time, importing takeback half of it. So a hook that finds
the standby (``standby.py``) imports nothing more than this module:

    hook                                     standby
    its words, its environment ──>                looks at who asks (doorkeeper.py)
                               <──  "+" and where a file is that only its equals can open
    "!", its streams and directory, that file ──>        or "-", or no answer in time: the hook
                               <──  how it ended         does it all itself, as if without one

Only "!" hands the event over, and with it what keeps the agent waiting: a standby that hangs has
neither, and later finds nobody there. Hooks of another kind (in a sandbox, under other limits, with
other places) have a standby of their own, whose socket has another name.

There are two clients, which say the same: this one, and ``native/hook.c``, which needs no Python
and runs the launcher whenever anything is odd. Nothing but C modules and ``ownership`` is imported
here, not even ``__future__``.
"""

import sys

from takeback.c_modules import environment, posix, socket
from takeback.ownership import why_not_private

PREFIX = "standby-"
PROTOCOL = 2
"""Raised with every change of what is said, so that an older client finds nobody to say it to."""
WAITED = b"TAKEBACK_WAITED"
"""Set by a client that waited for a standby in vain: the launcher, which it runs, does not."""
TYPED = "--typed"
"""The word that ``takeback hook`` adds: it was not the launcher that was called."""
BESIDE = "--beside"
"""The word for an agent that does not wait at the end of a round, but before its next tool."""
TAKEN, REFUSED, GO = b"+", b"-", b"!"
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
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")
RIGHTS = (b"Uid:", b"Gid:", b"Groups:", b"Cap", b"NoNewPrivs:", b"Seccomp")
_NICE, _STARTED = 16, 19  # fields after the name of the program in /proc/PID/stat
_PRIME = (1 << 61) - 1


class Lost(Exception):
    """The standby ended after it had taken the event."""


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
        if not _taken(door, directory, name, request(words, environ)):
            return None
        door.settimeout(None)
        answer = door.recv(1)
    finally:
        door.close()
    if not answer:
        raise Lost("the standby ended before the event was recorded")
    return answer[0]


def _taken(door: socket.socket, directory: str, name: str, asked: bytes) -> bool:
    fds: list[int] = []
    if len(asked) > LONGEST:
        return False
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
        pid, _, number = answer[1:].partition(b" ")
        if answer[:1] != TAKEN or not (pid.isdigit() and number.isdigit()):
            return False
        proof = b"/proc/%b/fd/%b" % (pid, number)
        fds.append(posix.open(proof, posix.O_RDWR | posix.O_CLOEXEC))
        rights = b"".join(fd.to_bytes(FD, sys.byteorder) for fd in (*range(STREAMS), *fds))
        door.sendmsg([GO], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    except OSError:
        return False
    finally:
        for fd in fds:
            posix.close(fd)
    return True


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
