"""The ways to capture that are compared: each is prepared once and then runs once per round."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from array import array
from itertools import accumulate
from pathlib import Path
from typing import Protocol


class Contestant(Protocol):
    name: str

    def prepare(self) -> None:
        """Makes the first snapshot, which is not measured here."""

    def run(self) -> float:
        """Captures the present state; returns milliseconds of wall time."""


def timed(arguments: list[str], place: Path, environ: dict[str, str]) -> float:
    """Runs a command to its end; returns milliseconds of wall time."""
    start = time.perf_counter()
    subprocess.run(arguments, cwd=place, env=environ, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1000


def source_directory() -> Path:
    import takeback

    return Path(takeback.__file__).parents[1]


class _GitContestant:
    """Captures with git's own commands into an object store of its own."""

    name = ""

    def __init__(self, place: Path, scratch: Path) -> None:
        self._place = place
        self._git_dir = scratch / f"{self.name.split()[0]}.git"
        self._environ = {
            **os.environ,
            "GIT_DIR": str(self._git_dir),
            "GIT_WORK_TREE": str(place),
            "GIT_INDEX_FILE": str(scratch / f"{self.name.split()[0]}.index"),
        }

    def prepare(self) -> None:
        subprocess.run(
            ["git", "init", "-q", "--bare", str(self._git_dir)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        self.run()

    def run(self) -> float:
        raise NotImplementedError

    def _add(self) -> float:
        spent = timed(["git", "-c", "gc.auto=0", "add", "-A"], self._place, self._environ)
        return spent + timed(["git", "write-tree"], self._place, self._environ)


class EmptyIndex(_GitContestant):
    """``git add -A`` into an empty index each time, as pi-rewind does."""

    name = "empty-index git add"

    def run(self) -> float:
        index = Path(self._environ["GIT_INDEX_FILE"])
        index.unlink(missing_ok=True)
        return self._add()


class ShadowIndex(_GitContestant):
    """``git add -A`` into an index that is kept, as opencode does."""

    name = "shadow-index git add"

    def run(self) -> float:
        return self._add()


class RawWalk:
    """``find`` with one lstat per file: what merely looking costs in C, with one thread."""

    name = "raw lstat walk (find)"

    def __init__(self, place: Path) -> None:
        self._place = place

    def prepare(self) -> None:
        self.run()

    def run(self) -> float:
        prune = ["(", "-name", ".git", "-o", "-name", "node_modules", ")", "-prune"]
        arguments = ["find", ".", *prune, "-o", "-size", "+900G", "-print"]
        return timed(arguments, self._place, dict(os.environ))


class WalkInC:
    """One lstat of each tracked path and its directories, in C, in threads, and nothing else."""

    name = "lstat of all paths in C, threads"

    def __init__(self, place: Path, scratch: Path) -> None:
        self._place = place
        self._scratch = scratch

    def prepare(self) -> None:
        library = self._scratch / "walk.so"
        source = Path(__file__).with_name("walk.c")
        flags = ["-O2", "-shared", "-fPIC", "-pthread"]
        subprocess.run(["cc", *flags, "-o", str(library), str(source)], check=True)
        self._walk = ctypes.CDLL(str(library)).walk
        self._walk.restype = ctypes.c_size_t

    def run(self) -> float:
        paths = [b"."]
        top = os.fsencode(self._place)
        for folder, folders, files in os.walk(top):
            folders[:] = [name for name in folders if name not in (b".git", b"node_modules")]
            below = os.path.relpath(folder, top)
            paths += [os.path.join(below, name) for name in (*folders, *files)]
        places = [0, *accumulate(len(path) + 1 for path in paths)]
        offsets = array("Q", places).tobytes()
        joined = b"\0".join(paths) + b"\0"
        root = os.open(self._place, os.O_RDONLY)
        try:
            start = time.perf_counter()
            there = self._walk(root, _threads(), ctypes.c_size_t(len(paths)), joined, offsets)
            took = (time.perf_counter() - start) * 1000
        finally:
            os.close(root)
        assert there == len(paths)
        return took


def _threads() -> int:
    return len(os.sched_getaffinity(0))


class WholeProcess:
    """takeback as a fresh process: interpreter, imports, capture, checkpoint, flushed."""

    name = "takeback, whole process"

    def __init__(self, place: Path, home: Path) -> None:
        self._place = place
        self._environ = {**os.environ, "TAKEBACK_HOME": str(home)}
        # As a hook is started: isolated, and without the search for site packages (4 ms).
        code = (
            f"import sys; sys.path.insert(0, {str(source_directory())!r}); "
            "from takeback import Takeback; Takeback.open('.').checkpoint(allow_large=True)"
        )
        self._arguments = [sys.executable, "-I", "-S", "-c", code]

    def prepare(self) -> None:
        self.run()

    def run(self) -> float:
        return timed(self._arguments, self._place, self._environ)


class InProcess:
    """takeback in a process that is already running."""

    name = "takeback, in process"

    def __init__(self, place: Path, home: Path) -> None:
        from takeback import Takeback

        environ = {**os.environ, "TAKEBACK_HOME": str(home)}
        self.takeback = Takeback.open(place, environ=environ)

    def prepare(self) -> None:
        self.takeback.checkpoint(allow_large=True)

    def run(self) -> float:
        start = time.perf_counter()
        self.takeback.checkpoint(allow_large=True)
        return (time.perf_counter() - start) * 1000


class BarePython:
    """The interpreter alone: the floor under every fresh process."""

    name = "bare python"

    def __init__(self, place: Path) -> None:
        self._place = place

    def prepare(self) -> None:
        self.run()

    def run(self) -> float:
        return timed([sys.executable, "-I", "-S", "-c", "pass"], self._place, dict(os.environ))
