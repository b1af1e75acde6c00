"""Starts takeback without what a start costs: out of a process that has its modules in memory.

It is a process of its own, with its own streams, environment and directory; what it does not
have is a start of its own. Tests that are about that start one (``Cli.start``, ``Cli.cold``).
What runs in the process that others come out of is ``starter.py``.
"""

from __future__ import annotations

import os
import pickle
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, TypeVar

from tests.support import starter
from tests.support.processes import PATIENCE, end_below

_PIECE = 1 << 16
_TEXT = Path(starter.__file__).read_text()

One = TypeVar("One", bound="Starter")
Words = Sequence[str | bytes | os.PathLike[str]]


class Child:
    """What a Starter has started: what tests need of ``subprocess.Popen``, for no child of ours.

    Streams that nobody was given are pipes. As a context manager it ends what still runs then.
    """

    def __init__(self, words: Words, ours: Sequence[int], told: int) -> None:
        self.args = words
        inlet, outlet, errors = ours
        self.stdin: IO[bytes] | None = os.fdopen(inlet, "wb")
        self.stdout: IO[bytes] = os.fdopen(outlet, "rb")
        self.stderr: IO[bytes] = os.fdopen(errors, "rb")
        self.returncode: int | None = None
        self._told = told
        self.pid = self._number(PATIENCE)

    def _number(self, patience: float) -> int:
        """Returns the next that is told of it: its number, then how it has ended."""
        if not select.select([self._told], [], [], patience)[0]:
            raise subprocess.TimeoutExpired([os.fspath(word) for word in self.args], patience)
        line = b""
        while not line.endswith(b"\n"):
            piece = os.read(self._told, 1)
            if not piece:
                raise ChildProcessError("who has started it has ended, and nobody can say")
            line += piece
        return int(line)

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float = PATIENCE) -> int:
        if self.returncode is None:
            self.returncode = self._number(timeout)
        return self.returncode

    def communicate(self, stdin: bytes = b"", timeout: float = PATIENCE) -> tuple[bytes, bytes]:
        """Gives it its input, and returns what it wrote when it has ended."""
        until = time.monotonic() + timeout
        heard = {one.fileno(): bytearray() for one in (self.stdout, self.stderr)}
        with selectors.DefaultSelector() as waiting:
            for fd in heard:
                waiting.register(fd, selectors.EVENT_READ)
            if self.stdin is not None and not self.stdin.closed:
                os.set_blocking(self.stdin.fileno(), False)
                waiting.register(self.stdin.fileno(), selectors.EVENT_WRITE)
            while waiting.get_map():
                ready = waiting.select(max(0, until - time.monotonic()))
                if not ready:
                    said = map(bytes, heard.values())
                    words = [os.fspath(word) for word in self.args]
                    raise subprocess.TimeoutExpired(words, timeout, *said)
                for key, _ in ready:
                    if key.fd in heard:
                        piece = os.read(key.fd, _PIECE)
                        heard[key.fd] += piece
                        gone = not piece
                    else:
                        stdin = _give(key.fd, stdin)
                        gone = not stdin
                    if gone:
                        waiting.unregister(key.fd)
                    if gone and key.fd not in heard:
                        self._close_stdin()
        self.wait(max(0, until - time.monotonic()))
        out, err = map(bytes, heard.values())
        return out, err

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Lets go of its streams."""
        self._close_stdin()
        self.stdout.close()
        self.stderr.close()
        if self._told >= 0:
            os.close(self._told)
            self._told = -1

    def _close_stdin(self) -> None:
        if self.stdin is not None:
            try:
                self.stdin.close()
            except BrokenPipeError:
                return

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self.poll() is None:
                end_below(self.pid)
                self.kill()
                self.wait(PATIENCE)
        finally:
            self.close()


def _give(inlet: int, stdin: bytes) -> bytes:
    """Writes what there is room for; returns the rest, nothing if nobody reads."""
    try:
        return stdin[os.write(inlet, stdin) :] if stdin else b""
    except BrokenPipeError:
        return b""


class Starter:
    """A process that others come out of; it ends when this object's end of its socket is closed.

    ``warm`` says that it has the modules of takeback in memory.
    """

    def __init__(self, out_of: Starter | None = None) -> None:
        self.owner = os.getpid()
        self._one_at_a_time = threading.Lock()
        self._asks, theirs = socket.socketpair()
        with theirs:
            if out_of is None:
                self._environ = _plain()
                self.warm = sys.platform.startswith("linux")
                self._process: subprocess.Popen[bytes] | Child = subprocess.Popen(
                    [sys.executable, "-I", "-c", _TEXT, str(theirs.fileno()), "warm" * self.warm],
                    pass_fds=[theirs.fileno()],
                    cwd="/",
                    env=self._environ,
                    stdin=subprocess.PIPE,  # as those of the processes that come out of it
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )
            else:
                self._environ, self.warm = out_of._environ, out_of.warm
                self._process = out_of.start((), be="starter", pass_fds=[theirs.fileno()])
        self.pid = self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        """Ends it as nothing can be caught; what has come out of it goes on."""
        self._process.kill()
        self._process.wait(PATIENCE)

    def close(self) -> None:
        """Ends it, and waits until it has ended."""
        self._asks.close()
        with self._process:
            self._process.wait(PATIENCE)

    def fits(self, environ: Mapping[str, str]) -> bool:
        """Tells whether an interpreter started with these variables would be as this one is."""
        return self.warm and _of_python(environ) == _of_python(self._environ)

    def start(
        self,
        words: Words,
        *,
        cwd: Path = Path("/"),
        env: Mapping[str, str] | None = None,
        be: str = "program",
        pass_fds: Sequence[int] = (),
    ) -> Child:
        """Starts a program with pipes as its streams; or "takeback" or a "starter" out of memory.

        A starter's last descriptor is its socket.
        """
        mask = os.umask(0o077)
        os.umask(mask)
        environ = os.environ if env is None else env
        request = {
            "be": be,
            "words": [os.fsencode(word) for word in words],
            "cwd": os.fsencode(cwd),
            "environ": {os.fsencode(k): os.fsencode(v) for k, v in environ.items()},
            "umask": mask,
            "numbers": [0, 1, 2, *(range(3, 4) if be == "starter" else pass_fds)],
        }
        said = pickle.dumps(request)
        told, tells = os.pipe()
        streams = [os.pipe() for _ in range(3)]
        theirs = [streams[0][0], *(write for _, write in streams[1:])]
        ours = [streams[0][1], *(read for read, _ in streams[1:])]
        with self._one_at_a_time:
            length = len(said).to_bytes(starter.LENGTH)
            socket.send_fds(self._asks, [length], [tells, *theirs, *pass_fds])
            self._asks.sendall(said)
        for fd in (tells, *theirs):
            os.close(fd)
        return Child(words, ours, told)

    def run(
        self,
        words: Words,
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        input: bytes = b"",
        timeout: float = PATIENCE,
        check: bool = False,
        be: str = "program",
        pass_fds: Sequence[int] = (),
    ) -> subprocess.CompletedProcess[bytes]:
        """Runs what ``start`` starts to its end, as ``subprocess.run`` does."""
        with self.start(words, cwd=cwd, env=env, be=be, pass_fds=pass_fds) as child:
            out, err = child.communicate(input, timeout=timeout)
            done = subprocess.CompletedProcess([*words], child.wait(PATIENCE), out, err)
        if check:
            done.check_returncode()
        return done


def _of_python(environ: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in environ.items() if k.startswith(("PYTHON", "LC_", "LANG", "LD_"))}


def _plain() -> dict[str, str]:
    """Returns this environment without what a test has put there, or who started the tests.

    It is seen above everything that comes out of the process: it must name no agent.
    """
    places = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**places, **_of_python(os.environ)}


_warm: list[Starter] = []
_one_at_a_time = threading.Lock()


def begun(found: list[One], begin: Callable[[], One]) -> One:
    """Returns what was found if it still is this process's, and begins another one if not."""
    if found and found[0].owner == os.getpid() and found[0].has_ended:
        found.pop().close()
    if not found or found[0].owner != os.getpid():
        found[:] = [begin()]
    return found[0]


def warm() -> Starter | None:
    """Returns what commands come out of, started on first use; None where there can be none."""
    if not sys.platform.startswith("linux"):
        return None
    with _one_at_a_time:
        return begun(_warm, Starter)
