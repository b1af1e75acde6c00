"""Drives Gemini CLI: ``gemini -p`` for one turn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.agents.script import Script, Tool, story
from tests.agents.terminal import Terminal
from tests.agents.world import World

# Retention is off because Gemini deletes chats that were resumed in a later minute.
SETTINGS = b"""{
  // mine
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "general": {
    "enableAutoUpdate": false, /* by hand */
    "sessionRetention": {"enabled": false}
  },
  "privacy": {"usageStatisticsEnabled": false}
}
"""


class Gemini:
    """Gemini CLI in a world, with settings that a person has written."""

    name = "gemini"
    options = ("--model", "gemini-2.5-pro", "--approval-mode", "yolo")

    def __init__(self, world: World, program: Path) -> None:
        self.world = world
        (world.bin / "gemini").symlink_to(program)
        self.settings = world.home / ".gemini" / "settings.json"
        self.settings.parent.mkdir()
        self.settings.write_bytes(SETTINGS)
        self.env = {
            "GEMINI_API_KEY": "x",
            "GOOGLE_GEMINI_BASE_URL": world.model.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "NO_COLOR": "1",
        }

    def begin(self, prompt: str) -> str:
        """Starts a session with a prompt and returns its id."""
        return self.go_on(["gemini"], prompt)

    def go_on(self, argv: Sequence[str], prompt: str) -> str:
        """Sends one prompt to the session of a resume line."""
        done = self.world.run(
            [*argv, *self.options, "--output-format", "json", "-p", prompt], self.env
        )
        session = json.loads(done.stdout[done.stdout.index("{") :])["session_id"]
        assert isinstance(session, str)
        return session

    def at_a_terminal(self, argv: Sequence[str] = ("gemini",)) -> Terminal:
        """Starts it as a person does."""
        env = self.world.environment(self.env)
        return Terminal([*argv, *self.options], cwd=self.world.repo, env=env)

    def resume_line(self, session: str) -> list[str]:
        return ["gemini", "--resume", session]

    def transcript(self, session: str) -> Path:
        chats = (self.world.home / ".gemini" / "tmp").glob(f"*/chats/session-*{session[:8]}.jsonl")
        return sorted(chats)[0]

    def script(self) -> Script:
        path = {"file_path": f"{self.world.repo}/a.txt"}
        change = {"old_string": "alpha", "new_string": "ALPHA", "instruction": "in capitals"}
        edit = Tool("replace", {**path, **change})
        return story(self.write, Tool("read_file", path), edit, shell)

    def write(self, name: str, content: str) -> Tool:
        path = f"{self.world.repo}/{name}"
        return Tool("write_file", {"file_path": path, "content": content})


def typed(screen: str) -> str:
    """Returns what stands in the line of input of a screen: the last that begins so."""
    lines = [line for line in screen.splitlines() if line.startswith((" * ", " > "))]
    return lines[-1][3:].strip() if lines else ""


def shell(command: str) -> Tool:
    return Tool("run_shell_command", {"command": command, "description": "run it"})
