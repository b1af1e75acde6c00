"""An agent that calls its launcher, and the standby that its first hook leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from takeback import handover
from takeback.adapters import launcher
from tests.support.agent import usual_agent
from tests.support.cli import Cli
from tests.support.lanes import later
from tests.support.processes import wait_for
from tests.support.warm import Child

# What a hook has to import before it can hand anything over.
_CLIENT = ("__init__.py", "__main__.py", "c_modules.py", "handover.py", "ownership.py")
_TYPING = ("errors.py", "ordinary.py", "paths.py", "visible.py")
"""What ``takeback hook`` imports besides, to find the home that the launcher is in."""


NATIVE, PYTHON = "native client", "client in Python"


def clients() -> list[Any]:
    """Returns both clients of the standby, as parameters of a fixture.

    One of them is for `make test`, the other for the long lane: what they ask, they ask alike.
    """
    is_built = (Path(launcher.package_directory()) / "takeback/native/built/hook").exists()
    skipped = pytest.mark.skipif(not is_built, reason="there was no C compiler")
    return [pytest.param(NATIVE, marks=skipped), later(PYTHON) if is_built else PYTHON]


class Agent:
    """Calls the launcher of a home of its own, with a takeback of its own."""

    def __init__(self, place: Path, workspace: Path, client: str = PYTHON) -> None:
        self.home = place / "home"
        self.package = place / "installed" / "takeback"
        self.workspace = workspace
        shutil.copytree(Path(launcher.package_directory(), "takeback"), self.package)
        self.launcher = launcher.write_launcher(str(self.home))
        if client == PYTHON and (script := self.home / "bin" / "hook.sh").exists():
            script.replace(self.launcher)
        self.record = self.home / "bin" / "takeback.path"
        self.record.write_text(f"{sys.executable}\n{self.package.parent}\n")
        self.client = client
        self.environ = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
        self.turn = 0

    @property
    def doors(self) -> list[Path]:
        """The sockets of the standbys, one for each kind of hook."""
        return sorted((self.home / "bin").glob(f"{handover.PREFIX}*"))

    def event(self, **fields: Any) -> bytes:
        self.turn += 1
        given = {"event": "prompt", "session": "s", "agent": "mine", "turn": str(self.turn)}
        return json.dumps({**given, "prompt": f"p{self.turn}", **fields}).encode()

    def call(self, event: bytes, *before: str, **options: Any) -> bytes:
        """Calls the launcher as agents do; it has to end well, and to have no complaint."""
        words = [self.launcher, options.pop("agent", "generic"), options.pop("word", None)]
        return self._run([*before, *filter(None, words)], event, options)

    def typed(self, event: bytes, *before: str, agent: str = "generic") -> bytes:
        """Calls ``takeback hook``, as a person may have it in settings of their own."""
        isolated = [sys.executable, "-I", "-S", "-X", f"takeback={self.package.parent}"]
        command = [*isolated, f"{self.package}/bin/takeback", "hook", agent]
        return self._run([*before, *command], event, {"env": {"TAKEBACK_HOME": str(self.home)}})

    def _run(self, words: list[str], event: bytes, options: dict[str, Any]) -> bytes:
        env = {**self.environ, **options.pop("env", {})}
        done = usual_agent().run(words, input=event, cwd=self.workspace, env=env, **options)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    def start(self, *more: str) -> Child:
        """Calls the launcher, and does not wait for it."""
        words = [self.launcher, "generic", *more]
        return usual_agent().start(words, cwd=self.workspace, env=self.environ)

    def prompt(self, **fields: Any) -> None:
        assert self.call(self.event(**fields)) == b""

    def prompts(self) -> list[object]:
        """Returns the recorded prompts, oldest first; nothing may have gone wrong."""
        assert self.failures() == [], self.failures()
        return self.log()

    def log(self) -> list[object]:
        """Returns the recorded prompts, oldest first, whatever else has happened."""
        cli = Cli(self.workspace, env={"TAKEBACK_HOME": str(self.home)})
        return [line["prompt"] for line in cli.ok("--json", "log").json_lines][::-1]

    def failures(self) -> list[str]:
        cli = Cli(self.workspace, env={"TAKEBACK_HOME": str(self.home)})
        found = cli.ok("--json", "status").json["failures"]
        assert isinstance(found, list)
        return found

    def end(self) -> None:
        """Ends every standby of this home."""
        for standby in self.standbys():
            os.kill(standby, signal.SIGKILL)

    def standby(self) -> int:
        """Returns the process that listens, once one does."""
        wait_for(lambda: self.doors and len(self.standbys()) == 1)
        [standby] = self.standbys()
        return standby

    def standbys(self) -> list[int]:
        """Returns the standbys of this home, their spares left out."""
        found = {}
        for place in Path("/proc").glob("[0-9]*"):
            try:
                words = (place / "cmdline").read_bytes().split(b"\0")
                parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if words[-3:-1] == [os.fsencode(self.home / "bin"), b"takeback.standby"]:
                found[int(place.name)] = parent
        return [pid for pid, parent in found.items() if parent not in found]

    def spoil_all_but_the_client(self) -> None:
        """Leaves files that look as before and say nothing: who imports them now fails."""
        for one in self.package.rglob("*.pyc"):
            one.unlink()
        for one in self.package.rglob("*.py"):
            if str(one.relative_to(self.package)) not in _CLIENT + _TYPING:
                status = one.stat()
                one.write_bytes(b"?" * status.st_size)
                os.utime(one, ns=(status.st_atime_ns, status.st_mtime_ns))


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def spare_of(standby: int) -> int:
    """Returns the one child that is left when all others have ended."""
    found: list[int] = []

    def alone() -> bool:
        found[:] = filter(alive, children(standby))
        return len(found) == 1

    wait_for(alone)
    return found[0]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def connect_to(door: Path) -> socket.socket:
    """Connects to a socket, however long its path is."""
    place = os.open(door.parent, os.O_PATH)
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(20)
    try:
        made.connect(f"/proc/self/fd/{place}/{door.name}")
    except OSError:
        made.close()
        raise
    finally:
        os.close(place)
    return made
