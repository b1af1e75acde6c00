"""Starts work that outlives the command: combining packs, a long first capture, a sweep."""

from __future__ import annotations

import os
import sys

from takeback import handover
from takeback.store import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.store.store import Store

_PROGRAM = """
import os, sys
os.closerange(3, 1 << 16)
sys.path.insert(0, sys.argv[1])
os.chdir(sys.argv[3])
from importlib import import_module
getattr(import_module(sys.argv[4]), sys.argv[2])(sys.argv[3])
"""
_KEPT = tuple(map(os.fsdecode, handover.PLACES))
_running: list[int] = []
"""What this process has started: its children, whoever asked for them."""


def start(store: Store, module: str, function: str = "main") -> None:
    """Calls a function of a module with the store's directory; a failure goes to its log."""
    try:
        spawn(module, store.directory, function)
    except OSError as error:
        log.append(store, f"{module} could not be started: {error}")


def spawn(module: str, directory: str, function: str = "main") -> None:
    """Calls a function of a module with and in a directory, in a process that inherits nothing.

    No descriptor, no blocked or ignored signal, and only the variables that say where things are.
    """
    from takeback.c_modules import signal  # not needed at every hook

    _wait_for_ended()
    here = _package_directory()
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    environ = {key: os.environ[key] for key in _KEPT if key in os.environ}
    try:
        started = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-c", _PROGRAM, here, function, directory, module],
            environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, null, 0),
                (os.POSIX_SPAWN_DUP2, null, 1),
                (os.POSIX_SPAWN_DUP2, null, 2),
            ],
            setsid=True,
            setsigmask=(),
            setsigdef=[n for n in range(1, 32) if n not in (signal.SIGKILL, signal.SIGSTOP)],
        )
    finally:
        os.close(null)
    _running.append(started)


def is_ours(words: Sequence[bytes]) -> bool:
    """Tells from the words that a process was started with whether this started it."""
    return words[1:4] == [b"-I", b"-c", _PROGRAM.encode()]


def _wait_for_ended() -> None:
    """Frees the entries that ended children keep in the system's table of processes.

    A hook ends before they do, but a program that stays starts thousands of them.
    """
    for process in list(_running):
        try:
            if os.waitpid(process, os.WNOHANG) == (0, 0):
                continue
        except ChildProcessError:  # somebody waited for it, or it was the parent's before a fork
            pass
        _running.remove(process)


def _package_directory() -> str:
    """Returns where this takeback was imported from; -I looks neither there nor in the cwd."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
