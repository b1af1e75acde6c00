"""takeback without the superuser's right to read everything, also when the tests run as root.

An ordinary user needs nothing: a file of mode 0000 is closed to its owner. Root opens it all
the same, so as root the process gives up the capabilities that override permission bits before
it becomes takeback. It stays uid 0, the owner of the test's files, and the bits then count.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass

import pytest

from tests.support.cli import Cli

_GIVE_UP = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    if libc.prctl(24, capability, 0, 0, 0) != 0:  # PR_CAPBSET_DROP
        sys.exit("prctl: " + os.strerror(ctypes.get_errno()))
os.execv(sys.argv[1], sys.argv[1:])
"""


@dataclass(frozen=True, slots=True)
class UnprivilegedCli(Cli):
    """takeback as a process for which permission bits count."""

    def argv(self, *args: str | bytes) -> list[str | bytes]:
        # Not super(): a slotted dataclass is a class made anew, and the short form misses it.
        return [*_prefix(), *Cli.argv(self, *args)]


def unprivileged(cli: Cli) -> UnprivilegedCli:
    """Returns the same takeback without privileges; skips the test where root keeps its own."""
    if os.geteuid() == 0:
        tried = subprocess.run(
            [*_prefix(), sys.executable, "-c", ""], capture_output=True, check=False
        )
        if tried.returncode != 0:
            last = tried.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            pytest.skip(f"root cannot give up its capabilities here: {last}")
    return UnprivilegedCli(cli.directory, cli.env, cli.timeout, cli.agent)


def _prefix() -> list[str | bytes]:
    return [sys.executable, "-c", _GIVE_UP] if os.geteuid() == 0 else []
