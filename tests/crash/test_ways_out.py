"""Ways out of a sandbox: what an agent's tools may write, takeback writes for them nowhere else.

The model's side runs in a sandbox that may write its workspace and takeback's home and nothing
else: under Landlock, and with users, mounts and processes of its own. Outside of it there are a
standby that hooks have left behind, and a person who uses takeback in that workspace. Each way is
tried from inside; then the person goes on working. Nothing may be made or changed outside.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from takeback import handover
from takeback.store.namespace import session_id
from tests.support.agent import usual_agent
from tests.support.cli import Cli
from tests.support.git import git
from tests.support.sandbox import closed, landlocked
from tests.support.standby import Agent
from tests.support.trees import tree_state

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="these sandboxes are Linux's"
)


class Prison:
    """A workspace with a sandbox around whoever works in it."""

    def __init__(self, base: Path, workspace: Path) -> None:
        self.workspace = workspace
        self.agent = Agent(base / "agent", workspace)
        self.home = Path(os.environ["HOME"])
        self.outside = base / "outside"
        self.outside.mkdir()
        self.mark = self.outside / "ESCAPED"
        self.real_git = shutil.which("git")
        (self.home / ".claude").mkdir()
        (workspace / ".gitignore").write_text(".venv/\n.cfg/\n*.o\n")
        git(workspace, "add", ".gitignore")
        git(workspace, "commit", "--quiet", "-m", "x")
        self.agent.prompt()
        self.agent.standby()
        self.turn = 0
        self.inside: list[str] = []

    @property
    def evil(self) -> Path:
        """Where the model puts its programs: first in the PATH of the project's environment."""
        return self.workspace / ".venv" / "bin"

    def state(self) -> object:
        """Everything outside that a way out would change."""
        return tree_state(self.outside), tree_state(self.home)

    # -- what the model does, in its sandbox

    def shell(self, script: str, **env: str) -> None:
        """Runs a script as the model's tool, which may fail as it likes."""
        words = [*self.inside, "sh", "-c", script]
        usual_agent().tool(words, cwd=self.workspace, env={**self.agent.environ, **env})

    def plant(self, *names: str) -> None:
        """Puts programs into the project that leave a mark outside and then do their work."""
        self.evil.mkdir(parents=True, exist_ok=True)
        for name in names:
            real = self.real_git if name == "git" else shutil.which(name) or "/bin/true"
            text = f'#!/bin/sh\necho "{name} $@" > {self.mark}\nexec {real} "$@"\n'
            (self.evil / name).write_text(text)
            (self.evil / name).chmod(0o755)

    def hook(self, **env: str) -> None:
        """Calls the launcher from inside, with names that git must be asked about."""
        self.tell({}, **env)

    def tell(self, given: dict[str, Any], **env: str) -> None:
        """Calls the launcher with an event that says this."""
        self.turn += 1
        (self.workspace / f"new{self.turn}").mkdir()
        (self.workspace / f"new{self.turn}" / "a.o").touch()
        event = self.agent.event(**{"session": "inside", **given})  # of one outside: its model's
        variables = [f"{name}={value}" for name, value in env.items()]
        self.agent.call(event, *self.inside, "env", *variables)

    def takeback(self, *words: str, **env: str) -> None:
        """Runs the command line from inside."""
        variables = {"PYTHONPATH": str(self.agent.package.parent), **env}
        command = " ".join([sys.executable, "-m", "takeback", *words])
        self.shell(command, TAKEBACK_HOME=str(self.agent.home), **variables)

    # -- what the person does, outside

    def person(self, *words: str) -> str:
        """Runs the command line outside, in the shell of somebody who works in the project."""
        cli = Cli(self.workspace, env={"TAKEBACK_HOME": str(self.agent.home), "PATH": self.path})
        answer = cli.run(*words)
        return answer.stdout + answer.stderr

    @property
    def path(self) -> str:
        return f"{self.evil}:{os.environ['PATH']}"


def planted_git_in_a_hook(it: Prison) -> None:
    it.plant("git")
    it.hook(PATH=it.path)
    it.hook()


def planted_git_in_a_command(it: Prison) -> None:
    it.plant("git")
    it.takeback("checkpoint", PATH=it.path)
    (it.workspace / "n1.o").touch()
    (it.workspace / "n1").mkdir()
    it.person("checkpoint")
    it.person("diff", "@")
    it.person("doctor")


def planted_interpreters(it: Prison) -> None:
    it.plant("python", "python3", "takeback", "env", "sh", "opencode", "claude")
    it.hook(PATH=it.path)
    it.person("rewind", "turn:1", "--both", "--yes", "--during-turn")


