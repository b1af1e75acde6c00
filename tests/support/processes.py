"""Other processes: one that holds a lock, and waiting for what one does."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PATIENCE = 30.0
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
    """Waits for what another process does, half a minute at most."""
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in half a minute"
        time.sleep(0.02)
