"""What the real agents bring back of a turn with their own means.

Each plays one turn of a scripted model in a project with a bit of everything: an edit with its own
tool, then one command of the shell that touches the rest. Then it is told to take the turn back, as
a person can tell it: Claude Code ``--rewind-files``, opencode ``revert``, Gemini CLI ``/restore``;
and takeback, connected to Claude Code. The conversation is not looked at here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from bench.agents import machine
from bench.peers import EVERYTHING, project, state_of
from tests.agents.claude import Claude
from tests.agents.claude import shell as claude_shell
from tests.agents.flow import Driver
from tests.agents.gemini import Gemini, typed
from tests.agents.gemini import shell as gemini_shell
from tests.agents.installed import PACKAGES, program_of
from tests.agents.opencode import OpenCode
from tests.agents.opencode import shell as opencode_shell
from tests.agents.script import Step, Tool
from tests.agents.terminal import Terminal
from tests.support.cache import NotInstalled
from tests.support.cli import Cli
from tests.support.sealed import sealed_environment

_PROMPT = "GO"
_TOOL, _OLD, _NEW = "src/tool.py", "as it was", "changed"
_THINGS = {"an edit by its own tool": _TOOL, **EVERYTHING}
_MINE = "what you typed meanwhile is not lost"
_COMMAND = (
    "for f in src/edited.py notes.txt windows.txt nested/inner.txt tracked.log; "
    "do echo changed > $f; done; echo TOKEN=2 > .env; chmod 644 secret.key; "
    "rm src/deleted.py; rmdir empty"
)


class _Peer(Protocol):
    """One agent with its means; ``joined`` says that takeback is connected to it."""

    agent: str
    joined: bool

    def __init__(self, driver: Driver) -> None: ...

    def play(self) -> None:
        """Has it play the turn."""

    def take_back(self) -> None:
        """Has it take the turn back."""


class ByClaude:
    """Claude Code's own checkpoints of files."""

    agent, joined = "claude", False

    def __init__(self, driver: Driver) -> None:
        assert isinstance(driver, Claude)
        driver.env["CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"] = "1"
        self._driver = driver

    def play(self) -> None:
        repo = self._driver.world.repo
        read = Tool("Read", {"file_path": f"{repo}/{_TOOL}"})
        edit = self._driver.edit(_TOOL, _OLD, _NEW)
        self._driver.world.model.script = _script(read, edit, claude_shell(_COMMAND))
        self._session = self._driver.begin(_PROMPT)

    def take_back(self) -> None:
        lines = self._driver.transcript(self._session).read_text().splitlines()
        said = [line for line in map(json.loads, lines) if line.get("type") == "user"]
        [first] = [line["uuid"] for line in said if line["message"]["content"] == _PROMPT]
        words = [*self._driver.resume_line(self._session), "-p", "--rewind-files", first]
        self._driver.world.run(words, self._driver.env)


class ByTakeback(ByClaude):
    """takeback, which Claude Code tells of its turns."""

    joined = True

    def take_back(self) -> None:
        self._takeback("rewind", "turn:1", "--files", "--ignored", "--yes")

    def bring_back(self) -> None:
        self._takeback("undo", "--yes")

    def _takeback(self, *words: str) -> None:
        world = self._driver.world
        Cli(world.repo, env=sealed_environment(world.home.parent)).ok(*words)


class ByOpenCode:
    """opencode's ``revert``, by its server."""

    agent, joined = "opencode", False

    def __init__(self, driver: Driver) -> None:
        assert isinstance(driver, OpenCode)
        self._driver = driver

    def play(self) -> None:
        repo = self._driver.world.repo
        read = Tool("read", {"filePath": f"{repo}/{_TOOL}"})
        edit = self._driver.edit(_TOOL, _OLD, _NEW)
        self._driver.world.model.script = _script(read, edit, opencode_shell(_COMMAND))
        self._session = self._driver.begin(_PROMPT)

    def take_back(self) -> None:
        with self._served() as ask:
            messages = ask("GET", f"/session/{self._session}/message", None)
            [first, *_] = [one["info"]["id"] for one in messages if one["info"]["role"] == "user"]
            ask("POST", f"/session/{self._session}/revert", {"messageID": first})

    @contextmanager
    def _served(self) -> Iterator[Callable[[str, str, Any], Any]]:
        world = self._driver.world
        self._driver.forget_locks()
        server = subprocess.Popen(
            ["opencode", "serve", "--port", "0", "--hostname", "127.0.0.1"],
            cwd=world.repo,
            env=world.environment(self._driver.env),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert server.stdout is not None
            found = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in server.stdout)
            address = next(one[0] for one in found if one is not None)

            def ask(method: str, path: str, body: Any) -> Any:
                data = None if body is None else json.dumps(body).encode()
                headers = {"content-type": "application/json"}
                request = urllib.request.Request(address + path, data, headers, method=method)
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return json.loads(answer.read())

            yield ask
        finally:
            server.terminate()
            server.wait(10)


