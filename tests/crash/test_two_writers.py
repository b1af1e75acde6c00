"""Two processes at one workspace: both are served, one after the other, and no lock goes stale."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from takeback.errors import Locked
from takeback.model.policy import Overrides
from tests.crash import world as worlds
from tests.crash.world import World, prepare
from tests.support.faults import Faults, Ran, run

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
ROUNDS = 25


def at_once(*actions: Callable[[], Any]) -> list[Ran]:
    """Runs each action in a process of its own, all at the same time."""
    gate_read, gate_write = os.pipe()
    answers: list[Ran] = []

    def start(rest: tuple[Callable[[], Any], ...]) -> None:
        if not rest:
            os.close(gate_read)
            os.close(gate_write)  # all of them are waiting at its other end
            return
        started = run(rest[0])
        answers.append(started)

    del start
    children = []
    for action in actions:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(gate_write)
            os.close(read)
            os.read(gate_read, 1)
            ran = run(action)
            os.write(write, repr(tuple(ran)).encode())
            os._exit(0)
        os.close(write)
        children.append((pid, read))
    os.close(gate_read)
    os.close(gate_write)
    for pid, read in children:
        with os.fdopen(read, "rb") as pipe:
            answers.append(Ran(*eval(pipe.read())))
        os.waitpid(pid, 0)
    return answers
