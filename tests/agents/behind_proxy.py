"""Agents behind ``takeback acp``: the command line of each, and an editor that talks to it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.pypi import with_packages

COMMANDS = {
    "copilot": ("copilot", "--acp"),
    "gemini": ("gemini", "--acp", "--model", "gemini-2.5-pro", "--approval-mode", "yolo"),
    "kilo": ("kilo", "acp"),
    "opencode": ("opencode", "acp"),
    "qwen": ("qwen", "--acp", "--auth-type", "openai", "--approval-mode", "yolo"),
}
"""How each agent is told to speak the protocol; all that takeback is connected with does."""


class Editor:
    """``acp_editor.py`` as a process; a context manager that ends as an editor does."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], packages: Path, log: Path
    ) -> None:
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("acp_editor.py")), *command],
            env=with_packages({"PATH": env["PATH"]}, packages),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        self._tell(dict(env))
        self.proxy: int = self.heard()["process"]

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, **asked: Any) -> dict[str, Any]:
        """Asks one thing and waits for the answer."""
        self._tell(asked)
        return self.heard()

    def prompt(self, session: str, text: str) -> dict[str, Any]:
        return self.ask(prompt=[session, text])

    def begin(self, session: str, text: str) -> None:
        """Sends a prompt, and does not wait for its end."""
        self._tell({"prompt": [session, text]})

    @property
    def agent(self) -> int:
        """The process of the agent behind the proxy."""
        asked = ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="]
        listed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        rows = [line.split(maxsplit=2) for line in listed.splitlines()]
        below = [(int(pid), args) for pid, parent, args in rows if int(parent) == self.proxy]
        found = [pid for pid, args in below if "--stdio" not in args]
        assert len(found) == 1, below
        return found[0]

    def _tell(self, document: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(document).encode() + b"\n")
        self._process.stdin.flush()

    def heard(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the editor has ended: {Path(self._log.name).read_text()[-2000:]}"
        found = json.loads(line)
        assert isinstance(found, dict)
        return found

    def kill(self) -> None:
        """Kills the editor, and leaves what it has started."""
        self._process.kill()
        self._process.wait(60)

    def __enter__(self) -> Editor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if error is not None:
            self._process.kill()
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()
        self._log.close()
