"""The doorkeeper: only a hook that can do what the standby can do is let in, whatever it says."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from takeback import handover
from takeback.doorkeeper import Talk, listen_for_names
from tests.support.agent import usual_agent
from tests.support.cli import Cli
from tests.support.git import git
from tests.support.processes import wait_for
from tests.support.sandbox import landlocked, unshared
from tests.support.standby import Agent, alive, clients, connect_to, spare_of

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="there is a standby on Linux only"
)

# Says of itself what the standby wants to hear, and hands over what it can lay hands on.
_KNOCK = """
import json, os, socket, sys
sys.path.insert(0, sys.argv[1])
from takeback import handover
door, how, said = sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
environ = {os.fsencode(k): os.fsencode(v) for k, v in said.items()}
here = os.open(".", os.O_RDONLY)
os.chdir(os.path.dirname(door))
with socket.socket(socket.AF_UNIX) as s:
    s.settimeout(20)
    s.connect(os.path.basename(door))
    asked = handover.request(["generic"], environ)
    s.sendall(len(asked).to_bytes(4, "big") + asked)
    answer = s.recv(64)
    print("asked", answer[:1].decode())
    if answer[:1] == b"+":
        pid, number, _ = map(int, answer[1:].split())
        path = f"/proc/{pid}/fd/{number}"
        try:
            if how == "read only":
                proof = os.open(path, os.O_RDONLY)
            elif how == "another file":
                proof = os.memfd_create("takeback")
            else:
                proof = os.open(path, os.O_RDWR)
        except OSError as error:
            print("cannot", error.errno)
            proof = os.memfd_create("takeback")
        fds = [0, 1, 2, here, proof]
        if how == "none":
            fds = []
        elif how == "many":
            fds = fds * 3
        if how == "a child" and os.fork():
            os.wait()
        elif fds:
            socket.send_fds(s, [b"!"], fds)
        else:
            s.sendall(b"!")
        print("went on", s.recv(1))
"""


@pytest.fixture(params=clients())
def agent(tmp_path: Path, workspace: Path, request: pytest.FixtureRequest) -> Iterator[Agent]:
    agent = Agent(tmp_path, workspace, request.param)
    yield agent
    agent.end()


@pytest.fixture
def attended(agent: Agent) -> Agent:
    """An agent whose first prompt has left a standby behind."""
    agent.prompt()
    agent.standby()
    return agent


_TRIES = 10


class Knocking:
    """Processes that come to the door of an agent's standby."""

    def __init__(self, agent: Agent, other: Path) -> None:
        self.agent = agent
        self.other = other
        [self.door] = agent.doors
        self.spare = spare_of(agent.standby())
        data = Path(f"/proc/{agent.standby()}/environ").read_bytes()
        pairs = [entry.partition(b"=") for entry in data.split(b"\0") if entry]
        self.environ = {os.fsdecode(k): os.fsdecode(v) for k, _, v in pairs}

    def knock(self, *before: str, how: str = "", **more: str) -> str:
        """Comes with an event for a workspace elsewhere; returns what the door said."""
        event = self.agent.event(cwd=str(self.other), prompt="from outside")
        package = str(self.agent.package.parent)
        said = json.dumps({**self.environ, **more})
        words = [*before, sys.executable, "-c", _KNOCK, package, str(self.door), how, said]
        done = usual_agent().run(words, input=event, cwd=self.agent.workspace)
        return done.stdout.decode() + done.stderr.decode()

    def has_gone(self) -> None:
        """Waits until who came was dealt with and another spare waits."""
        before = self.spare
        wait_for(lambda: spare_of(self.agent.standby()) != before)
        self.spare = spare_of(self.agent.standby())

    def recorded(self) -> list[object]:
        cli = Cli(self.other, env={"TAKEBACK_HOME": str(self.agent.home)})
        answer = cli.run("--json", "log")
        return [line["prompt"] for line in answer.json_lines] if answer.status == 0 else []


@pytest.fixture
def knocking(attended: Agent, tmp_path: Path) -> Knocking:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    return Knocking(attended, other)


def still_serves(knocking: Knocking) -> None:
    """The same standby takes the next event, once it has another spare."""
    agent = knocking.agent
    standby = agent.standby()
    spare_of(standby)
    agent.spoil_all_but_the_client()
    sent = []
    for _ in range(_TRIES):  # where the machine is busy a hook may not wait for its turn
        agent.prompt()
        sent.append(f"p{agent.turn}")
        if sent[-1] in agent.log():
            break
    assert sent[-1] in agent.log()  # which nobody but the standby can have recorded
    assert agent.standby() == standby


def test_who_is_what_the_standby_is_may_hand_over(knocking: Knocking) -> None:
    assert knocking.knock() == "asked +\nwent on b'\\x00'\n"
    assert knocking.recorded() == ["from outside"]
    still_serves(knocking)


@pytest.mark.parametrize("how", ["read only", "another file", "none", "many", "a child"])
def test_who_cannot_prove_it_is_not_let_in(knocking: Knocking, how: str) -> None:
    said = knocking.knock(how=how)
    assert said.startswith("asked +\n")
    assert "went on b'\\x00'" not in said
    assert knocking.recorded() == []
    still_serves(knocking)


