"""Drives Codex: ``codex exec`` for one turn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.agents.script import Script, Step, Tool
from tests.agents.terminal import Terminal
from tests.agents.world import World

# The model is named because others are offered other tools. What runs is not asked about.
_CONFIG = """
model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"

[projects."{repo}"]
trust_level = "trusted"
"""
_PATCH = """\
*** Begin Patch
*** Update File: a.txt
@@
-alpha
+ALPHA
*** End Patch
"""


class Codex:
    """Codex in a world; the person has no hooks of their own, so no file of hooks."""

    name = "codex"

    def __init__(self, world: World, program: Path) -> None:
        self.world = world
        (world.bin / "codex").symlink_to(program)
        self.settings = world.home / ".codex" / "hooks.json"
        self.config = world.home / ".codex" / "config.toml"
        self.config.parent.mkdir()
        self.config.write_text(_CONFIG.format(url=world.model.url, repo=world.repo))
        self.env = {"SCRIPTED_KEY": "x"}
        self.trusting = ["--dangerously-bypass-hook-trust"]
        self.options = (*self.trusting, "--disable", "daemon_auto_start")  # leaves none behind

    def begin(self, prompt: str) -> str:
        """Starts a thread with a prompt and returns its id."""
        return self.go_on(["codex"], prompt)

    def go_on(self, argv: Sequence[str], prompt: str) -> str:
        """Sends one prompt to the thread of a resume line, which is one for the screen."""
        program, *resume = argv
        words = [program, "exec", "--json", *self.trusting, *resume, prompt]
        done = self.world.run(words, self.env)
        for line in done.stdout.splitlines():
            said = json.loads(line) if line.startswith("{") else {}
            if said.get("type") == "thread.started":
                return str(said["thread_id"])
        raise AssertionError(f"no thread was named: {done.stdout}")

    def at_a_terminal(self, argv: Sequence[str] = ("codex",)) -> Terminal:
        """Starts it as a person does."""
        program, *words = argv
        env = self.world.environment(self.env)
        return Terminal([program, *self.options, *words], cwd=self.world.repo, env=env)

    def resume_line(self, session: str) -> list[str]:
        return ["codex", "resume", session]

    def transcript(self, session: str) -> Path:
        [found] = (self.world.home / ".codex" / "sessions").glob(f"*/*/*/rollout-*-{session}.jsonl")
        return found

    def script(self) -> Script:
        add = "*** Begin Patch\n*** Add File: a.txt\n+alpha\n*** End Patch\n"
        return {
            "TURN-ONE": [
                Step("Creating.", [Tool("apply_patch", text=add)]),
                Step("", [shell("printf 'beta\\n' > b.txt")]),
                Step("Created a.txt and b.txt."),
            ],
            "TURN-TWO": [
                Step("Editing.", [Tool("apply_patch", text=_PATCH)]),
                Step("Shell.", [shell("rm doomed.bin b.txt && printf made > c.txt")]),
                Step("Edited one, deleted two, made one."),
            ],
            "TURN-THREE": [
                Step("", [shell("mkdir sub && mv c.txt sub/d.txt && chmod 600 run.sh")]),
                Step("Moved one."),
            ],
            "TURN-FOUR": [Step("Nothing to do.")],
        }


def shell(command: str) -> Tool:
    return Tool("exec_command", {"cmd": command})