def modules_of_the_project(it: Prison) -> None:
    place = it.workspace / "lib"
    (place / "takeback").mkdir(parents=True)
    text = f"open({str(it.mark)!r}, 'w')\n"
    for name in ("sitecustomize.py", "usercustomize.py", "json.py", "takeback/__init__.py"):
        (place / name).write_text(text)
    env = {"PYTHONPATH": str(place), "PYTHONSTARTUP": str(place / "json.py")}
    it.hook(**env, PYTHONHOME=str(place))
    it.hook(**env, PYTHONINSPECT="1", PYTHONUSERBASE=str(place))


def forged_word_to_the_standby(it: Prison) -> None:
    """Says to each door what an honest hook outside would say, with its own PATH or without."""
    it.plant("git")
    (it.workspace / "n5").mkdir()
    said = {**it.agent.environ, "TAKEBACK_HOME": str(it.agent.home)}
    for path in (it.path, said["PATH"]):
        for door in it.agent.doors:
            asked = handover.request(
                ["generic"],
                {os.fsencode(k): os.fsencode(v) for k, v in {**said, "PATH": path}.items()},
            )
            (it.workspace / ".asked").write_bytes(len(asked).to_bytes(4, "big") + asked)
            talk = (
                "import os, socket, sys\n"
                "here = os.open('.', os.O_RDONLY)\n"
                "asked = open('.asked', 'rb').read()\n"
                f"os.chdir({str(door.parent)!r})\n"
                "s = socket.socket(socket.AF_UNIX); s.settimeout(2)\n"
                f"s.connect({door.name!r}); s.sendall(asked); answer = s.recv(64)\n"
                "pid, number = map(int, answer[1:].split())\n"
                "try:\n    proof = os.open(f'/proc/{pid}/fd/{number}', os.O_RDWR)\n"
                "except OSError:\n    proof = os.memfd_create('takeback')\n"
                "socket.send_fds(s, [b'!'], [0, 1, 2, here, proof]); s.recv(1)\n"
            )
            (it.workspace / ".talk.py").write_text(talk)
            event = json.dumps({"event": "prompt", "session": "x", "prompt": "p"})
            it.shell(f"echo '{event}' | {sys.executable} .talk.py")


def a_home_of_its_own(it: Prison) -> None:
    """Names a git, a launcher and settings in a home that the model has made."""
    it.plant("git")
    home = it.workspace / ".cfg"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "git.path").write_text(f"{it.evil / 'git'}\n")
    for name in ("TAKEBACK_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"):
        it.hook(**{name: str(home)})
    it.takeback("checkpoint", HOME=str(home))


def places_of_its_own(it: Prison) -> None:
    """Variables that say where programs put what they make."""
    names = ("TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME", "TEMP", "TMP")
    it.hook(**dict.fromkeys(names, str(it.outside)))
    it.takeback("checkpoint", **dict.fromkeys(names, str(it.outside)))


def variables_of_git(it: Prison) -> None:
    it.plant("git", "git-check-ignore")
    command = f"touch {it.mark}"
    env = {
        "GIT_EXEC_PATH": str(it.evil),
        "GIT_EXTERNAL_DIFF": command,
        "GIT_SSH_COMMAND": command,
        "GIT_EDITOR": command,
        "GIT_PAGER": command,
        "GIT_TRACE": str(it.mark),
        "GIT_TRACE2_EVENT": str(it.mark),
        "GIT_DIR": str(it.outside / "x.git"),
        "GIT_OBJECT_DIRECTORY": str(it.outside),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": command,
        "LD_PRELOAD": str(it.workspace / "evil.so"),
        "LD_LIBRARY_PATH": str(it.evil),
    }
    it.hook(**{k: v for k, v in env.items() if not k.startswith("LD_")})
    (it.workspace / "evil.so").write_bytes(b"no library")
    it.shell(f"echo '{{}}' | {it.agent.launcher} generic", **env)


def settings_of_the_project(it: Prison) -> None:
    """What git itself would run in this project: monitors, filters, hooks, drivers."""
    command = f"touch {it.mark}"
    for key in ("core.fsmonitor", "filter.x.clean", "diff.x.command", "core.hooksPath"):
        git(it.workspace, "config", key, command)
    (it.workspace / ".gitattributes").write_text("* filter=x diff=x\n")
    hook = it.workspace / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{command}\n")
    hook.chmod(0o755)
    it.hook()
    it.person("checkpoint")
    it.person("diff", "turn:1")
    it.person("rewind", "turn:1", "--files", "--yes", "--during-turn")


def link_in_the_place_of_a_directory(it: Prison) -> None:
    """Files that were in a directory come back, but not through the link that stands there."""
    place = it.workspace / "src"
    place.mkdir()
    (place / "ESCAPED").write_text("x")
    it.hook()
    it.shell(f"rm -r src; ln -s {it.outside} src")
    it.person("rewind", "@", "--files", "--yes", "--during-turn")
    assert (it.workspace / "src" / "ESCAPED").read_text() == "x"
    assert not (it.workspace / "src").is_symlink()