def test_a_landlocked_process_is_told_apart_although_proc_says_nothing(knocking: Knocking) -> None:
    """It may write where takeback does, and says what an honest hook would say."""
    agent = knocking.agent
    said = knocking.knock(*landlocked(agent.workspace, agent.home))
    assert "went on b'\\x00'" not in said
    if os.geteuid() == 0:  # else no_new_privs has told it already
        assert said.startswith("asked +\ncannot ")
    assert knocking.recorded() == []
    still_serves(knocking)


def _others() -> list[Any]:
    return [
        pytest.param(lambda: unshared(), id="namespaces"),
        pytest.param(lambda: unshared("--mount-proc"), id="namespaces with their proc"),
        pytest.param(lambda: ["unshare", "--net"], id="network"),
        pytest.param(lambda: ["nice", "-n", "5"], id="nice"),
        pytest.param(lambda: ["prlimit", "--nofile=300"], id="descriptors"),
        pytest.param(lambda: ["prlimit", "--fsize=65536"], id="size of files"),
        pytest.param(lambda: ["setpriv", "--no-new-privs"], id="no new privileges"),
        pytest.param(lambda: ["setpriv", "--bounding-set=-net_raw"], id="capabilities"),
        pytest.param(lambda: ["setpriv", "--reuid=0", "--groups=7"], id="groups"),
    ]


def usable(words: list[str]) -> list[str]:
    if shutil.which(words[0]) is None:
        pytest.skip(f"there is no {words[0]} here")
    tried = subprocess.run([*words, "true"], capture_output=True, check=False)
    if tried.returncode != 0:
        pytest.skip(tried.stderr.decode().strip())
    return words


@pytest.mark.parametrize("before", _others())
def test_who_is_something_else_is_refused_whatever_it_says(knocking: Knocking, before: Any) -> None:
    words = usable(before())
    assert "asked +" not in knocking.knock(*words)
    assert knocking.recorded() == []
    still_serves(knocking)


def test_who_has_its_programs_and_files_elsewhere_is_refused(knocking: Knocking) -> None:
    for name in map(os.fsdecode, handover.PLACES):
        assert knocking.knock(**{name: "/elsewhere"}) == "asked -\n", name
        knocking.has_gone()
    assert knocking.recorded() == []
    still_serves(knocking)


def test_other_variables_are_the_hooks_own_business(knocking: Knocking) -> None:
    many = {f"NAME{number}": "x" * 50 for number in range(10_000)}
    data = {**knocking.environ, **many}
    assert len(json.dumps(data)) < handover.LONGEST
    assert handover.request(["a"], {b"b": b"c", b"d": b""}) == b"a\0\0b=c\0d="
    assert handover.request(["a", "--more"], {b"b": b"c"}) == b"a\0--more\0\0b=c"
    standby = knocking.agent.standby()
    with connected(knocking) as door:
        environ = {os.fsencode(k): os.fsencode(v) for k, v in data.items()}
        asked = handover.request(["generic"], environ)
        door.sendall(len(asked).to_bytes(4, "big") + asked)
        assert door.recv(64)[:1] == b"+"
    assert alive(standby)


def test_what_a_quick_hook_says_is_said_by_somebody(tmp_path: Path) -> None:
    """It may speak as soon as it is let in, before the standby has done anything more."""
    with socket.socket(socket.AF_UNIX) as door, socket.socket(socket.AF_UNIX) as hook:
        listen_for_names(door)
        door.bind(str(tmp_path / "door"))
        door.listen()
        hook.connect(str(tmp_path / "door"))
        visitor, _ = door.accept()
        with visitor:
            hook.sendall(b"\0\0\0\x02hi")
            assert Talk(visitor).request() == b"hi"


# -- what is no request


def connected(knocking: Knocking) -> socket.socket:
    return connect_to(knocking.door)


def heard(door: socket.socket) -> bytes:
    """Returns the answer; none if it is sent away, be it with words of its own left unheard."""
    try:
        return door.recv(64)
    except ConnectionResetError:
        return b""


NO_REQUEST = (
    b"",
    b"\0",
    b"\0\0\0\0",
    b"\0\0\0\x04junk",
    b"\xff\xff\xff\xff" + b"x" * 1000,
    (handover.LONGEST + 1).to_bytes(4, "big") + b"x" * 1000,
    b"\0\0\0\x10generic\0PATH=/bi",
    b"\0\0\0\x10generic\0\0\0\0\0\0\0\0\0",
    b"\0\0\0\x0ageneric\0=x",
    b"\0\0\0\x0bgeneric\0\0=x",
    b"\0\0\x10\0" + b"generic\0\0" + b"A=\0" * 1359 + b"B=12345678",
    b"{}" * 500,
)


