"""The store's log: one line per failure, so that ``status`` can show what went wrong unseen."""

from __future__ import annotations

import os
import time
from stat import S_ISREG

from takeback import durable
from takeback.errors import Refused, UsageError
from takeback.ordinary import ordinary
from takeback.paths import home_named, takeback_home
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from takeback.store.store import Store

    T = TypeVar("T")

_KEPT = 1 << 18


def append(store: Store, text: str) -> None:
    """Adds a line with the time. A log that cannot be written must not stop the work."""
    append_to(store.path("log"), text)


def append_to(path: str, text: str, directory: str = "") -> None:
    """Adds a line to the log of a store, or to the common one if there is no store.

    ``directory`` is where it went wrong, written after a tab, which no other part of a line has.
    """
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = f"{stamp} {_line(text, directory)}\n".encode(errors="replace")
    try:
        if durable.append(path, line) > _KEPT:
            _shorten(path)
    except OSError:
        return


def _line(text: str, directory: str) -> str:
    where = f"\t{shown(directory)}" if directory else ""
    return f"{shown(' '.join(text.split()))}{where}"


def complain(text: str, directory: str | bytes = "", *, once: bool = False) -> bool:
    """Leaves a line where ``status`` finds it: in the home of all stores, without needing a store.

    With ``directory`` it is shown in the workspace that this lies in, else in all of them. If
    TAKEBACK_HOME itself is wrong, it goes to the default home, whatever is wrong with that. What is
    said ``once`` is not said again while it is in the log. Returns whether it was said.
    """
    where = os.fsdecode(directory)

    def say(home: str) -> bool:
        path = os.path.join(home, "log")
        if once and _has(path, text, where):
            return False
        append_to(path, text, where)
        return True

    return _at_home(say) or False


def keep_trace(error: Exception) -> str:
    """Keeps where an error was raised, without any value; returns the file, or nothing.

    The newest stands last; the file is bounded as the log is.
    """
    from traceback import TracebackException  # 6 ms; after a bug only

    from takeback._version import __version__

    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    said = "".join(TracebackException.from_exception(error).format()).splitlines()
    trace = "\n".join([f"{stamp} takeback {__version__}", *map(shown, said), "", ""])

    def keep(home: str) -> str:
        path = os.path.join(home, "bugs.log")
        if durable.append(path, trace.encode(errors="replace")) > _KEPT:
            _shorten(path)
        return path

    return _at_home(keep) or ""


def _at_home(write: Callable[[str], T]) -> T | None:
    """Writes in the home of all stores, the default one if TAKEBACK_HOME is wrong; None if neither.

    The default one is taken whatever is wrong with that.
    """
    usual = {**os.environ, "TAKEBACK_HOME": ""}
    for named, environ in ((takeback_home, os.environ), (home_named, usual)):
        try:
            home = named(environ)
            durable.make_directories(home)
            return write(home)
        except (Refused, UsageError):
            continue
        except OSError:
            break
    return None


def _has(path: str, text: str, directory: str) -> bool:
    """Tells whether a log has a line, whenever it was written."""
    line = _line(text, directory)
    return any(known.partition(" ")[2] == line for known in read_from(path, last=_KEPT))


def _shorten(path: str) -> None:
    with open(path, "rb", opener=ordinary) as file:
        data = file.read()
    durable.replace_file(path, data[-_KEPT // 2 :].partition(b"\n")[2], flush=False)


def read(store: Store, *, last: int = 20) -> list[str]:
    """Returns the newest lines, oldest first."""
    return read_from(store.path("log"), last=last)


def read_from(path: str, *, last: int = 20) -> list[str]:
    """Returns the newest lines of a log, oldest first; none if it is missing or not a file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return []
    try:
        status = os.fstat(fd)
        if not S_ISREG(status.st_mode):
            return []
        data = os.pread(fd, _KEPT, max(0, status.st_size - _KEPT))
    except OSError:
        return []
    finally:
        os.close(fd)
    return data.decode("utf-8", "replace").splitlines()[-last:]
