"""The surroundings of a campaign: months that pass in minutes, and the processes it leaves behind.

Whatever asks for the time, also the sweeps that run in processes of their own, is told the time of
the campaign. Nothing else of takeback is replaced: its processes are started by the same call, with
an interpreter that knows the time.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from takeback.context import SystemClock

_INTERPRETER = """#!{python} -I
import sys
sys.path.insert(0, {source!r})
from takeback.context import SystemClock
with open({clock!r}) as file:
    now = float(file.read())
SystemClock.now = lambda self: now
at = sys.argv.index("-c")
program, sys.argv = sys.argv[at + 1], ["-c", *sys.argv[at + 2:]]
exec(compile(program, "-c", "exec"))
"""


class Clock:
    """The time of a campaign."""

    def __init__(self, place: Path, time: float) -> None:
        self._place = place
        self.time = time
        self.pass_by(0.0)

    def pass_by(self, seconds: float) -> None:
        """Lets time pass, for this process and for those that are started from now on."""
        self.time += seconds
        new = self._place.with_suffix(".new")
        new.write_text(repr(self.time))
        new.rename(self._place)


@contextmanager
def passing_time(base: Path, begin: float) -> Iterator[Clock]:
    """Yields the clock that everybody looks at meanwhile."""
    clock = Clock(base / "clock", begin)
    source = Path(sys.modules["takeback"].__file__ or "").parents[1]
    interpreter = base / "python"
    interpreter.write_text(
        _INTERPRETER.format(python=sys.executable, source=str(source), clock=str(base / "clock"))
    )
    interpreter.chmod(0o755)
    real, executable = SystemClock.now, sys.executable
    SystemClock.now = lambda self: clock.time  # type: ignore[method-assign]
    sys.executable = str(interpreter)
    try:
        yield clock
    finally:
        SystemClock.now = real  # type: ignore[method-assign]
        sys.executable = executable


class Background:
    """The processes that a campaign has started and that outlive what started them."""

    def __init__(self, base: Path) -> None:
        self._interpreter = os.fsencode(base / "python")
        self._strange = set(_ended_children())

    def running(self) -> list[int]:
        """Returns those that run, also if they were started by a process that is gone.

        A child that was just started has no words for a moment, a long one on a busy machine.
        """
        found = []
        for about in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = about.read_bytes().split(b"\0")
                begins = words == [b""] and _state_of_child(about.parent) not in ("", "Z")
            except OSError:
                continue
            if begins or self._interpreter in words:
                found.append(int(about.parent.name))
        return found

    def ended(self) -> int:
        """Returns how many have ended and are still in the table of processes."""
        return len(set(_ended_children()) - self._strange)

    def until_rest(self, limit: float = 300.0) -> None:
        """Waits until none runs."""
        end = time.monotonic() + limit
        while self.running():
            assert time.monotonic() < end, "what runs in the background does not end"
            time.sleep(0.05)

    def kill(self) -> int:
        """Kills all of them; returns how many that were."""
        found = self.running()
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return len(found)


def _ended_children() -> list[int]:
    found = []
    for about in Path("/proc").glob("[0-9]*"):
        try:
            if _state_of_child(about) == "Z":
                found.append(int(about.name))
        except OSError:
            continue
    return found


def _state_of_child(about: Path) -> str:
    """Returns the state of a process, empty if it is no child of this one."""
    state, parent = (about / "stat").read_text().rpartition(")")[2].split()[:2]
    return state if int(parent) == os.getpid() else ""


def memory() -> int:
    """Returns how much memory this process has for itself; parts of files that are mapped are not.

    What was freed and not given back to the system is in it.
    """
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("Anonymous:")]
    return int(line.split()[1]) * 1024


def open_descriptors() -> int:
    """Returns how many descriptors this process has open."""
    return len(os.listdir("/proc/self/fd")) - 1


def bytes_on_disk(place: str) -> int:
    """Returns what a directory takes of its disk."""
    total = 0
    for base, _, names in os.walk(place):
        for name in names:
            try:
                total += os.lstat(os.path.join(base, name)).st_blocks * 512
            except FileNotFoundError:  # combined with others just now
                continue
    return total
