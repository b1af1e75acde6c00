"""Drives Qwen Code: ``qwen -p`` for one turn, or its screen in a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.agents.script import Script, Tool, story
from tests.agents.terminal import Terminal
from tests.agents.world import World

# Without a memory of its own it asks the model nothing beside the conversation.
SETTINGS = b"""{
  // mine
  "general": {"enableAutoUpdate": false},
  "security": {"auth": {"selectedType": "openai"}}, /* by hand */
  "privacy": {"usageStatisticsEnabled": false},
  "memory": {"enableManagedAutoMemory": false},
  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]},
  "$version": 4
}
"""


class Qwen:
    """Qwen Code in a world, with settings that a person has written."""

    name = "qwen"
    options = ("--auth-type", "openai", "--approval-mode", "yolo")

    def __init__(self, world: World, program: Path, node: Path) -> None:
        self.world = world
        (world.bin / "qwen").symlink_to(program)
        (world.bin / "node").symlink_to(node)
        self.folder = world.home / ".qwen"
        self.settings = self.folder / "settings.json"
        self.folder.mkdir()
        self.settings.write_bytes(SETTINGS)
        self.env = {
            "OPENAI_BASE_URL": f"{world.model.url}/v1",
            "OPENAI_API_KEY": "scripted",
            "OPENAI_MODEL": "scripted-model",
            "NO_COLOR": "1",
        }

    def begin(self, prompt: str) -> str:
        """Starts a session with a prompt and returns its id."""
        return self.go_on(["qwen"], prompt)

    def go_on(self, argv: Sequence[str], prompt: str) -> str:
        """Sends one prompt to the session of a resume line."""
        done = self.world.run(
            [*argv, *self.options, "--output-format", "json", "-p", prompt], self.env
        )
        session = json.loads(done.stdout)[0]["session_id"]
        assert isinstance(session, str)
        return session

    def at_a_terminal(self, argv: Sequence[str] = ("qwen",)) -> Terminal:
        """Starts it as a person does."""
        env = self.world.environment(self.env)
        return Terminal([*argv, *self.options], cwd=self.world.repo, env=env)

    def resume_line(self, session: str) -> list[str]:
        return ["qwen", "--resume", session]

    def transcript(self, session: str) -> Path:
        [found] = (self.folder / "projects").glob(f"*/chats/{session}.jsonl")
        return found

    def script(self) -> Script:
        path = {"file_path": f"{self.world.repo}/a.txt"}
        edit = Tool("edit", {**path, "old_string": "alpha", "new_string": "ALPHA"})
        return story(self.write, Tool("read_file", path), edit, shell)

    def write(self, name: str, content: str) -> Tool:
        path = f"{self.world.repo}/{name}"
        return Tool("write_file", {"file_path": path, "content": content})


def shell(command: str) -> Tool:
    return Tool("run_shell_command", {"command": command, "is_background": False})
