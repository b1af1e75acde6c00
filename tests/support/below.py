"""takeback as an agent calls it: below a process of the agent's own."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from tests.support.cli import Cli

AGENT = (sys.executable, "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))")
"""A program that starts another one and waits for it, and is known for nothing else."""


@dataclass(frozen=True, slots=True)
class BelowAgent(Cli):
    """``env`` is what the agent was started with, ``settings`` what a project's settings set."""

    settings: tuple[str, ...] = ()

    def argv(self, *args: str | bytes) -> list[str | bytes]:
        return [*AGENT, "env", *self.settings, *Cli.argv(self, *args)]