def test_what_is_no_request_does_no_harm(knocking: Knocking) -> None:
    for said in NO_REQUEST:
        with connected(knocking) as door:
            try:
                door.sendall(said)
                door.shutdown(socket.SHUT_WR)
            except OSError:  # sent away before all was said
                pass
            assert heard(door) in (b"", b"-"), said[:20]
        knocking.has_gone()
    still_serves(knocking)


def test_who_stops_in_the_middle_keeps_nobody_waiting(knocking: Knocking) -> None:
    standby = knocking.agent.standby()
    with ExitStack() as opened:
        doors = [opened.enter_context(connected(knocking)) for _ in range(5)]
        for door in doors:
            door.sendall(b"\0\0\1\0generic\0")
        for door in doors:
            assert heard(door) == b""  # sent away
    assert knocking.agent.standby() == standby
    still_serves(knocking)


# -- nothing of the first caller


def planted(workspace: Path) -> Path:
    """Puts a program called git into the workspace that writes outside of it."""
    (workspace.parent / "outside").mkdir()
    mark = workspace.parent / "outside" / "ESCAPED"
    place = workspace / ".x"
    place.mkdir()
    real = shutil.which("git")
    script = f'#!/bin/sh\n: > {mark}\nexec {real} "$@"\n'
    (place / "git").write_text(script)
    (place / "git").chmod(0o755)
    (workspace / ".gitignore").write_text("*.o\n")
    return mark


@pytest.fixture
def escapes(attended: Agent, workspace: Path) -> Iterator[Path]:
    mark = planted(workspace)
    (workspace / "n.o").touch()
    yield mark
    assert not mark.exists()


def test_under_landlock_a_planted_git_writes_nothing_outside(
    attended: Agent,
    workspace: Path,
    escapes: Path,
) -> None:
    inside = landlocked(workspace, attended.home)
    tried = subprocess.run([*inside, "touch", str(escapes)], capture_output=True, check=False)
    assert tried.returncode != 0
    path = f"{workspace}/.x:{os.environ['PATH']}"
    for number in range(3):
        (workspace / f"new{number}.o").touch()
        (workspace / f"new{number}").mkdir()
        attended.call(attended.event(), *inside, env={"PATH": path})
        attended.call(attended.event(), *inside)
    assert not escapes.exists()


def test_in_namespaces_a_planted_git_writes_nothing_outside(
    attended: Agent,
    workspace: Path,
    escapes: Path,
) -> None:
    outside = escapes.parent
    closing = f'mount --bind {outside} {outside}; mount -o remount,ro,bind {outside}; exec "$@"'
    inside = unshared("sh", "-c", closing, "sh")
    tried = subprocess.run([*inside, "touch", str(escapes)], capture_output=True, check=False)
    assert tried.returncode != 0
    path = f"{workspace}/.x:{os.environ['PATH']}"
    for number in range(3):
        (workspace / f"new{number}").mkdir()
        attended.call(attended.event(), *inside, env={"PATH": path})
    assert not escapes.exists()


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(lambda agent: ["prlimit", "--fsize=65536"], id="limit"),
        pytest.param(lambda agent: landlocked(agent.workspace, agent.home), id="landlock"),
        pytest.param(lambda agent: ["nice", "-n", "19"], id="nice"),
        pytest.param(lambda agent: ["sh", "-c", 'umask 0777; exec "$@"', "sh"], id="mask"),
    ],
)
def test_what_the_first_caller_had_is_not_that_of_later_ones(
    agent: Agent, tmp_path: Path, before: Any
) -> None:
    agent.call(agent.event(), *usable(before(agent)))
    wait_for(lambda: agent.doors)
    agent.workspace = tmp_path / "ws2"
    agent.workspace.mkdir()
    git(agent.workspace, "init", "--quiet")
    (agent.workspace / "big").write_bytes(os.urandom(300_000))
    agent.prompt()
    agent.prompt()
    assert agent.prompts() == ["p2", "p3"]
    nices = {os.getpriority(os.PRIO_PROCESS, pid) for pid in agent.standbys()}
    assert 0 in nices or nices == set()


def test_the_standby_holds_nothing_of_who_started_it(agent: Agent) -> None:
    """Not its directory, signals, mask or descriptors: an agent may wait for the end of one."""
    read, write = os.pipe()
    script = 'trap "" HUP TERM; umask 0; exec "$@"'
    agent.call(agent.event(), "sh", "-c", script, "sh", pass_fds=(write,))
    os.close(write)
    standby = agent.standby()
    assert os.read(read, 1) == b""
    os.close(read)
    assert os.readlink(f"/proc/{standby}/cwd") == str(agent.home / "bin")
    status = Path(f"/proc/{standby}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["Umask"] == "0077"
    assert int(fields["SigIgn"], 16) & (1 << 14 | 1) == 0


def test_there_are_only_a_few(agent: Agent) -> None:
    for number in range(7):
        agent.call(agent.event(), env={"TMPDIR": f"/tmp/{number}"})
        wait_for(lambda: agent.doors)
    wait_for(lambda: 1 <= len(agent.doors) <= 4)
    wait_for(lambda: len(agent.standbys()) <= 4)
    assert len(agent.prompts()) == 7
