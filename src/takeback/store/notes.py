"""Notes of a store beside its history: failures, open turns, what was told, what watches missed."""

from __future__ import annotations

import os
import time
from stat import S_ISREG

from takeback import durable
from takeback.c_modules import small_sha1
from takeback.errors import Refused, UsageError
from takeback.model.ids import SessionId
from takeback.model.value import Value
from takeback.ordinary import all_names, ordinary
from takeback.paths import home_named, takeback_home
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from takeback.store.lock import Locked
    from takeback.store.store import Store

    T = TypeVar("T")

# -- the store's log: one line per failure, so that ``status`` can show what went wrong unseen


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


def read_log(store: Store, *, last: int = 20) -> list[str]:
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


# -- failures: what went wrong here according to the logs, until it is marked as seen
#
# A store has its own log, and all stores share one, where a line names its directory after a tab.
# What was seen is remembered as the last line of each log at that moment: lines have no number.


_STAMP = len("2026-11-15T14:05:09Z")


class Failure(Value):
    """One line: ``stamp`` is when, by RFC 3339 in UTC; empty if unknown."""

    stamp: str
    text: str

    @property
    def line(self) -> str:
        return f"{self.stamp} {self.text}" if self.stamp else self.text


def unseen(store: Store | None, home: str, root: bytes) -> list[Failure]:
    """Returns the unseen failures of this workspace, or without a known directory; newest last.

    Before the first checkpoint there is no store, and nothing can have been seen.
    """
    own = [] if store is None else of_store(store)
    return sorted([*own, *of_hooks(store, home, root)], key=lambda failure: failure.stamp)


def of_store(store: Store) -> list[Failure]:
    """Returns the unseen failures in the store's own log."""
    return [_failure(line) for line in _after(read_log(store), _seen(store)[0])]


def of_hooks(store: Store | None, home: str, root: bytes) -> list[Failure]:
    """Returns the unseen failures of this workspace, or of none, in the log of all hooks."""
    seen = "" if store is None else _seen(store)[1]
    shared = [
        line.partition("\t")[0]
        for line in _after(read_from(_shared(home), last=_MANY), seen)
        if _concerns(line, shown(os.fsdecode(root)))
    ]
    return [_failure(line) for line in shared[-_MOST:]]


def see(store: Store, home: str) -> None:
    """Notes that everything in the logs was seen."""
    last = [(read_from(path, last=1) or [""])[0] for path in (store.path("log"), _shared(home))]
    durable.replace_file(store.path("log.seen"), "".join(f"{line}\n" for line in last).encode())


_MANY, _MOST = 1000, 20
"""How many lines of all workspaces are read, and how many are shown."""


def _shared(home: str) -> str:
    return os.path.join(home, "log")


def _seen(store: Store) -> list[str]:
    lines = read_from(store.path("log.seen"))
    return [*lines, "", ""][:2]


def _after(lines: list[str], seen: str) -> list[str]:
    """Returns the lines after the one that was the last when they were seen."""
    if not seen or seen not in lines:
        return lines
    return lines[len(lines) - lines[::-1].index(seen) :]


def _concerns(line: str, root: str) -> bool:
    where = line.partition("\t")[2]
    return not where or where == root or where.startswith(f"{root}/")


def _failure(line: str) -> Failure:
    return Failure(line[:_STAMP], line[_STAMP + 1 :])


# -- notes about sessions: which have an open turn, and what the person has already been told
#
#     turns/SESSION           its turn is open: an empty file, so that not all refs have to be read
#     told/SESSION            its turn had a failure; what nobody was there to hear is in it
#     told/SESSION.DIGEST     one thing that is told once in a session
#
# The refs decide which turns are open; the files only say where to look. A stale one is removed on
# the next look, and a lost one only means that a turn stays open until its session's next event. A
# prompt begins a new turn, in which the first failure is reported again.


