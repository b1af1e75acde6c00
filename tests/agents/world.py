"""One machine in small: a home, a project, an agent in it, and nothing of the real machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.agents.scripted_model import ScriptedModel
from tests.agents.tried import Note, nowhere
from tests.support.cli import Cli
from tests.support.git import git, new_repository

_SECONDS = 300


@dataclass(frozen=True, slots=True)
class World:
    """Where an agent works: its home, the project, the model that it talks to.

    ``note`` takes down what was seen, for the report of the run.
    """

    home: Path
    repo: Path
    bin: Path
    model: ScriptedModel
    note: Note = nowhere

    @property
    def cli(self) -> Cli:
        """takeback in the project, as a person has it at the shell."""
        return Cli(self.repo, env={"PATH": self.path})

    @property
    def path(self) -> str:
        return os.pathsep.join((str(self.bin), os.environ["PATH"]))

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        """Returns all that an agent knows of this machine; where takeback keeps things is not."""
        return {
            "HOME": str(self.home),
            "PATH": self.path,
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            **more,
        }

    def run(
        self, argv: Sequence[str], env: Mapping[str, str], *, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs an agent to its end and fails the test if it fails."""
        done = subprocess.run(
            argv,
            cwd=cwd or self.repo,
            env=self.environment(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        said = f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        assert done.returncode == 0, f"{argv} ended with {done.returncode}\n{said}"
        return done

    def log(self) -> list[dict[str, Any]]:
        """Returns the turns of the log, oldest first; none before anything was heard at all."""
        lines = self.cli.log("--all")
        return [line for line in reversed(lines) if line["kind"] in ("prompt", "shell", "steer")]


def fill(repo: Path) -> None:
    """Makes a small project with the things that are easily lost: bytes, modes, links."""
    repo.mkdir()
    new_repository(repo)
    (repo / "keep.txt").write_text("original\n")
    (repo / "doomed.bin").write_bytes(bytes(range(256)))
    (repo / "run.sh").write_text("#!/bin/sh\n")
    (repo / "run.sh").chmod(0o755)
    (repo / "link").symlink_to("keep.txt")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "begin")
