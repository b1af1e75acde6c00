"""Measures the picker as a person sees it: a process at a terminal of 120 x 40.

The first frame is the title on the screen; the first rows are those of the newest turns; it is
interactive once a key (``?``) has had its effect on the screen.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench.timelines import timeline

_WIDTH, _HEIGHT = 120, 40
_PATIENCE = 60.0
_TITLE, _ROW, _ANSWER = b"takeback", "✓ ".encode(), b"esc closes"


class Opened(NamedTuple):
    """Milliseconds from the start of the process, and the most memory it used."""

    frame: float
    rows: float
    key: float
    memory: int


def measure_picker(rounds: int, sizes: tuple[int, ...] = (10, 1_000, 10_000)) -> dict[str, Any]:
    """Opens the picker on timelines of different lengths, alternating with bare python."""
    print(f"\n## The picker, {_WIDTH} x {_HEIGHT}, whole process, {rounds} rounds\n", flush=True)
    places = {size: timeline(size) for size in sizes}
    found: dict[int, list[Opened]] = {size: [] for size in sizes}
    bare: dict[str, list[float]] = {"pass": [], "import textual.app": []}
    for _ in range(rounds + 1):  # the first fills caches, and is left out below
        for code, spent in bare.items():
            spent.append(_python(code))
        for size, (project, environ) in places.items():
            found[size].append(open_once(project, environ))
    base = {code: median(spent[1:]) for code, spent in bare.items()}
    for code, spent in bare.items():
        print(f"python -c '{code}': {_shown(spent[1:])}")
    print("\n| turns | first frame | first rows | a key answered | memory | the key : textual |")
    print("|---|---|---|---|---|---|")
    rows: dict[str, Any] = {"bare": base}
    for size, opened in found.items():
        frame, first, key, memory = (list(values) for values in zip(*opened[1:], strict=True))
        ratio = median(key) / base["import textual.app"]
        rows[str(size)] = {
            "frame": median(frame),
            "rows": median(first),
            "key": median(key),
            "memory": median(memory),
            "key_of_textual": ratio,
            "frame_of_bare": median(frame) / base["pass"],
        }
        print(
            f"| {size:,} | {_shown(frame)} | {_shown(first)} | {_shown(key)} "
            f"| {median(memory) / 1024:.0f} MB | {ratio:.1f} |",
            flush=True,
        )
    return rows


def _shown(spent: list[float]) -> str:
    return f"{median(spent):.0f} ({min(spent):.0f}) ms"


def _python(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=_environ(dict(os.environ)))
    return (time.perf_counter() - start) * 1000


def _environ(environ: dict[str, str]) -> dict[str, str]:
    """Returns an environment in which compiled modules are kept, as they usually are."""
    left_out = ("PYTHONDONTWRITEBYTECODE", "NO_COLOR")
    kept = {name: value for name, value in environ.items() if name not in left_out}
    return {**kept, "TERM": "xterm-256color", "COLORTERM": "truecolor"}


def open_once(project: Path, environ: dict[str, str]) -> Opened:
    """Opens the picker, presses a key, and closes it."""
    start = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(project)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", _HEIGHT, _WIDTH, 0, 0))
        os.execve(sys.executable, [sys.executable, "-I", "-m", "takeback"], _environ(environ))
    screen = _Screen(terminal, start)
    try:
        frame = screen.until(_TITLE)
        rows = screen.until(_ROW)
        os.write(terminal, b"?")
        key = screen.until(_ANSWER)
        memory = _peak_memory(pid)
        os.write(terminal, b"?")
        time.sleep(0.1)
        os.write(terminal, b"q")
        screen.until_closed()
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
    return Opened(frame, rows, key, memory)


class _Screen:
    """What a process writes to its terminal, and when."""

    def __init__(self, terminal: int, start: float) -> None:
        self._terminal = terminal
        self._start = start
        self._seen = b""

    def until(self, text: bytes) -> float:
        """Waits for a text; returns the milliseconds since the start."""
        while text not in self._seen:
            data = self._read()
            if not data:
                raise RuntimeError(f"it ended without {text!r}: {self._seen[-2000:]!r}")
            self._seen += data
        self._seen = self._seen[self._seen.index(text) + len(text) :]
        return (time.perf_counter() - self._start) * 1000

    def until_closed(self) -> None:
        while self._read():
            pass

    def _read(self) -> bytes:
        if not select.select([self._terminal], [], [], _PATIENCE)[0]:
            raise RuntimeError(f"nothing for {_PATIENCE} s: {self._seen[-2000:]!r}")
        try:
            return os.read(self._terminal, 1 << 16)
        except OSError:  # Linux says EIO when the other side is closed
            return b""


def _peak_memory(pid: int) -> int:
    """Returns the most memory that a process has used, in KB; 0 if unknown."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)