def note_turn(locked: Locked, session: SessionId, *, is_open: bool) -> None:
    """Notes whether a session's turn is open."""
    path = locked.store.path("turns", session)
    if os.path.exists(path) == is_open:
        return
    try:
        if is_open:
            durable.make_directories(os.path.dirname(path))
            os.close(durable.create(path))
        else:
            durable.unlink(path)
    except OSError:
        return


def with_open_turn(store: Store) -> list[SessionId]:
    """Lists the sessions that may have an open turn."""
    try:
        return [SessionId(name) for name in sorted(all_names(store.path("turns")))]
    except OSError:
        return []


def is_new(store: Store, session: SessionId, *, turn_begins: bool) -> bool:
    """Tells whether a failure is the first of its turn, and remembers that it was reported.

    If that cannot be remembered, only a prompt's own failure is reported.
    """
    path = store.path("told", session)
    if os.path.exists(path):
        return turn_begins
    try:
        durable.make_directories(os.path.dirname(path))
        os.close(durable.create(path))
    except FileExistsError:
        return turn_begins
    except OSError:
        return turn_begins
    return True


def is_first(store: Store, session: SessionId, about: str) -> bool:
    """Tells whether something is told in a session for the first time, and remembers that it was.

    If that cannot be remembered, it is not told: ``status`` says it.
    """
    digest = small_sha1()
    digest.update(about.encode(errors="surrogateescape"))
    path = store.path("told", f"{session}.{digest.hexdigest()[:16]}")
    try:
        durable.make_directories(os.path.dirname(path))
        os.close(durable.create(path))
    except OSError:
        return False
    return True


def keep(store: Store, session: SessionId, warning: str) -> None:
    """Keeps what could not be told, if it is the first of its turn."""
    path = store.path("told", session)
    if os.path.exists(path):
        return
    try:
        durable.make_directories(os.path.dirname(path))
        durable.replace_file(path, warning.encode(errors="surrogateescape"), flush=False)
    except OSError:  # it is in the log
        return


def take(store: Store, session: SessionId) -> str | None:
    """Returns what was kept to be told, and notes that it was."""
    path = store.path("told", session)
    try:
        with open(path, "rb", opener=ordinary) as file:
            data = file.read()
        if not data:
            return None
        durable.replace_file(path, b"", flush=False)
    except OSError:
        return None
    return data.decode(errors="surrogateescape")


def forget(store: Store, session: SessionId) -> None:
    """Notes that a turn has begun well."""
    path = store.path("told", session)
    if os.path.exists(path):
        try:
            durable.unlink(path)
        except OSError:
            return


# -- what looks at everything have found of the watch: one line in the store, for ``doctor``
#
# <looks at everything that were compared> <rounds that relied on it> <directories missed> <last
# one>


_NAME = "watched"


class Tally(Value):
    """How often the watch was held against a look at everything, and what it had missed."""

    looks: int = 0
    rounds: int = 0
    missed: int = 0
    last: bytes = b""


def read_tally(store: Store) -> Tally:
    """Returns the tally; all 0 if there is none, or it does not read."""
    try:
        with open(store.path(_NAME), "rb", opener=ordinary) as file:
            looks, rounds, missed, last = file.read().split(b" ", 3)
        return Tally(int(looks), int(rounds), int(missed), last)
    except (OSError, ValueError):
        return Tally()


def add(lock: Locked, rounds: int, missed: list[bytes]) -> None:
    """Adds one look at everything to the tally; it is disposable, so a failure is nobody's."""
    before = read_tally(lock.store)
    now = Tally(
        before.looks + 1,
        before.rounds + rounds,
        before.missed + len(missed),
        missed[-1] if missed else before.last,
    )
    line = b"%d %d %d %b" % (now.looks, now.rounds, now.missed, now.last)
    try:
        durable.replace_file(lock.store.path(_NAME), line, flush=False)
    except OSError:
        return
