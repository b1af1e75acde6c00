"""The workspace's lock: a kernel lock, so that a dead process holds nothing; who waits for it."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
import time

from takeback import durable, kernel
from takeback.errors import InUse, StoreDamaged, StoreMoved, WriteFailed
from takeback.git.objects import BLOB, object_id
from takeback.ordinary import ordinary
from takeback.store import namespace
from takeback.store.location import machine_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from takeback.model.ids import MachineId
    from takeback.store.store import Store


# -- the line of those who wait for a lock: who came first is served first
#
#     lock   held by p
#     line   7: q, waits since 0.9 s     8: r, since 0.5 s     9: s, since 0.1 s
#
# Without it all who wait draw lots at each release, and with eight of them one may lose for as
# long as it has patience. A place in the line is a kernel lock on one byte, numbered on from the
# last that is taken, of the directory that the lock is in: it needs no file of its own, and a
# process that dies leaves the line. Two who come at the same moment may have the same number;
# they draw lots.
#
# It only says who tries more often, so nothing depends on it: where the system has no such locks,
# or the file system none on a directory, everybody tries equally often.


_FLOCK = "hhxxxxqqixxxx"  # struct flock of 64-bit Linux: type, whence, start, length, pid
_PLACES = 24  # so many bits of places for each lock; above them is the number of its file


class WaitingLine:
    """A place in the line, taken when it is made."""

    def __init__(self, lock: int, directory: str) -> None:
        """``lock`` is a descriptor of the lock's file."""
        self._fd: int | None = None
        self._first = self._place = 0
        if not hasattr(fcntl, "F_OFD_SETLK") or sys.maxsize < 1 << 32:
            return
        try:
            self._fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
            self._first = (os.fstat(lock).st_ino & (1 << 38) - 1) << _PLACES
            self._place = self._first
            while (taken := self._taken(self._place, self._first + (1 << _PLACES))) is not None:
                self._place = taken + 1
            self._ask(fcntl.F_OFD_SETLK, fcntl.F_RDLCK, self._place, 1)
        except OSError:
            self.leave()

    @property
    def is_first(self) -> bool:
        """Tells whether nobody waits who came before."""
        if self._fd is None or self._place == self._first:
            return True
        try:
            return self._taken(self._first, self._place) is None
        except OSError:
            return True

    def leave(self) -> None:
        """Gives the place up."""
        if self._fd is not None:
            try:  # before it is closed: a child that was forked meanwhile has a copy
                self._ask(fcntl.F_OFD_SETLK, fcntl.F_UNLCK, self._place, 1)
            except OSError:
                pass
            os.close(self._fd)
            self._fd = None

    def _taken(self, start: int, end: int) -> int | None:
        """Returns a place of another from ``start`` to before ``end``."""
        kind, _, found, length, _ = self._ask(fcntl.F_OFD_GETLK, fcntl.F_WRLCK, start, end - start)
        return None if kind == fcntl.F_UNLCK else found + length - 1

    def _ask(self, command: int, kind: int, start: int, length: int) -> tuple[int, ...]:
        assert self._fd is not None
        asked = struct.pack(_FLOCK, kind, os.SEEK_SET, start, length, 0)
        return struct.unpack(_FLOCK, fcntl.fcntl(self._fd, command, asked))


# -- the workspace's lock
#
#     top        exclusive: an operation in top
#     top/sub    shared on the lock of top, then exclusive on its own: an operation in sub
#
# A workspace inside another shares the outer one's lock while it holds its own, so that neither
# sees the other's work half-done, and two side by side do not wait for one another. The file's
# text only says who holds the lock; it means nothing when the lock is free.


_OFTEN = 0.002
_PAUSE = 0.01
_SELDOM = 0.1
"""Seconds between two tries of the first of those who wait, two looks whether one is the first, and
two tries of one who is not."""