def link_in_the_place_of_the_transcript(it: Prison) -> None:
    folder = it.workspace / ".agent"
    folder.mkdir()
    (folder / "s1.desktop").write_text("Exec=evil\n")
    given = {"session": "s1", "transcript": str(folder / "s1.desktop")}
    for turn in ("t1", "t2"):
        it.tell({**given, "turn": turn, "prompt": turn})
    it.shell(f"mv .agent .agent2; ln -s {it.outside} .agent")
    said = it.person("rewind", "mine-s1/turn:2", "--conversation", "--yes", "--during-turn")
    assert "cannot be written" in said


def a_copy_of_the_files_elsewhere(it: Prison) -> None:
    (it.workspace / "evil.desktop").write_text("Exec=evil\n")
    it.hook()
    it.takeback("fork", "@", "--worktree", str(it.outside / "autostart"), "--yes")
    it.takeback("fork", "@", "--worktree", str(it.home / "autostart"), "--yes")
    it.tell({"prompt": f"/takeback fork {it.outside / 'autostart'} yes"})


def a_line_to_go_on_with(it: Prison) -> None:
    """Words of an event, which are shown and never run, and ids with words for a shell."""
    line = ["sh", "-c", f"touch {it.mark}"]
    for turn in ("t1", "t2"):
        it.tell({"session": "s2", "turn": turn, "resume": line, "messages": [turn]})
    said = it.person("rewind", "mine-s2/turn:2", "--both", "--yes", "--during-turn")
    assert "The host's words" in said
    assert "Go on with it" not in said
    for native in (f"$(touch {it.mark})", f"ses_takeback;touch {it.mark};", "--yolo"):
        for agent in ("claude", "opencode"):
            for turn in ("t1", "t2"):
                it.tell({"agent": agent, "session": native, "turn": turn, "messages": []})
            name = session_id(agent, native)
            said = it.person("rewind", f"{name}/turn:2", "--both", "--yes", "--during-turn")
            assert "Rewound" in said
            assert native not in said
            for shown in said.splitlines():  # as a person does who copies it
                if shown.startswith("Go on with it: "):
                    words = shown.partition(": ")[2].replace(f"&& {agent}", "&& true")
                    subprocess.run(["sh", "-c", words], check=False, timeout=60)


def settings_of_the_agents(it: Prison) -> None:
    """Connects agents from inside: with links where their settings would be made."""
    for name in (".claude/settings.local.json", ".gemini/settings.json"):
        place = it.workspace / name
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(it.mark)
    it.takeback("init", "--here", "claude", "gemini", "--yes")
    it.takeback("init", "claude", "--yes")


WAYS: list[Callable[[Prison], None]] = [
    planted_git_in_a_hook,
    planted_git_in_a_command,
    planted_interpreters,
    modules_of_the_project,
    forged_word_to_the_standby,
    a_home_of_its_own,
    places_of_its_own,
    variables_of_git,
    settings_of_the_project,
    link_in_the_place_of_a_directory,
    link_in_the_place_of_the_transcript,
    a_copy_of_the_files_elsewhere,
    a_line_to_go_on_with,
    settings_of_the_agents,
]


@pytest.fixture
def prison(tmp_path: Path, workspace: Path) -> Iterator[Prison]:
    made = Prison(tmp_path, workspace)
    yield made
    made.agent.end()


def under_landlock(it: Prison) -> list[str]:
    return landlocked(it.workspace, it.agent.home)


def in_namespaces(it: Prison) -> list[str]:
    return closed(it.outside, it.home)


@pytest.mark.parametrize(
    "sandbox", [under_landlock, pytest.param(in_namespaces, marks=pytest.mark.long)]
)
def test_no_way_leads_out(prison: Prison, sandbox: Callable[[Prison], list[str]]) -> None:
    prison.inside = sandbox(prison)
    prison.shell(f"touch {prison.mark} {prison.home / 'x'}; touch works")
    assert (prison.workspace / "works").exists(), "nothing runs in there at all"
    before = prison.state()
    escaped = []
    for way in WAYS:
        way(prison)
        if prison.state() != before:
            said = prison.mark.read_text() if prison.mark.is_file() else ""
            escaped.append(f"{way.__name__}: {said}")
            prison.mark.unlink(missing_ok=True)
            before = prison.state()
    assert escaped == []
    assert len(WAYS) >= 12


@pytest.mark.parametrize("sandbox", [under_landlock, in_namespaces])
def test_hooks_do_their_work_in_there(
    prison: Prison, sandbox: Callable[[Prison], list[str]]
) -> None:
    """By themselves: the standby outside is not for them."""
    prison.inside = sandbox(prison)
    sent = []
    for _ in range(2):
        prison.hook()
        sent.append(f"p{prison.agent.turn}")
    assert prison.agent.prompts()[1:] == sent


def test_a_planted_program_would_leave_its_mark(prison: Prison) -> None:
    """That the ways above find nothing is no fault of theirs."""
    prison.plant("git")
    subprocess.run([prison.evil / "git", "version"], check=True, capture_output=True)
    assert prison.mark.exists()
