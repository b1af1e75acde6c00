"""Drives Copilot CLI: ``copilot -p`` for one turn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.agents.script import Script, Tool, story
from tests.agents.terminal import Terminal
from tests.agents.world import World


class Copilot:
    """Copilot CLI in a world, as a person has it who has hooks already."""

    name = "copilot"
    options = ()

    def __init__(self, world: World, program: Path) -> None:
        self.world = world
        (world.bin / "copilot").symlink_to(program)
        self.folder = world.home / ".copilot"
        self.settings = self.folder / "hooks" / "takeback.json"
        self.settings.parent.mkdir(parents=True)
        mine = {"agentStop": [{"type": "command", "bash": "true"}]}
        (self.folder / "hooks" / "mine.json").write_text(json.dumps({"version": 1, "hooks": mine}))
        self.env = {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{world.model.url}/v1",
            "COPILOT_PROVIDER_API_KEY": "scripted-key-00000000",
            "COPILOT_MODEL": "gpt-4.1",
            "COPILOT_ALLOW_ALL": "true",
            "COPILOT_AUTO_UPDATE": "false",
            # Its program unpacks itself once, which is most of a first start.
            "COPILOT_CACHE_HOME": str(program.parent / "unpacked"),
            "NO_COLOR": "1",
        }

    def begin(self, prompt: str) -> str:
        """Starts a session with a prompt and returns its id."""
        return self.go_on(["copilot"], prompt)

    def go_on(self, argv: Sequence[str], prompt: str) -> str:
        """Sends one prompt to the session of a resume line."""
        done = self.world.run([*argv, "--output-format", "json", "-p", prompt], self.env)
        for line in reversed(done.stdout.splitlines()):
            said = json.loads(line) if line.startswith("{") else {}
            if said.get("type") == "result":
                return str(said["sessionId"])
        raise AssertionError(f"no session was named: {done.stdout}\n{done.stderr}")

    def refused(self, argv: Sequence[str], prompt: str) -> str:
        """Sends a prompt that a hook answers, which it ends with 1 for; returns what it says."""
        words = [*argv, "--output-format", "json", "-p", prompt]
        return self.world.run(["sh", "-c", '! "$@"', "sh", *words], self.env).stdout

    def at_a_terminal(self, argv: Sequence[str] = ("copilot",)) -> Terminal:
        """Starts it as a person does."""
        env = self.world.environment(self.env)
        return Terminal([*argv], cwd=self.world.repo, env=env)

    def resume_line(self, session: str) -> list[str]:
        return ["copilot", f"--resume={session}"]

    def transcript(self, session: str) -> Path:
        return self.folder / "session-state" / session / "events.jsonl"

    def script(self) -> Script:
        path = {"path": f"{self.world.repo}/a.txt"}
        edit = Tool("edit", {**path, "old_str": "alpha", "new_str": "ALPHA"})
        return story(self.write, Tool("view", path), edit, shell)

    def write(self, name: str, content: str) -> Tool:
        return Tool("create", {"path": f"{self.world.repo}/{name}", "file_text": content})


def shell(command: str) -> Tool:
    return Tool("bash", {"command": command, "description": "run it"})
