"""Has opencode, or a fork of it, import a session that was made here.

opencode keeps its sessions in a database of its own, so ``opencode import`` turns a file into one.
It is run by its absolute path, never from a workspace, with only the variables that say where its
database is; and it is told to load neither the project's configuration nor plugins, for those are
the project's code.
"""

from __future__ import annotations

import os
import signal
import subprocess

from takeback import programs
from takeback.adapters import fields
from takeback.errors import FILES_ALONE, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from takeback.programs import IsWorkspace

MARK = "takeback"
"""A mark in the id of every session that was made here."""
_SECONDS = 120
_PASSED_ON = ("HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "TZ")
_PREFIXES = ("LC_", "XDG_")
_SEALED = ("DISABLE_PROJECT_CONFIG", "PURE")


class OpencodeImporter:
    """Hands a session's file to an agent; ``program`` is its name, in its variables too."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._prefix = f"{program.upper()}_"

    def parcel(self, native: str) -> str | None:
        """Returns the name of the file in which a session waits; None for the agent's own."""
        own = fields.is_prefixed(native, "ses_") and MARK in native
        return f"{native}.json" if own else None

    def check(self, environ: Mapping[str, str], is_workspace: IsWorkspace) -> None:
        """Raises Refused if there is no agent that could import it."""
        self._found(environ, is_workspace)

    def take_in(
        self, path: str, directory: str, environ: Mapping[str, str], is_workspace: IsWorkspace
    ) -> None:
        """Imports a file; raises Refused if the agent did not take it."""
        argv = [self._found(environ, is_workspace), "import", path]
        kept = {name: value for name, value in environ.items() if self._is_passed_on(name)}
        sealed = {f"{self._prefix}{name}": "1" for name in _SEALED}
        path_of_programs = programs.trusted_path(environ, is_workspace)
        try:
            status, last = _run(argv, directory, {**kept, **sealed, "PATH": path_of_programs})
        except OSError as error:
            raise self._not_taken(error.strerror or str(error)) from error
        except subprocess.TimeoutExpired:
            raise self._not_taken(f"it took longer than {_SECONDS} seconds") from None
        if status != 0:
            said = f"{self._program} import ended with {status}{last and ': '}{last}"
            raise self._not_taken(said)

    def _is_passed_on(self, name: str) -> bool:
        if name.startswith(f"{self._prefix}CONFIG"):  # it may be the project's
            return False
        return name in _PASSED_ON or name.startswith((*_PREFIXES, self._prefix))

    def _found(self, environ: Mapping[str, str], is_workspace: IsWorkspace) -> str:
        found = programs.find(self._program, environ, is_workspace=is_workspace)
        if found.program is None:
            reason = found.passed_over or "it is not in PATH"
            raise Refused(
                f"there is no {self._program} to take the conversation in: {reason}",
                hint=("install it, or take back the files alone: ", FILES_ALONE),
            )
        return found.program

    def _not_taken(self, reason: str) -> Refused:
        return Refused(
            f"{self._program} did not take the conversation in: {reason}; it is kept",
            hint="try again: run the same rewind",
        )


def _run(argv: list[str], directory: str, environ: Mapping[str, str]) -> tuple[int, str]:
    """Runs a program to its end; returns its status and the last line of its complaint."""
    with subprocess.Popen(
        argv,
        cwd=directory,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # so that it can be ended with its children
    ) as process:
        try:
            _, said = process.communicate(timeout=_SECONDS)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    lines = said.decode(errors="replace").strip().splitlines()
    return process.returncode, lines[-1] if lines else ""
