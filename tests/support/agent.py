"""The processes of agents: what is below one are its hooks, and what its model runs.

    the test ── warm ── takeback             what a person types
                  └── agent ── hook          what the agent itself tells
                        └── shell ── ...     what its model runs, in a tool

All hooks of a test process come from one agent if no other is named. A test that is about two
agents, or about one that dies, or about what a model does, begins those itself.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

from takeback.events import Speaker
from tests.support.warm import Starter, Words, begun, warm


class AgentProcess(Starter):
    """A process that calls hooks, as an agent does, and that lets its model run programs."""

    @cached_property
    def hook(self) -> Starter:
        """A hook of its that stays: what ``hear`` is told through, in the test's own process."""
        return Starter(self)

    def close(self) -> None:
        if "hook" in vars(self):
            with suppress(ChildProcessError):  # if this was killed, nobody says how its hook ended
                self.hook.close()
        super().close()

    def tool(self, words: Words, **how: Any) -> subprocess.CompletedProcess[bytes]:
        """Runs a program as its model does; takes what ``run`` takes."""
        return self.run(in_tool(words), **how)


def in_tool(words: Words) -> list[str]:
    """Returns the command line that an agent has for one of its model's: a shell does more."""
    return ["sh", "-c", f"{shlex.join(map(os.fsdecode, words))}; exit $?"]


@contextmanager
def agent() -> Iterator[AgentProcess]:
    """Begins an agent that ends with the block, or before, if it is killed."""
    began = AgentProcess(warm())
    try:
        yield began
    finally:
        began.close()


def speaker(agent: str = "generic", *, beside: bool = False) -> Speaker:
    """Speaks as a hook of the usual agent does, in the test's own process."""
    return Speaker(agent, "a test", process=usual_agent().hook.pid, beside=beside)


_usual: list[AgentProcess] = []
_one_at_a_time = threading.Lock()


def usual_agent() -> AgentProcess:
    """Returns the agent of this test process, begun on first use, and if it has ended."""
    with _one_at_a_time:
        return begun(_usual, lambda: AgentProcess(warm()))
