"""Drives opencode: ``opencode run`` for one turn, and its own export for what it remembers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tests.agents.script import Script, Tool, story
from tests.agents.terminal import Terminal
from tests.agents.world import World


class OpenCode:
    """opencode in a world, as a person has it who has another plugin already."""

    name = "opencode"
    options = ()

    def __init__(self, world: World, program: Path) -> None:
        self.world = world
        (world.bin / self.name).symlink_to(program)
        folder = world.home / ".config" / self.name
        self.settings = folder / "plugins" / "takeback.js"
        self.settings.parent.mkdir(parents=True)
        (folder / "plugins" / "mine.js").write_text("export const Mine = async () => ({})\n")
        model = {"name": "Scripted", "tool_call": True}
        provider = {
            "npm": "@ai-sdk/anthropic",
            "options": {"baseURL": f"{world.model.url}/v1", "apiKey": "scripted"},
            "models": {"model": {**model, "limit": {"context": 200_000, "output": 8_000}}},
        }
        config = {
            "provider": {"scripted": provider},
            "model": "scripted/model",
            "small_model": "scripted/model",
            "autoupdate": False,
            "share": "disabled",
            "permission": {"edit": "allow", "bash": "allow"},
        }
        (folder / f"{self.name}.json").write_text(json.dumps(config))
        self.env = {
            **self.variables("DISABLE_MODELS_FETCH", "DISABLE_AUTOUPDATE", "DISABLE_LSP_DOWNLOAD"),
            # It looks for types of plugins at every start and does without them.
            "npm_config_registry": world.model.url,
        }
        # Its first start in a project leaves a file of its own in .git.
        world.run([self.name, "session", "list"], self.env)
        assert (world.repo / ".git" / self.name).exists()

    def variables(self, *names: str) -> dict[str, str]:
        """Returns variables of its own that are on."""
        return {f"{self.name.upper()}_{name}": "1" for name in names}

    def begin(self, prompt: str) -> str:
        """Starts a session with a prompt and returns its id."""
        return self.go_on([self.name], prompt)

    def go_on(self, argv: Sequence[str], prompt: str) -> str:
        """Sends one prompt to the session of a resume line, which is one for the screen."""
        words = prompt.split()  # one argument with blanks is put into quotes by opencode
        run = [argv[0], "run", "--format", "json", *argv[1:], *words]
        self.forget_locks()
        done = self.world.run(run, self.env)
        for line in done.stdout.splitlines():
            said = json.loads(line) if line.startswith("{") else {}
            if "sessionID" in said:
                return str(said["sessionID"])
        raise AssertionError(f"no session was named: {done.stdout}\n{done.stderr}")

    def resume_line(self, session: str) -> list[str]:
        return [self.name, f"--session={session}"]

    def transcript(self, session: str) -> Path:
        """Returns what opencode remembers of a session; there is no file, but one reads it so."""
        return cast("Path", Remembered(self, session))

    def export(self, session: str) -> dict[str, Any]:
        """Returns a session as ``opencode export`` gives it, without waiting for any plugin."""
        env = {**self.env, **self.variables("PURE", "DISABLE_PROJECT_CONFIG")}
        self.forget_locks()
        done = self.world.run([self.name, "export", session], env)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def forget_locks(self) -> None:
        """Removes what an opencode that has ended left locked: the next waits a minute for it.

        At each start it installs the types of plugins, in vain here, and may end before that has.
        """
        locks = self.world.home / ".local" / "state" / self.name / "locks"
        shutil.rmtree(locks, ignore_errors=True)

    def at_a_terminal(self, argv: Sequence[str] = ()) -> Terminal:
        """Starts it as a person does."""
        env = self.world.environment(self.env)
        self.forget_locks()
        return Terminal([*argv] or [self.name], cwd=self.world.repo, env=env)

    def script(self) -> Script:
        read = Tool("read", {"filePath": f"{self.world.repo}/a.txt"})
        return story(self.write, read, self.edit("a.txt", "alpha", "ALPHA"), shell)

    def write(self, name: str, content: str) -> Tool:
        return Tool("write", {"filePath": f"{self.world.repo}/{name}", "content": content})

    def edit(self, name: str, old: str, new: str) -> Tool:
        path = f"{self.world.repo}/{name}"
        return Tool("edit", {"filePath": path, "oldString": old, "newString": new})


@dataclass(frozen=True)
class Remembered:
    """A session's messages, one a line: what is said later comes after what was said before."""

    opencode: OpenCode
    session: str

    def read_bytes(self) -> bytes:
        messages = self.opencode.export(self.session)["messages"]
        return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def shell(command: str) -> Tool:
    return Tool("bash", {"command": command, "description": "run it"})
