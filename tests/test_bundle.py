"""The code of the hook in one file: quick where it is believed, and harmless where it is not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from takeback import bundle
from takeback.adapters import launcher
from tests.support.cli import Cli


class Agent:
    """Calls the launcher of a home of its own, with a takeback of its own."""

    def __init__(self, place: Path, workspace: Path) -> None:
        self.home = place / "home"
        self.package = place / "installed" / "takeback"
        self.workspace = workspace
        shutil.copytree(Path(launcher.package_directory(), "takeback"), self.package)
        self._launcher = launcher.write_launcher(str(self.home))
        record = self.home / "bin" / "takeback.path"
        record.write_text(f"{sys.executable}\n{self.package.parent}\n")
        self._turn = 0

    @property
    def code(self) -> Path:
        return self.home / "bin" / bundle.NAME

    def prompt(self) -> None:
        """Sends one prompt, which has to end well and to say nothing."""
        self._turn += 1
        event = {
            "event": "prompt",
            "session": "s",
            "agent": "mine",
            "turn": str(self._turn),
            "prompt": f"p{self._turn}",
        }
        done = subprocess.run(
            [self._launcher, "generic"],
            input=json.dumps(event).encode(),
            cwd=self.workspace,
            env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]},
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

    def prompts(self) -> list[object]:
        cli = Cli(self.workspace, env={"TAKEBACK_HOME": str(self.home)})
        assert cli.ok("--json", "status").json["failures"] == []
        return [line["prompt"] for line in cli.ok("--json", "log").json_lines]


@pytest.fixture
def agent(tmp_path: Path, workspace: Path) -> Agent:
    return Agent(tmp_path, workspace)


def test_the_first_hook_leaves_it_and_the_next_takes_its_modules_from_it(agent: Agent) -> None:
    agent.prompt()
    assert agent.code.stat().st_mode & 0o777 == 0o600
    # Only what is in the bundle can still be imported: the files say nothing any more.
    for one in agent.package.rglob("*.pyc"):
        one.unlink()
    kept = {one: one.stat() for one in agent.package.rglob("*.py")}
    for one, status in kept.items():
        if one.relative_to(agent.package).parts[0] not in (
            "__init__.py",
            "__main__.py",
            "_version.py",
            "bundle.py",
        ):
            one.write_bytes(b"?" * status.st_size)
            os.utime(one, ns=(status.st_atime_ns, status.st_mtime_ns))
    agent.prompt()
    assert agent.prompts() == ["p2", "p1"]


def test_a_hook_that_imports_nothing_new_writes_nothing(agent: Agent) -> None:
    for _ in range(3):
        agent.prompt()
    before = agent.code.stat()
    agent.prompt()
    assert (agent.code.stat().st_ino, agent.code.stat().st_mtime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
    )


def test_a_source_that_changed_is_imported_and_kept(agent: Agent) -> None:
    agent.prompt()
    hook = agent.package / "hook.py"
    text = hook.read_text()
    changed = text.replace('"""Takes one event', '"""Takes ONE event')
    assert changed != text
    hook.write_text(changed + "\n_ADDED = 1\n")
    agent.prompt()
    assert b"_ADDED" in agent.code.read_bytes()
    assert agent.prompts() == ["p2", "p1"]


def test_a_module_that_is_gone_makes_it_worthless(agent: Agent) -> None:
    agent.prompt()
    (agent.package / "ops" / "notes.py").unlink()
    assert bundle._read(str(agent.code)) == {}


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "zeros", "other python"])
def test_damage_is_never_run(agent: Agent, damage: str) -> None:
    agent.prompt()
    data = agent.code.read_bytes()
    if damage == "other python":
        import marshal

        body = marshal.dumps(((0, "none", b""), {}))
        agent.code.write_bytes(bundle._hash(body) + body)
    else:
        middle = len(data) // 2
        agent.code.write_bytes(
            {
                "cut": data[:middle],
                "empty": b"",
                "flipped": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
                "zeros": bytes(len(data)),
            }[damage]
        )
    assert bundle._read(str(agent.code)) == {}
    agent.prompt()
    assert bundle._read(str(agent.code)) != {}
    assert agent.prompts() == ["p2", "p1"]


def test_a_disk_that_takes_nothing_stops_no_hook(agent: Agent) -> None:
    agent.code.mkdir()
    agent.prompt()
    agent.prompt()
    assert agent.prompts() == ["p2", "p1"]


def test_uninstall_takes_it_away(agent: Agent) -> None:
    agent.prompt()
    launcher.remove_launcher(str(agent.home))
    assert not (agent.home / "bin").exists()