class Lock:
    """Held by at most one process; free again when that process ends, however it ends."""

    def __init__(self, path: str, above: Callable[[], Iterable[str]] = tuple) -> None:
        """``above`` lists the locks of the workspaces around this one, the outermost first."""
        self._path = path
        self._above = above
        self._fd: int | None = None
        self._shared: list[int] = []

    @property
    def held(self) -> bool:
        return self._fd is not None

    @property
    def is_free(self) -> bool:
        """Tells whether nobody holds it, or did a moment ago; False if that cannot be known."""
        try:
            self.acquire("a look", wait=0)
        except (InUse, StoreMoved, WriteFailed):
            return False
        self.release()
        return True

    def acquire(self, holder: str, *, wait: float) -> None:
        """Takes the lock or raises InUse after a total of ``wait`` seconds, naming the holder.

        Raises WriteFailed if the file cannot be made or locked. It cannot be taken again while it
        is held: two holders who believe that they are alone would each change what the other relies
        on.
        """
        if self._fd is not None:
            raise RuntimeError("this process holds the lock already; what needs it is handed it")
        deadline = time.monotonic() + wait
        try:
            for path in self._above():
                try:
                    fd = durable.open_lock(path, make=False)
                except FileNotFoundError:  # the store was forgotten a moment ago
                    continue
                self._shared.append(fd)
                _wait_for(fd, path, fcntl.LOCK_SH, deadline)
                _say_who(fd, holder)
            self._fd = self._own(holder, deadline)
        except OSError as error:
            self._close_shared()
            raise WriteFailed.of("locking the workspace", error) from error
        except BaseException:
            self._close_shared()
            raise

    def _own(self, holder: str, deadline: float) -> int:
        try:
            fd = durable.open_lock(self._path, make=True)
        except FileNotFoundError:
            raise StoreMoved from None
        try:
            _wait_for(fd, self._path, fcntl.LOCK_EX, deadline)
            if not _is_at(fd, self._path):
                raise StoreMoved
            _say_who(fd, holder)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def release(self) -> None:
        """Releases the lock; does nothing if it is not held."""
        if self._fd is None:
            return
        try:
            _say_nobody(self._fd)
        finally:
            os.close(self._fd)
            self._fd = None
            self._close_shared()

    def _close_shared(self) -> None:
        while self._shared:
            os.close(self._shared.pop())

    def forget_in_child(self) -> None:
        """Closes a forked child's copy, so that the lock is freed when the parent ends."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        self._close_shared()

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()


def _wait_for(fd: int, path: str, how: int, deadline: float) -> None:
    if _is_got(fd, how):
        return
    if time.monotonic() < deadline and _is_got_in_line(fd, path, how, deadline):
        return
    who = os.pread(fd, 200, 0).decode(errors="replace").strip()
    raise InUse(
        f"the workspace is in use by {who or 'another process'}",
        hint="wait for it to end, then run the command again",
    )


def _is_got_in_line(fd: int, path: str, how: int, deadline: float) -> bool:
    """Tries until the deadline, in the order in which all who wait have come."""

    line = WaitingLine(fd, os.path.dirname(path))
    try:
        tried = now = time.monotonic()
        while now < deadline:
            # The first of the line may have been stopped: the others try, too, now and then.
            if line.is_first or now - tried > _SELDOM:
                tried = now
                if _is_got(fd, how):
                    return True
            time.sleep(_OFTEN if line.is_first else _PAUSE)
            now = time.monotonic()
        return _is_got(fd, how)
    finally:
        line.leave()


def _is_got(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _say_who(fd: int, holder: str) -> None:
    try:
        durable.inscribe(fd, f"process {os.getpid()} ({holder})\n".encode())
    except OSError:  # a full disk: the lock is held all the same, by an unnamed holder
        return


def _say_nobody(fd: int) -> None:
    """Empties the file, which then takes no block of the disk."""
    try:
        durable.inscribe(fd, b"")
    except OSError:  # it means nothing when the lock is free
        return


def _is_at(fd: int, path: str) -> bool:
    """Tells whether an open file is still the one at that path."""
    try:
        there = os.stat(path)
    except OSError:
        return False
    here = os.fstat(fd)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


# -- a store whose lock this process holds: whatever changes a store takes this as an argument
#
#     with store.locked("rewind", wait=30) as locked:
#         journal.write(locked, ...)
#         write_checkpoint(PackSink(locked), ...)
#
# So nothing can change a store without its lock, and the lock is never taken twice: what needs it
# gets it as an argument.


class Locked:
    """Valid until the ``with`` that made it ends, and never in a forked child; else it raises."""

    __slots__ = ("_store",)

    def __init__(self, store: Store) -> None:
        self._store: Store | None = store

    @property
    def store(self) -> Store:
        """The store, which nobody else can change now; RuntimeError once the lock is released."""
        if self._store is None or not self._store.lock.held:
            raise RuntimeError("the lock of the store is not held any more")
        return self._store

    def check(self) -> None:
        """Raises RuntimeError once the lock is released."""
        _ = self.store

    def end(self) -> None:
        """Makes it invalid for everyone who still has it."""
        self._store = None

    @property
    def machine(self) -> MachineId:
        """The machine that writes; it gets its name when it first does."""
        return self.store.machine or machine_of(self.store.location.home)

    def next_sequence(self, *, above: int = 0, first: bool = False) -> int:
        """Returns a number higher than any that the store has, of any machine.

        It orders checkpoints and operations of all sessions, whatever the clocks do. It is written
        before it is used, so a kill leaves a gap and no number is used twice. It is not flushed, so
        it is believed in the run of the machine that wrote it, and only as long as nothing shows a
        higher one: ``above`` is the newest that the caller knows of, and with ``first`` it knows
        of none, as what it writes is the first of a session. In any doubt the refs, which are
        flushed, are counted again: once a run and once a session.
        """
        store = self.store
        path = store.path("sequence")
        others = namespace.of_others(store.refs, self.machine)
        mark, run = _mark(others), kernel.run_of_machine()
        number, found_run, known = _read_sequence(path)
        if found_run != run:
            number = -1
        if first or above > number:
            every = namespace.listed(store.refs, namespace.NUMBERED, {})
            number = max(number, _highest_sequence(store, every))
        elif known != mark:  # another machine's work was fetched since
            number = max(number, _highest_sequence(store, others))
        number = max(number, above) + 1
        durable.replace_file(path, f"{number} {run} {mark}".rstrip().encode() + b"\n", flush=False)
        return number

    def find_sequence(self) -> int:
        """Gives out a number above all that the refs have, whatever the file says; returns it."""
        durable.replace_file(self.store.path("sequence"), b"", flush=False)
        return self.next_sequence()

    def raise_epoch(self) -> None:
        """Invalidates every stat cache."""
        store = self.store
        durable.replace_file(store.path("epoch"), b"%d\n" % (store.epoch + 1))

    def clear_blame(self, packs: Iterable[str]) -> None:
        """Forgets the reports of damaged packs, once the table has them."""
        store = self.store
        for pack in packs:
            try:
                durable.unlink(store.path("damaged", pack))
            except FileNotFoundError:
                continue


class Locking:
    """Holds a store's lock for the length of a ``with``, which yields the ``Locked``."""

    def __init__(self, store: Store, holder: str, *, wait: float) -> None:
        self._store = store
        self._holder = holder
        self._wait = wait
        self._locked = Locked(store)

    def __enter__(self) -> Locked:
        self._store.lock.acquire(self._holder, wait=self._wait)
        if os.path.exists(self._store.path("purge")):
            self._finish_purge()
        return self._locked

    def _finish_purge(self) -> None:
        """Finishes a purge that was interrupted: nothing may be added to what is about to go."""
        from takeback.store import redaction

        try:
            redaction.finish(self._locked)
        except OSError as error:
            self._store.lock.release()
            raise WriteFailed.of("finishing an interrupted purge", error) from error
        except BaseException:
            self._store.lock.release()
            raise

    def __exit__(self, *exc: object) -> None:
        self._locked.end()
        self._store.lock.release()


def _read_sequence(path: str) -> tuple[int, str, str]:
    """Returns the number in the file, the run that wrote it and what others had; else nothing."""
    try:
        with open(path, encoding="ascii", opener=ordinary) as file:
            number, run, *known = file.read().split()
        return int(number), run, "".join(known)
    except (OSError, ValueError):
        return 0, "", ""


def _mark(refs: Mapping[str, bytes]) -> str:
    """Returns a word that changes whenever one of these refs does; empty for none."""
    if not refs:
        return ""
    text = "".join(f"{ref} {tip.hex()}\n" for ref, tip in sorted(refs.items()))
    return object_id(BLOB, text.encode()).hex()


def _highest_sequence(store: Store, refs: Mapping[str, bytes]) -> int:
    """Looks for the newest number in what some refs point to."""
    from takeback.store.records import read_record

    highest = 0
    for tip in refs.values():
        try:
            number = read_record(store, tip).meta.get("sequence")
        except StoreDamaged:
            continue
        highest = max(highest, number) if isinstance(number, int) else highest
    return highest
