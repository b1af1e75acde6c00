"""A process that others come out of: takeback with its modules in memory, or any program.

    who asks ── what is to run, its descriptors ──> this process ── fork ──> takeback, a program,
            <── its number, how it ended ─────────────────┘                  or one such as this

It is started with its own text (``warm.py``) and ends when nobody can ask any more. What comes out
of it is a process of its own, with streams, an environment and a directory of its own.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import os
import pickle
import pkgutil
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from typing import Any

LENGTH = 4
"""So many bytes say how long a request is."""
_DESCRIPTORS = 64


def load() -> None:
    """Imports what commands and hooks of takeback are made of."""
    import takeback

    for found in pkgutil.walk_packages(takeback.__path__, "takeback."):
        if not found.name.startswith(
            ("takeback.tui", "takeback.__main__", "takeback.integrations")
        ):
            importlib.import_module(found.name)
    importlib.import_module("takeback.__main__")
    gc.collect()
    gc.freeze()


def request(asked: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Returns what is to run, and its descriptors; ends this process if nobody asks any more."""
    head, given, _, _ = socket.recv_fds(asked, LENGTH, _DESCRIPTORS)
    if not head:
        os._exit(0)
    length, said = int.from_bytes(head), bytearray()
    while len(said) < length:
        piece = asked.recv(length - len(said))
        if not piece:
            os._exit(0)
        said += piece
    return pickle.loads(said), given


def children(asked: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Starts what is asked for and tells how each ends; returns in each child what it is to be."""
    woken, wakes = os.pipe()
    for fd in (woken, wakes):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    running: dict[int, int] = {}  # who is told how it ends
    while True:
        ready, _, _ = select.select([asked.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 1 << 10)
            for child in list(running):
                gone, status = os.waitpid(child, os.WNOHANG)
                if gone:
                    tell(running[child], os.waitstatus_to_exitcode(status))
                    os.close(running.pop(child))
        if asked.fileno() not in ready:
            continue
        said, (told, *given) = request(asked)
        child = os.fork()
        if not child:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for fd in (woken, wakes, told, *running.values()):
                os.close(fd)
            asked.close()
            return said, given
        for fd in given:
            os.close(fd)
        running[child] = told
        tell(told, child)


def tell(told: int, number: int) -> None:
    try:
        os.write(told, b"%d\n" % number)
    except BrokenPipeError:  # nobody waits any more
        return


def take(given: Sequence[int], numbers: Sequence[int]) -> None:
    """Gives descriptors the numbers that they are to have."""
    held = [fcntl.fcntl(fd, fcntl.F_DUPFD, max(numbers) + 1) for fd in given]
    for fd in given:
        os.close(fd)
    for fd, number in zip(held, numbers, strict=True):
        os.dup2(fd, number)
        os.close(fd)


def be_program(words: list[bytes], environ: dict[bytes, bytes]) -> None:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # as subprocess does
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(words[0], words, environ)
    except OSError as error:
        os.write(2, f"{words[0]!r}: {error}\n".encode())
        os._exit(127)


def be_takeback(words: list[bytes], environ: dict[bytes, bytes]) -> None:
    from takeback.__main__ import main as takeback

    os.environ.clear()
    os.environb.update(environ)
    time.tzset()
    sys.argv[1:] = map(os.fsdecode, words)
    try:
        takeback()
    except SystemExit as end:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(end.code or 0))  # taking the modules apart would cost as much as the command


def main() -> None:
    asked = socket.socket(fileno=int(sys.argv[1]))
    if sys.argv[2] == "warm":
        load()
    said, given = children(asked)
    take(given, said["numbers"])
    while said["be"] == "starter":
        said, given = children(socket.socket(fileno=said["numbers"][-1]))
        take(given, said["numbers"])
    os.umask(said["umask"])
    os.chdir(said["cwd"])
    (be_takeback if said["be"] == "takeback" else be_program)(said["words"], said["environ"])


if __name__ == "__main__":
    main()
