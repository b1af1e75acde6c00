"""A small agent of our own that speaks to takeback through ``takeback hook generic``.

Its transcript is JSON lines, one message a line. What it would send to a model is what its
transcript holds when it is started with a session's id, so a test can see what it remembers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from takeback import config
from takeback.check.settings import edit_for_all, set_setting
from tests.support.cli import Answer, Cli


def read_transcripts_in(folder: Path, environ: Mapping[str, str] = os.environ) -> None:
    """Sets, as a person does, that transcripts are read in a folder that is no agent's own."""
    _add("transcripts", str(folder), environ)


def register(agent: str, environ: Mapping[str, str] = os.environ) -> None:
    """Sets, as a person does, that an agent of theirs says itself how it goes on."""
    _add("hosts", agent, environ)


def _add(setting: str, what: str, environ: Mapping[str, str]) -> None:
    known = config.for_all(environ)[setting]
    if what not in known:
        set_setting(edit_for_all(environ, setting, [*known, what]))


@dataclass
class Host:
    """One session of the agent ``mine`` in a workspace."""

    cli: Cli
    folder: Path
    session: str = "s1"
    agent: str = "mine"
    turns: int = field(default=0)

    def __post_init__(self) -> None:
        environ = self.cli.environment()
        read_transcripts_in(self.folder, environ)
        register(self.agent, environ)

    @property
    def id(self) -> str:
        """takeback's name for the session."""
        return f"{self.agent}-{self.session}"

    @property
    def transcript(self) -> Path:
        return self.folder / f"{self.session}.jsonl"

    def tell(self, event: str, **fields: Any) -> Answer:
        """Sends one event; a hook never fails."""
        document = {
            "event": event,
            "session": self.session,
            "agent": self.agent,
            "transcript": str(self.transcript),
            "resume": [self.agent, "--resume", "{session}"],
            **fields,
        }
        return self.cli.ok("hook", "generic", stdin=json.dumps(document).encode())

    def say(self, role: str, text: str) -> None:
        """Appends a message to the transcript."""
        with self.transcript.open("a") as file:
            file.write(json.dumps({"role": role, "text": text}) + "\n")

    def prompt(self, text: str, **fields: Any) -> Answer:
        """A person types a prompt: told first, then written."""
        self.turns += 1
        answer = self.tell("prompt", turn=f"{self.session}-t{self.turns}", prompt=text, **fields)
        self.say("user", text)
        return answer

    def end(self, text: str = "done", **fields: Any) -> Answer:
        """The agent answers and stops."""
        self.say("assistant", text)
        return self.tell("turn_end", turn=f"{self.session}-t{self.turns}", **fields)

    def turn(self, text: str, files: Mapping[str, bytes | None], **fields: Any) -> None:
        """Plays a whole turn that writes files, and deletes those that are None."""
        self.prompt(text, **fields)
        for name, content in files.items():
            path = self.cli.directory / name
            if content is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        self.end()

    def round(self, *tools: tuple[str, str, Sequence[str]], **fields: Any) -> Answer:
        """Tools ran: (name, kind, paths) each."""
        told = [{"name": name, "kind": kind, "paths": list(paths)} for name, kind, paths in tools]
        return self.tell("round_end", turn=f"{self.session}-t{self.turns}", tools=told, **fields)

    def resumed(self, argv: Sequence[str]) -> Host:
        """Starts the agent as a resume line says."""
        assert argv[0] == self.agent
        assert argv[1] == "--resume"
        return Host(self.cli, self.folder, argv[2], self.agent)

    def remembers(self) -> list[str]:
        """Returns the texts that it would send to the model."""
        lines = self.transcript.read_text().splitlines()
        return [json.loads(line)["text"] for line in lines]


def turns(cli: Cli, *args: str) -> list[dict[str, Any]]:
    """Returns the turns of the log, oldest first."""
    lines = cli.ok("--json", "log", *args).json_lines
    return [line for line in reversed(lines) if line["kind"] in ("prompt", "shell", "steer")]
