"""Starts takeback without what a start costs: out of a process that has its modules in memory.

    the test ── asks ──> the warm process ── fork ──> takeback
             <── its number, how it ended ──┘

It is a process of its own, with its own streams, environment and directory; what it does not
have is a start of its own. Tests that are about that start one (``Cli.start``, ``Cli.cold``).
"""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_PIECE = 1 << 16

_WARM = """
import gc, importlib, os, pickle, pkgutil, select, socket, sys, time
import takeback
for found in pkgutil.walk_packages(takeback.__path__, "takeback."):
    if not found.name.startswith(("takeback.tui", "takeback.__main__", "takeback.integrations")):
        importlib.import_module(found.name)
from takeback.__main__ import main
gc.collect()
gc.freeze()
asked = socket.socket(fileno=int(sys.argv[1]))
ended = {}  # a process that runs: who is told how it ends
while True:
    ready, _, _ = select.select([asked, *ended], [], [])
    for one in set(ready) - {asked}:
        child, told = ended.pop(one)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        try:
            os.write(told, b"%d\\n" % status)
        except BrokenPipeError:  # nobody waits any more
            pass
        os.close(told)
        os.close(one)
    if asked not in ready:
        continue
    said, given, _, _ = socket.recv_fds(asked, 1 << 17, 4)
    if not said:
        os._exit(0)
    *streams, told = given
    child = os.fork()
    if not child:
        break
    for fd in streams:
        os.close(fd)
    os.write(told, b"%d\\n" % child)
    ended[os.pidfd_open(child)] = child, told
asked.close()
for one, (_, other) in ended.items():
    os.close(one)
    os.close(other)
os.close(told)
for number, fd in enumerate(streams):
    os.dup2(fd, number)
    os.close(fd)
words, place, environ, mask = pickle.loads(said)
os.umask(mask)
os.environ.clear()
os.environb.update(environ)
time.tzset()
os.chdir(place)
sys.argv[1:] = map(os.fsdecode, words)
sys.path[0] = os.fsdecode(place)
try:
    main()
except SystemExit as end:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(end.code or 0)  # taking the modules apart would cost as much as the command
"""


class Warm:
    """The warm process of this test process; it ends when that does."""

    def __init__(self) -> None:
        self._environ = dict(os.environb)
        self._asks, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _WARM, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd="/",
                stdin=subprocess.PIPE,  # as those of the processes that come out of it
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        self.owner = os.getpid()

    def fits(self, environ: Mapping[bytes, bytes]) -> bool:
        """Tells whether an interpreter started with these variables would be as the warm one is."""
        return _of_python(environ) == _of_python(self._environ) and self._process.poll() is None

    def run(
        self,
        words: Sequence[str | bytes],
        place: Path,
        environ: Mapping[bytes, bytes],
        stdin: bytes,
        timeout: float,
    ) -> tuple[int, bytes, bytes]:
        """Runs takeback to its end; returns its status and what it wrote."""
        mask = os.umask(0o077)
        os.umask(mask)
        words = [os.fsencode(word) for word in words]
        said = pickle.dumps((words, os.fsencode(place), dict(environ), mask))
        ends = [os.pipe() for _ in range(4)]
        theirs = [ends[0][0], *(write for _, write in ends[1:])]
        ours = [ends[0][1], *(read for read, _ in ends[1:])]
        socket.send_fds(self._asks, [said], theirs)
        for fd in theirs:
            os.close(fd)
        out, err, told = _talk(ours, stdin, time.monotonic() + timeout)
        return int(told.split()[1]), out, err


def _of_python(environ: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    return {k: v for k, v in environ.items() if k.startswith((b"PYTHON", b"LC_", b"LANG", b"LD_"))}


def _talk(ends: Sequence[int], stdin: bytes, until: float) -> tuple[bytes, bytes, bytes]:
    """Gives a process its input and hears it to its end."""
    inlet, *outlets = ends
    heard = {fd: bytearray() for fd in outlets}
    os.set_blocking(inlet, False)
    with selectors.DefaultSelector() as waiting:
        for fd in outlets:
            waiting.register(fd, selectors.EVENT_READ)
        waiting.register(inlet, selectors.EVENT_WRITE)
        while waiting.get_map():
            ready = waiting.select(until - time.monotonic())
            if not ready:
                os.kill(int(bytes(heard[outlets[2]]).split()[0]), signal.SIGKILL)
                raise TimeoutError(f"takeback did not end; it said {dict(heard)}")
            for key, _ in ready:
                if key.fd == inlet:
                    stdin = _give(inlet, stdin)
                    gone = not stdin
                else:
                    piece = os.read(key.fd, _PIECE)
                    heard[key.fd] += piece
                    gone = not piece
                if gone:
                    waiting.unregister(key.fd)
                    os.close(key.fd)
    out, err, told = (bytes(heard[fd]) for fd in outlets)
    return out, err, told


def _give(inlet: int, stdin: bytes) -> bytes:
    """Writes what there is room for; returns the rest, nothing if nobody reads."""
    try:
        return stdin[os.write(inlet, stdin) :] if stdin else b""
    except BrokenPipeError:
        return b""


_warm: list[Warm] = []
_one_at_a_time = threading.Lock()


def warm() -> Warm | None:
    """Returns the warm process, started on first use; None where there can be none."""
    if not sys.platform.startswith("linux"):
        return None
    with _one_at_a_time:
        if not _warm or _warm[0].owner != os.getpid():
            _warm[:] = [Warm()]
        return _warm[0]