class ByGemini:
    """Gemini CLI's checkpoint before an edit that it asks about, and ``/restore``."""

    agent, joined = "gemini", False

    def __init__(self, driver: Driver) -> None:
        assert isinstance(driver, Gemini)
        text = driver.settings.read_text()
        driver.settings.write_text(
            text.replace('"general": {', '"general": {"checkpointing": {"enabled": true},')
        )
        self._driver = driver
        words = ["gemini", "--model", "gemini-2.5-pro", "--approval-mode", "default"]
        env = driver.world.environment(driver.env)
        self._terminal = Terminal(words, cwd=driver.world.repo, env=env)

    def play(self) -> None:
        world = self._driver.world
        change = {"old_string": _OLD, "new_string": _NEW, "instruction": "change it"}
        edit = Tool("replace", {"file_path": f"{world.repo}/{_TOOL}", **change})
        world.model.script = _script(edit, gemini_shell(_COMMAND))
        terminal = self._terminal
        terminal.shows("Type your message")
        terminal.settles()
        terminal.send(_PROMPT, typed)
        for changed in (lambda: _NEW in (world.repo / _TOOL).read_text(), self._is_played):
            terminal.shows("Allow once")
            terminal.settles()
            terminal.press("Enter")
            terminal.until(changed, "see it done")

    def _is_played(self) -> bool:
        return not (self._driver.world.repo / "empty").exists()

    def take_back(self) -> None:
        kept = (self._driver.world.home / ".gemini" / "tmp").glob("*/checkpoints/*.json")
        [name] = [path.stem for path in kept]
        self._terminal.settles()
        self._terminal.type(f"/restore {name}")
        self._terminal.settles()  # Enter takes what it offers, and that is first something else
        self._terminal.press("Enter")
        self._terminal.shows("Restored project")
        self._terminal.settles()
        self._terminal.end("C-c")


_PEERS: dict[str, type[_Peer]] = {
    "Claude Code": ByClaude,
    "opencode": ByOpenCode,
    "Gemini CLI": ByGemini,
    "takeback": ByTakeback,
}


def _script(*tools: Tool) -> dict[str, list[Step]]:
    return {_PROMPT: [*(Step("", [tool]) for tool in tools), Step("Done.")]}


def measure_real() -> dict[str, dict[str, bool]]:
    """Prints what comes back with each; returns it."""
    environ = dict(os.environ)
    found: dict[str, dict[str, bool]] = {}
    for name, make in _PEERS.items():
        try:
            program = program_of(PACKAGES[make.agent], environ)
        except NotInstalled as error:
            print(f"NOT MEASURED: {name}: {error}", flush=True)
            continue
        title = f"{name} {PACKAGES[make.agent].version}" if name != "takeback" else name
        found[title] = _comes_back(make, program)
    print("\n## What comes back of one turn with the real programs\n")
    print(f"| | {' | '.join(found)} |\n|---{'|---' * len(found)}|")
    for what in (*_THINGS, _MINE):
        marks = ["yes" if one[what] else "**no**" for one in found.values()]
        print(f"| {what} | {' | '.join(marks)} |")
    return found


def _comes_back(make: type[_Peer], program: Path) -> dict[str, bool]:
    with tempfile.TemporaryDirectory(prefix="takeback-bench-") as name:
        original = Path(name) / "project"
        project(original)
        (original / _TOOL).write_text(f"{_TOOL} {_OLD}\n")
        with machine(make.agent, [program], original, joined=make.joined) as driver:
            repo = driver.world.repo
            before = {what: state_of(repo / path) for what, path in _THINGS.items()}
            peer = make(driver)
            peer.play()
            assert all(state_of(repo / path) != before[what] for what, path in _THINGS.items())
            mine = repo / "mine.txt"
            mine.write_text("typed by a person since\n")
            peer.take_back()
            found = {what: state_of(repo / _THINGS[what]) == was for what, was in before.items()}
            if not mine.exists() and isinstance(peer, ByTakeback):
                peer.bring_back()
            found[_MINE] = mine.exists()
            shutil.rmtree(repo, ignore_errors=True)
    return found
