"""A trial: one run of a command that the person gave, in a directory of takeback's own."""

from __future__ import annotations

import os
import signal
import subprocess
import time

from takeback.errors import BrokenOff, Command, Option, UsageError
from takeback.model.bisection import SKIPPED, TOO_LONG, says_anything
from takeback.ops.process_group import ELSEWHERE, Unbroken, end, kill_group
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO

    from takeback.model.bisection import Inquiry
    from takeback.ops.copies import Removal


def surroundings(environ: Mapping[str, str], moved: Removal) -> dict[str, str]:
    """Returns the environment of a command that must not know of the workspace.

    Wherever a variable names the workspace, it names the new place instead. git looks for no
    repository above that.
    """
    found = {
        name: _elsewhere(value, moved) for name, value in environ.items() if name not in ELSEWHERE
    }
    there = os.fsdecode(moved.there)
    return {**found, "PWD": there, "GIT_CEILING_DIRECTORIES": os.path.dirname(there)}


def _elsewhere(value: str, moved: Removal) -> str:
    text = moved.text(os.fsencode(value))
    return os.fsdecode(b":".join(moved.path(part) for part in text.split(b":")))


class Trial:
    """Runs the command of an inquiry, which finds itself in another place than the workspace.

    Its output goes to ``output``, or nowhere.
    """

    def __init__(
        self,
        inquiry: Inquiry,
        environ: Mapping[str, str],
        moved: Removal,
        output: IO[str] | None = None,
    ) -> None:
        words = (moved.text(os.fsencode(word)) for word in inquiry.command)
        self._command = [os.fsdecode(word) for word in words]
        self._environ = surroundings(environ, moved)
        self._timeout = inquiry.timeout
        self._output = output

    def run(self, directory: str) -> tuple[int, float]:
        """Returns its exit status and how many seconds it took.

        Its process group ends with it. Where a script of the project itself is not there (yet), the
        files cannot be judged. Raises UsageError if there is no such command at all, BrokenOff if
        its end says nothing; on Ctrl-C it is ended first.
        """
        begun = time.monotonic()
        process = None
        try:
            with Unbroken():
                process = self._started(directory)
            if process is None:
                return SKIPPED, 0.0
            status = process.wait(self._timeout)
        except subprocess.TimeoutExpired:
            assert process is not None
            status = TOO_LONG
            end(process)
        except BaseException:
            if process is not None:
                end(process)
            raise
        kill_group(process, signal.SIGKILL)  # what it left running in the background
        if not says_anything(status):
            how = f"was ended by signal {-status}" if status < 0 else f"ended with {status}"
            raise BrokenOff(
                f"{shown(self._command[0])} {how}, which says nothing about the files",
                hint=("what was found so far is kept: ", Command("bisect", "--resume")),
            )
        return status, time.monotonic() - begun

    def _started(self, directory: str) -> subprocess.Popen[bytes] | None:
        program, silent = self._command[0], subprocess.DEVNULL
        output = silent if self._output is None else self._output
        try:
            return subprocess.Popen(
                self._command,
                cwd=directory,
                env=self._environ,
                stdin=silent,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        except OSError as error:
            own = os.path.join(directory, program) if "/" in program else ""
            if own.startswith(directory) and not os.path.exists(own):
                return None
            raise UsageError(
                f"{shown(program)} cannot be run: {os.strerror(error.errno or 0)}",
                hint=(
                    "it is run on the files of a checkpoint; what those lack can be copied: ",
                    Option("--with", ".venv"),
                ),
            ) from None
