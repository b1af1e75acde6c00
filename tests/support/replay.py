"""Plays recorded sessions of real agents again: same payloads, transcripts as long as then."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.support.cli import Cli

RECORDED = Path(__file__).parents[1] / "adapters" / "recorded"


class Replay:
    """A recorded session, played into a workspace of the test.

    ``files`` maps the name of each transcript, as the payloads have it, to its final bytes. They
    are where their agent keeps them, in the person's home: nowhere else would they be read.
    """

    def __init__(self, cli: Cli, agent: str, files: dict[str, bytes]) -> None:
        self._cli = cli
        self._agent = agent
        self._folder = Path(os.environ["HOME"])
        self._files = files

    def play(self, hooks: Path, *, home: str = "/home/dev/") -> None:
        """Tells every event, the transcript cut to the length it had at that moment."""
        for line in hooks.read_text().splitlines():
            record = json.loads(line)
            payload = record["payload"]
            path = payload["transcript_path"]
            local = self._folder / path.removeprefix(home)
            local.parent.mkdir(parents=True, exist_ok=True)
            if record["size"] is not None:
                local.write_bytes(self._files[local.name][: record["size"]])
            told = {**payload, "transcript_path": str(local), "cwd": str(self._cli.directory)}
            answer = self._cli.ok("hook", self._agent, stdin=json.dumps(told).encode())
            assert answer.stdout == ""

    def finish(self) -> None:
        """Writes every transcript in full, as the agent had it in the end."""
        for name, data in self._files.items():
            for local in self._folder.rglob(name):
                local.write_bytes(data)


def recorded_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*.jsonl")}
