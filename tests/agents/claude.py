"""Drives Claude Code: ``claude -p`` for one turn, or its screen in a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.agents.script import Script, Tool, story
from tests.agents.terminal import Terminal
from tests.agents.world import World

KEY = "sk-ant-scripted-0000000000000000"
SETTINGS = b"""{
   "theme": "dark",
   "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]},
   "permissions": {"allow": ["Bash", "Write", "Edit", "Read", "Agent"]}
}
"""


class Claude:
    """Claude Code in a world, with settings that a person has written."""

    name = "claude"
    options = ("--permission-mode", "acceptEdits")

    def __init__(self, world: World, program: Path) -> None:
        self.world = world
        (world.bin / "claude").symlink_to(program)
        self.settings = world.home / ".claude" / "settings.json"
        self.settings.parent.mkdir()
        self.settings.write_bytes(SETTINGS)
        # What a person has answered at a terminal: the repository is trusted, and the folder that
        # it is in, with all that is in no repository.
        answered = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {
                str(folder): {"hasTrustDialogAccepted": True}
                for folder in (world.repo, world.repo.parent)
            },
        }
        (world.home / ".claude.json").write_text(json.dumps(answered))
        self.env = {
            "ANTHROPIC_BASE_URL": world.model.url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def begin(self, prompt: str) -> str:
        """Starts a session with a prompt and returns its id."""
        return self.go_on(["claude"], prompt)

    def go_on(self, argv: Sequence[str], prompt: str) -> str:
        """Sends one prompt to the session of a resume line."""
        mode = ["-p", "--output-format", "json"]
        done = self.world.run([*argv, *self.options, *mode, prompt], self.env)
        session = json.loads(done.stdout)["session_id"]
        assert isinstance(session, str)
        return session

    def at_a_terminal(self, argv: Sequence[str] = ("claude",)) -> Terminal:
        """Starts it as a person does."""
        words = [*argv, *self.options]
        env = self.world.environment(self.env)
        terminal = Terminal(words, cwd=self.world.repo, env=env)
        terminal.shows("accept edits on")
        return terminal

    def resume_line(self, session: str) -> list[str]:
        return ["claude", "--resume", session]

    def transcript(self, session: str) -> Path:
        [found] = (self.world.home / ".claude" / "projects").glob(f"*/{session}.jsonl")
        return found

    def script(self) -> Script:
        read = Tool("Read", {"file_path": f"{self.world.repo}/a.txt"})
        return story(self.write, read, self.edit("a.txt", "alpha", "ALPHA"), shell)

    def tool(self, name: str, **args: str) -> Tool:
        return Tool(name, args)

    def write(self, name: str, content: str) -> Tool:
        return Tool("Write", {"file_path": f"{self.world.repo}/{name}", "content": content})

    def edit(self, name: str, old: str, new: str) -> Tool:
        path = f"{self.world.repo}/{name}"
        return Tool("Edit", {"file_path": path, "old_string": old, "new_string": new})


def shell(command: str) -> Tool:
    return Tool("Bash", {"command": command, "description": "run it"})
