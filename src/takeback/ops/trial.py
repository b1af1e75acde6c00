"""A trial: one run of a command that the person gave, in a directory of takeback's own."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time

from takeback.errors import BrokenOff, Command, Option, UsageError
from takeback.model.bisection import SKIPPED, TOO_LONG, says_anything
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO, Any

    from takeback.model.bisection import Inquiry
    from takeback.ops.copies import Removal

_PATIENCE = 3.0
"""Seconds that a command has to end by itself after it was told to."""
_PUT_OFF = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ELSEWHERE = frozenset(("OLDPWD", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"))
"""Variables that only say where somebody was: they are left out."""


def surroundings(environ: Mapping[str, str], moved: Removal) -> dict[str, str]:
    """Returns the environment of a command that must not know of the workspace.

    Wherever a variable names the workspace, it names the new place instead. git looks for no
    repository above that.
    """
    found = {
        name: _elsewhere(value, moved) for name, value in environ.items() if name not in _ELSEWHERE
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
            with _Unbroken():
                process = self._started(directory)
            if process is None:
                return SKIPPED, 0.0
            status = process.wait(self._timeout)
        except subprocess.TimeoutExpired:
            assert process is not None
            status = TOO_LONG
            _end(process)
        except BaseException:
            if process is not None:
                _end(process)
            raise
        _kill_group(process, signal.SIGKILL)  # what it left running in the background
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


class _Unbroken:
    """Puts off what ends this process until a command is started, and can be ended with it.

    They are not blocked: the command would inherit that.
    """

    def __enter__(self) -> None:
        self._came: list[int] = []
        self._before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():  # only there they are heard
            self._before = {one: signal.signal(one, self._note) for one in _PUT_OFF}

    def __exit__(self, *exc: object) -> None:
        for one, before in self._before.items():
            signal.signal(one, before)
        for one in self._came:
            signal.raise_signal(one)

    def _note(self, number: int, frame: object) -> None:
        self._came.append(number)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a command with all that it started, by force if it does not end by itself."""
    _kill_group(process, signal.SIGTERM)
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        pass
    _kill_group(process, signal.SIGKILL)
    process.wait()


def _kill_group(process: subprocess.Popen[bytes], number: int) -> None:
    """Sends a signal to the group that the command leads; it may be gone."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return
