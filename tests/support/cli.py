"""Runs takeback as a person or a script does: a process with arguments, stdin and exit status.

Its hooks are run by an agent: their process is below that of one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from takeback.errors import NotAWorkspace
from tests.support.agent import AgentProcess, usual_agent
from tests.support.processes import Started
from tests.support.warm import Child, warm


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
    """takeback in one directory, with the test's environment plus ``env``.

    Hooks are those of ``agent``, and of the usual one if none is named. ``by_model`` says that all
    commands are run by that agent's model.
    """

    directory: Path
    env: Mapping[str, str] | None = None
    timeout: float = 60
    agent: AgentProcess | None = None
    by_model: bool = False

    def told_by(self, agent: AgentProcess) -> Self:
        """Returns the same, its hooks called by another agent."""
        return replace(self, agent=agent, by_model=False)

    def inside(self, agent: AgentProcess) -> Self:
        """Returns the same, typed by an agent's model, in one of its tools."""
        return replace(self, agent=agent, by_model=True)

    def run(
        self,
        *args: str | bytes,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Answer:
        """Runs ``takeback *args`` without a terminal and returns its answer, whatever it is."""
        environ = self.environment(env)
        started = self._agent(args) or warm()
        # Who is started in another way (with other rights, under limits) must be started.
        is_plain = type(self).argv is Cli.argv and not self.by_model
        if started is None or not is_plain or not started.fits(environ):
            return self.cold(*args, stdin=stdin, env=env)
        how: dict[str, Any] = {"cwd": self.directory, "env": environ, "timeout": self.timeout}
        return _answer(args, started.run(args, be="takeback", input=stdin, **how))

    def cold(
        self,
        *args: str | bytes,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Answer:
        """Runs as ``run`` does, in an interpreter that is started for it."""
        agent, words, environ = self._agent(args), self.argv(*args), self.environment(env)
        how: dict[str, Any] = {"cwd": self.directory, "env": environ, "timeout": self.timeout}
        if agent is not None:
            started = agent.tool if self.by_model else agent.run
            return _answer(args, started(words, input=stdin, **how))
        done = subprocess.run(words, input=stdin, capture_output=True, check=False, **how)
        return _answer(args, done)

    def _agent(self, args: Sequence[str | bytes]) -> AgentProcess | None:
        """Returns the agent whose child a command is; None if a person types it."""
        return (self.agent or usual_agent()) if self.by_model or "hook" in args else None

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
        """Starts a command and leaves it running, for tests that kill it or race it.

        As a context manager it ends what still runs then.
        """
        assert "hook" not in args, "its agent starts it"
        return Started(
            self.argv(*args),
            cwd=self.directory,
            env=self.environment(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def start_hook(self, *args: str | bytes, env: Mapping[str, str] | None = None) -> Child:
        """Has the agent start ``takeback hook *args``, and leaves it running as ``start`` does."""
        words = self.argv("hook", *args)
        began = self.agent or usual_agent()
        return began.start(words, cwd=self.directory, env=self.environment(env))

    def argv(self, *args: str | bytes) -> list[str | bytes]:
        return [sys.executable, "-m", "takeback", *args]

    def environment(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        return {**os.environ, **(self.env or {}), **(env or {})}


def _answer(args: tuple[str | bytes, ...], done: subprocess.CompletedProcess[bytes]) -> Answer:
    return Answer(args, done.returncode, done.stdout, done.stderr)


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
