"""Drives pi: ``pi -p`` for one turn, and pi itself or its RPC mode for what is asked inside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.agents.script import Script, Tool, story
from tests.agents.terminal import Terminal
from tests.agents.world import World


class Pi:
    """pi in a world, as a person has it who has another extension already."""

    name = "pi"
    options = ("--provider", "scripted", "--model", "scripted-model")

    def __init__(self, world: World, program: Path, node: Path) -> None:
        self.world = world
        (world.bin / "pi").symlink_to(program)
        (world.bin / "node").symlink_to(node)
        self.folder = world.home / ".pi" / "agent"
        self.settings = self.folder / "extensions" / "takeback"
        self.folder.mkdir(parents=True)
        provider = {
            "baseUrl": world.model.url,
            "api": "anthropic-messages",
            "apiKey": "scripted",
            "models": [{"id": "scripted-model", "contextWindow": 200_000, "maxTokens": 8_000}],
        }
        models = {"providers": {"scripted": provider}}
        (self.folder / "models.json").write_text(json.dumps(models))
        settings = {"compaction": {"keepRecentTokens": 1}}  # so that little can be compacted too
        (self.folder / "settings.json").write_text(json.dumps(settings))
        self.env = {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"}

    def begin(self, prompt: str) -> str:
        """Starts a session with a prompt and returns its id."""
        return self.go_on(["pi"], prompt)

    def go_on(self, argv: Sequence[str], prompt: str) -> str:
        """Sends one prompt to the session of a resume line."""
        done = self.world.run([*argv, *self.options, "--mode", "json", "-p", prompt], self.env)
        header = json.loads(done.stdout.splitlines()[0])
        assert header["type"] == "session"
        return str(header["id"])

    def at_a_terminal(self, argv: Sequence[str] = ("pi",)) -> Terminal:
        """Starts it as a person does."""
        env = self.world.environment(self.env)
        return Terminal([*argv, *self.options], cwd=self.world.repo, env=env)

    def resume_line(self, session: str) -> list[str]:
        return ["pi", "--session", session]

    def command(self, *more: str) -> list[str]:
        """Returns the command line of pi with the scripted model."""
        return ["pi", *self.options, *more]

    def transcript(self, session: str) -> Path:
        [found] = (self.folder / "sessions").glob(f"*/*_{session}.jsonl")
        return found

    def script(self) -> Script:
        read = Tool("read", {"path": "a.txt"})
        return story(write, read, edit("a.txt", "alpha", "ALPHA"), shell)


def write(path: str, content: str) -> Tool:
    return Tool("write", {"path": path, "content": content})


def edit(path: str, old: str, new: str) -> Tool:
    return Tool("edit", {"path": path, "edits": [{"oldText": old, "newText": new}]})


def shell(command: str) -> Tool:
    return Tool("bash", {"command": command})
