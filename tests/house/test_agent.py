"""Who starts what in the tests: hooks are an agent's, commands a person's, tools a model's."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from takeback.turns.processes import variables
from tests.support.agent import AgentProcess, agent, usual_agent
from tests.support.cli import Cli
from tests.support.processes import wait_for
from tests.support.warm import Starter

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="looks at processes through /proc"
)

PARENTS = """
import os, sys
pid, found = os.getppid(), []
while pid > 0:
    found.append(pid)
    with open(f"/proc/{pid}/stat") as file:
        pid = int(file.read().rpartition(")")[2].split()[1])
print(*found)
"""
"""Says what is above it, the nearest first; as a module of the test's it is in takeback's place."""


def above(said: bytes | str) -> list[int]:
    return [int(word) for word in said.split()]


@pytest.fixture
def asking(workspace: Path, tmp_path: Path) -> Cli:
    """A takeback that says what is above it."""
    (tmp_path / "lib" / "takeback").mkdir(parents=True)
    (tmp_path / "lib" / "takeback" / "__init__.py").touch()
    (tmp_path / "lib" / "takeback" / "__main__.py").write_text(PARENTS)
    return Cli(workspace, {"PYTHONPATH": str(tmp_path / "lib")})


def test_a_hook_is_below_the_agent_and_a_command_is_not(asking: Cli) -> None:
    usual = usual_agent().pid
    assert above(asking.ok("hook", "generic").stdout)[0] == usual
    with asking.start_hook("generic") as hook:
        assert above(hook.communicate(timeout=60)[0])[0] == usual
    for said in (asking.ok("log"), asking.cold("log")):
        assert os.getpid() in above(said.stdout)
        assert usual not in above(said.stdout)


def test_what_comes_out_of_memory_is_below_it_too(cli: Cli, workspace: Path) -> None:
    """A new name has git asked, and that one says what is above it."""
    git = workspace.parent / "bin" / "git"
    git.parent.mkdir()
    (workspace.parent / "parents.py").write_text(PARENTS)
    says = f"{sys.executable} {workspace.parent / 'parents.py'} >>{git}.said"
    git.write_text(f'#!/bin/sh\n{says}\nexec {shutil.which("git")} "$@"\n')
    git.chmod(0o755)
    (workspace / ".gitignore").write_text("*.o\n")
    path = {"PATH": f"{git.parent}:{os.environ['PATH']}"}
    told = json.dumps({"event": "prompt", "session": "s", "prompt": "p"}).encode()
    with agent() as own:
        for inside, number in ((True, 1), (False, 2)):
            (workspace / f"{number}.o").touch()
            if inside:
                cli.told_by(own).ok("hook", "generic", stdin=told, env=path)
            else:
                cli.ok("checkpoint", env=path)
            said = Path(f"{git}.said")
            assert {own.pid in above(line) for line in said.read_text().splitlines()} == {inside}
            said.unlink()


def test_two_agents_are_beside_each_other(asking: Cli) -> None:
    with agent() as one, agent() as other:
        for mine, theirs in ((one, other), (other, one)):
            found = above(asking.told_by(mine).ok("hook", "generic").stdout)
            assert mine.pid in found
            assert theirs.pid not in found
            assert usual_agent().pid not in found


def test_what_a_model_types_is_below_a_shell_of_the_agent(asking: Cli) -> None:
    with agent() as own:
        for said in (asking.inside(own).ok("log"), asking.inside(own).ok("hook", "generic")):
            shell, parent, *_ = above(said.stdout)
            assert parent == own.pid
            assert shell != own.pid
        done = own.tool(["printf", "%s|", "it's $HOME", "a\nb"], cwd=asking.directory)
        assert (done.returncode, done.stdout) == (0, b"it's $HOME|a\nb|")
        assert own.tool(["false"], cwd=asking.directory).returncode == 1


def test_a_killed_agent_is_gone_and_what_it_started_goes_on(workspace: Path) -> None:
    with agent() as own:
        own.start(["sh", "-c", "sleep 0.5; touch there"], cwd=workspace).close()
        own.kill()
        assert own.has_ended
        with pytest.raises(ProcessLookupError):
            os.kill(own.pid, 0)
    wait_for((workspace / "there").exists)


def test_the_usual_agent_that_has_ended_is_followed_by_another(asking: Cli) -> None:
    before = usual_agent()
    before.kill()
    assert above(asking.ok("hook", "generic").stdout)[0] == usual_agent().pid != before.pid


def test_what_is_left_running_is_known_by_its_own_number(workspace: Path) -> None:
    with usual_agent().start(["sh", "-c", "echo $$; exec cat"], cwd=workspace) as child:
        assert int(child.stdout.readline()) == child.pid
        assert child.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.1)
        child.kill()
        assert child.wait(60) == child.poll() == -signal.SIGKILL


def test_it_has_what_it_was_given_and_nothing_else(workspace: Path) -> None:
    read, write = os.pipe()
    script = f"umask; pwd; env; cat; echo >/proc/self/fd/{write}; ls /proc/self/fd; exit 7"
    how: dict[str, Any] = {"cwd": workspace, "input": b"input\n", "pass_fds": [write]}
    before = os.umask(0o027)
    try:
        done = usual_agent().run(["/bin/sh", "-c", script], env={"A": "a\nb"}, **how)
    finally:
        os.umask(before)
    os.close(write)
    given, descriptors = done.stdout.decode().split("input\n")
    assert (done.returncode, done.stderr) == (7, b"")
    assert set(given.splitlines()) >= {"0027", str(workspace), "A=a", "b"}
    assert "HOME" not in given
    assert set(descriptors.split()) <= {"0", "1", "2", "3", str(write)}
    with os.fdopen(read, "rb") as passed:
        assert passed.read() == b"\n"


def test_nothing_that_a_test_has_set_is_seen_above(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor what the agent of who started the tests has told them."""
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("TAKEBACK_SESSION_ID", "s1")
    began = Starter()
    own = AgentProcess(began)
    for one in (began, own):
        assert {"PATH"} <= set(variables(one.pid)) <= {"PATH", "HOME", "LC_ALL", *python_has()}
    own.close()
    began.close()


def python_has() -> set[str]:
    return {name for name in os.environ if name.startswith(("PYTHON", "LC_", "LANG", "LD_"))}


def test_many_at_once_get_each_their_own(workspace: Path) -> None:
    def echoed(number: int) -> bytes:
        said = b"%d\n" % number * 50_000
        return usual_agent().run(["cat"], cwd=workspace, input=said).stdout[:-1] + b"!"

    with ThreadPoolExecutor(8) as pool:
        for number, said in enumerate(pool.map(echoed, range(32))):
            assert said == b"%d\n" % number * 49_999 + b"%d!" % number


def test_a_program_that_is_not_there_is_said(workspace: Path) -> None:
    done = usual_agent().run(["there-is-none"], cwd=workspace)
    assert (done.returncode, b"No such file" in done.stderr) == (127, True)


def test_who_does_not_end_is_ended(workspace: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired) as raised:
        usual_agent().run(["sh", "-c", "echo $$; exec sleep 60"], cwd=workspace, timeout=1)
    with pytest.raises(ProcessLookupError):
        os.kill(int(raised.value.output), 0)
