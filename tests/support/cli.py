"""Runs takeback as a person or a script does: a process with arguments, stdin and exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from takeback.errors import NotAWorkspace
from tests.support.processes import Started
from tests.support.warm import warm


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call of takeback gave back."""

    argv: tuple[str | bytes, ...]
    status: int
    stdout_bytes: bytes
    stderr_bytes: bytes

    @property
    def stdout(self) -> str:
        return self.stdout_bytes.decode("utf-8", "surrogateescape")

    @property
    def stderr(self) -> str:
        return self.stderr_bytes.decode("utf-8", "surrogateescape")

    @property
    def json(self) -> dict[str, Any]:
        """The one document on stdout."""
        documents = self.json_lines
        assert len(documents) == 1, f"{len(documents)} documents on stdout\n{self}"
        return documents[0]

    @property
    def json_lines(self) -> list[dict[str, Any]]:
        """The documents on stdout: JSON lines, or one document over several lines."""
        return _documents(self.stdout)

    @property
    def error(self) -> dict[str, Any]:
        """The JSON error, which is the last line on stderr."""
        lines = self.stderr.splitlines()
        assert lines, f"nothing on stderr\n{self}"
        [document] = _documents(lines[-1])
        return document

    def __str__(self) -> str:
        return (
            f"takeback {self.argv!r} ended with {self.status}\n"
            f"--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"
        )


@dataclass(frozen=True, slots=True)
class Cli:
    """takeback in one directory, with the test's environment plus ``env``."""

    directory: Path
    env: Mapping[str, str] | None = None
    timeout: float = 60

    def run(
        self,
        *args: str | bytes,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Answer:
        """Runs ``takeback *args`` without a terminal and returns its answer, whatever it is."""
        environ = {os.fsencode(k): os.fsencode(v) for k, v in self.environment(env).items()}
        # Who is started in another way (with other rights, under limits) must be started.
        started = warm() if type(self).argv is Cli.argv else None
        if started is None or not started.fits(environ):
            return self.cold(*args, stdin=stdin, env=env)
        ended = started.run(args, self.directory, environ, stdin, self.timeout)
        return Answer(args, *ended)

    def cold(
        self,
        *args: str | bytes,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Answer:
        """Runs as ``run`` does, in an interpreter that is started for it."""
        done = subprocess.run(
            self.argv(*args),
            cwd=self.directory,
            env=self.environment(env),
            input=stdin,
            capture_output=True,
            timeout=self.timeout,
            check=False,
        )
        return Answer(args, done.returncode, done.stdout, done.stderr)

    def ok(
        self,
        *args: str | bytes,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Answer:
        """Runs as ``run`` does and fails the test unless the exit status is 0."""
        answer = self.run(*args, stdin=stdin, env=env)
        assert answer.status == 0, str(answer)
        return answer

    def log(self, *args: str) -> list[dict[str, Any]]:
        """Returns the lines of the log, newest first; none before anything was heard at all.

        So it can be asked again and again until another process has been heard.
        """
        answer = self.run("--json", "log", *args)
        if answer.status == NotAWorkspace.exit_status:
            return []
        assert answer.status == 0, str(answer)
        return answer.json_lines

    def doctor(self) -> None:
        """Fails the test unless doctor finds everything well.

        That hooks take long is no finding here: it says only how busy the machine is.
        """
        answer = self.run("--json", "doctor")
        broken = [one for one in answer.json_lines if one["state"] == "broken"]
        assert [one for one in broken if "agents wait" not in one["message"]] == []
        assert broken or answer.status == 0, str(answer)

    def start(self, *args: str | bytes, env: Mapping[str, str] | None = None) -> Started[bytes]:
        """Starts takeback and leaves it running, for tests that kill it or race it.

        As a context manager it ends what still runs then.
        """
        return Started(
            self.argv(*args),
            cwd=self.directory,
            env=self.environment(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def argv(self, *args: str | bytes) -> list[str | bytes]:
        return [sys.executable, "-m", "takeback", *args]

    def environment(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        return {**os.environ, **(self.env or {}), **(env or {})}


def _documents(text: str) -> list[dict[str, Any]]:
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    text = text.strip()
    at = 0
    while at < len(text):
        document, at = decoder.raw_decode(text, at)
        assert isinstance(document, dict), f"not a JSON object: {document!r}"
        found.append(document)
        while at < len(text) and text[at].isspace():
            at += 1
    return found
