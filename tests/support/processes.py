"""Other processes: started and ended, waited for, found; one that holds a lock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, AnyStr

TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE = 60.0
_HOLD = """
import sys
from takeback.store.lock import Lock
Lock(sys.argv[1]).acquire("somebody else", wait=0)
print("held", flush=True)
sys.stdin.read()
"""


class Started(subprocess.Popen[AnyStr]):
    """A process that ends with the block that began it, with all below it, and is waited for."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.poll() is None:
            self.send_signal(signal.SIGSTOP)  # or it goes on where what it waits for is killed
            end_below(self.pid)
            self.kill()
        super().__exit__(kind, error, trace)

    def wait(self, timeout: float | None = PATIENCE) -> int:
        return super().wait(timeout)


@contextmanager
def lock_holder(path: str) -> Iterator[subprocess.Popen[str]]:
    """Runs a process that holds a lock until its stdin ends or it is killed."""
    with Started(
        [sys.executable, "-c", _HOLD, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder


def wait_for(condition: Callable[[], object], process: subprocess.Popen[Any] | None = None) -> None:
    """Waits for what another process does, a minute at most, or until it has ended."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert process is None or process.poll() is None, "it has ended"
        assert time.monotonic() < deadline, "it did not happen in a minute"
        time.sleep(0.02)


def join(thread: threading.Thread) -> None:
    """Waits until a thread has ended, a minute at most."""
    thread.join(PATIENCE)
    assert not thread.is_alive(), "the thread did not end in a minute"


def reap(pid: int) -> int:
    """Waits until a child has ended, a minute at most; returns its status, as ``os.wait`` does."""
    deadline = time.monotonic() + PATIENCE
    while True:
        gone, status = os.waitpid(pid, os.WNOHANG)
        if gone:
            return status
        assert time.monotonic() < deadline, "it did not end in a minute"
        time.sleep(0.001)


def has_open(process: int, path: str) -> bool:
    """Tells whether a process has a file open; where there is no /proc, that it may have."""
    folder = f"/proc/{process}/fd"
    if not os.path.isdir("/proc"):
        time.sleep(0.5)
        return True
    for name in os.listdir(folder):
        with suppress(OSError):  # it has just been closed
            if os.readlink(f"{folder}/{name}") == path:
                return True
    return False


def end_started(since: float, mark: str | None, *, below: bool = True) -> list[str]:
    """Kills what has begun since then ``below`` this process or with a mark in its environment.

    Returns what it was.
    ``since`` is in seconds after the start of the machine. What a test started with nothing of its
    environment and left to init is not known for its own.
    """
    there = _processes()
    own = _below(os.getpid(), there) if below else set()
    found = []
    for pid in sorted(pid for pid, (_, begun) in there.items() if begun >= since):
        with suppress(OSError):
            if pid == os.getpid():
                continue
            if pid in own or (mark and os.fsencode(mark) in _read(f"/proc/{pid}/environ")):
                words = _read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode(errors="replace")
                os.kill(pid, signal.SIGKILL)
                found.append(f"{pid} ({words.strip()[:300]})")
    return found


def end_below(pid: int) -> None:
    """Kills what a process has started, and all below that."""
    for one in _below(pid, _processes()):
        with suppress(OSError):
            os.kill(one, signal.SIGKILL)


def _processes() -> dict[int, tuple[int, float]]:
    """Returns the parent of each process that has not ended, and when it began."""
    found = {}
    if sys.platform.startswith("linux"):
        for name in filter(str.isdigit, os.listdir("/proc")):
            with suppress(OSError):
                fields = _read(f"/proc/{name}/stat").rpartition(b")")[2].split()
                if fields[0] != b"Z":
                    found[int(name)] = int(fields[1]), int(fields[19]) / TICKS
    return found


def _below(pid: int, there: dict[int, tuple[int, float]]) -> set[int]:
    found = {pid}
    while more := {one for one, (parent, _) in there.items() if parent in found} - found:
        found |= more
    return found - {pid}


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
