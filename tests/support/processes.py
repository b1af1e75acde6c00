"""Other processes: one that holds a lock, and waiting for what one does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_PATIENCE = 60.0
_HOLD = """
import sys
from takeback.store.lock import Lock
Lock(sys.argv[1]).acquire("somebody else", wait=0)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def lock_holder(path: str) -> Iterator[subprocess.Popen[str]]:
    """Runs a process that holds a lock until its stdin ends or it is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        try:
            yield holder
        finally:
            holder.kill()


def wait_for(condition: Callable[[], object]) -> None:
    """Waits for what another process does, a minute at most."""
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in a minute"
        time.sleep(0.02)


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
