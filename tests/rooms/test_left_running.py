"""What a turn left running is background work of it, whatever its agent says of that."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from takeback import Takeback
from takeback.model import event as events
from takeback.model.event import AgentEvent
from takeback.model.operation import DURING_TURN
from tests.support.cli import Cli
from tests.support.journey import write_files

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/stat"), reason="only Linux tells of the processes of others"
)

_SECONDS = 30.0
_COMMAND = "until test -e go; do sleep 0.02; done; echo late > late.txt; until test -e end; do"
LEAVE = f"{_COMMAND} sleep 0.02; done"
"""A command that writes a file when it is told to, and ends when it is told to."""


class Shell:
    """The process of an agent: a shell that starts what it is told to, in a group of its own."""

    def __init__(self, directory: Path) -> None:
        self._process = subprocess.Popen(
            ["sh"], cwd=directory, stdin=subprocess.PIPE, process_group=0
        )
        self.pid = self._process.pid
        self.left: list[int] = []

    def runs(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def leaves(self, command: str, *, env: str = "", ready: Path) -> None:
        """Has a command started in a session of its own, and waits until it runs."""
        ready.unlink(missing_ok=True)
        named = shlex.quote(f"{ready}.part")
        began = f"echo $$ > {named}; mv {named} {shlex.quote(str(ready))}"
        words = shlex.quote(f"{began}; {command}")
        self.runs(f"{env} setsid sh -c {words} >/dev/null 2>&1 &")
        until(ready.exists)
        self.left.append(int(ready.read_text()))

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(_SECONDS)
        if self._process.stdin is not None:
            self._process.stdin.close()

    def end_what_it_left(self) -> None:
        """Ends it by its ids: its directory may be gone before it looks for a file there again."""
        for leader in (self.pid, *self.left):
            with suppress(ProcessLookupError):
                os.killpg(leader, signal.SIGKILL)


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not holds():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)


@pytest.fixture
def shell(workspace: Path) -> Iterator[Shell]:
    write_files(workspace, {"kept.txt": b"as it was"})
    started = Shell(workspace)
    yield started
    started.kill()
    started.end_what_it_left()


@pytest.fixture
def ready(tmp_path: Path) -> Path:
    return tmp_path / "ready"


def tell(tb: Takeback, kind: Any, process: int | None = None, prompt: str = "") -> None:
    reason = events.BY_PERSON if kind == events.INTERRUPTED else None
    event = AgentEvent(kind, "codex", "one", os.fsdecode(tb.root), turn="1", reason=reason)
    tb.receive(event.replace(process=process, prompt=prompt or None))


def turn(tb: Takeback) -> tuple[str, list[str]]:
    """Returns the state of the newest turn, and its files."""
    [found] = [one for one in tb.checkpoints() if one.turn is not None]
    assert found.turn is not None
    return found.turn.state, sorted(change.path.decode() for change in found.shown)


def refused(tb: Takeback) -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in tb.plan("codex-one/turn:1", scope="files").refused]


def test_a_command_that_an_agent_left_running_is_background_work_of_its_turn(
    workspace: Path, shell: Shell, ready: Path
) -> None:
    with Takeback.open(workspace) as tb:
        tell(tb, events.PROMPT, shell.pid, "build it")
        shell.leaves(LEAVE, ready=ready)
        tell(tb, events.TURN_END, shell.pid)
        [(code, message)] = refused(tb)
        assert code == DURING_TURN
        assert message.startswith('codex has background tasks running since "build it" ("sh -c ')
        assert turn(tb) == ("background", [])
        assert [(one.background, one.prompt) for one in tb.status().running] == [(True, "build it")]
        (workspace / "go").touch()
        until((workspace / "late.txt").exists)
        (workspace / "end").touch()
        until(lambda: not refused(tb))
        assert turn(tb) == ("ended", ["end", "go", "late.txt"])
        write_files(workspace, {"mine.txt": b"by hand"})
        made = tb.checkpoint().checkpoint
        assert [change.who for change in tb.show(made).entry.changes] == ["outside"]


def test_what_lives_on_after_a_kill_belongs_to_the_killed_turn(
    workspace: Path, shell: Shell, ready: Path
) -> None:
    with Takeback.open(workspace) as tb:
        tell(tb, events.PROMPT, shell.pid, "killed")
        shell.leaves(LEAVE, env="CODEX_THREAD_ID=one", ready=ready)
        shell.kill()
        assert [code for code, _ in refused(tb)] == [DURING_TURN]
        assert turn(tb)[0] == "background"
        (workspace / "go").touch()
        until((workspace / "late.txt").exists)
        (workspace / "end").touch()
        until(lambda: not refused(tb))
        expected = ("unfinished", ["end", "go", "late.txt"])
        assert turn(tb) == expected
        tb.doctor(rebuild=True)  # it is in the refs, so a ledger made anew says the same
        assert turn(tb) == expected


def test_the_session_of_an_agent_whose_process_is_unknown_is_known_by_its_variable(
    workspace: Path, shell: Shell, ready: Path
) -> None:
    with Takeback.open(workspace) as tb:
        tell(tb, events.PROMPT, None, "build it")
        shell.leaves(LEAVE, env="CODEX_THREAD_ID=another", ready=ready)
        shell.leaves(LEAVE, env="CODEX_THREAD_ID=one", ready=ready)
        tell(tb, events.TURN_END)
        [(_, message)] = refused(tb)
        assert message.count("sh -c") == 1


def test_a_turn_that_was_interrupted_is_unfinished_whatever_it_left_running(
    workspace: Path, shell: Shell, ready: Path
) -> None:
    with Takeback.open(workspace) as tb:
        tell(tb, events.PROMPT, shell.pid, "build it")
        shell.leaves(LEAVE, ready=ready)
        write_files(workspace, {"half.txt": b"half"})
        tell(tb, events.INTERRUPTED, shell.pid)
        assert turn(tb) == ("unfinished", ["half.txt"])
        assert [code for code, _ in refused(tb)] == [DURING_TURN]
        assert turn(tb)[0] == "background"
        (workspace / "end").touch()
        (workspace / "go").touch()
        until(lambda: not refused(tb))
        assert turn(tb) == ("unfinished", ["end", "go", "half.txt", "late.txt"])


def test_a_prompt_after_an_interrupted_turn_leaves_it_unfinished(
    workspace: Path, shell: Shell, ready: Path
) -> None:
    with Takeback.open(workspace) as tb:
        tell(tb, events.PROMPT, shell.pid, "build it")
        shell.leaves(LEAVE, ready=ready)
        tell(tb, events.INTERRUPTED, shell.pid)
        assert refused(tb)
        event = AgentEvent(events.PROMPT, "codex", "one", os.fsdecode(tb.root), turn="2")
        (workspace / "go").touch()
        until((workspace / "late.txt").exists)
        tb.receive(event.replace(prompt="again"))
        second, first = [one for one in tb.checkpoints() if one.turn is not None]
        assert first.turn is not None
        assert first.turn.state == "unfinished"
        assert [change.path for change in first.shown] == [b"go", b"late.txt"]
        assert not second.shown


@pytest.mark.parametrize("what", ["server", "its child", "daemon", "elsewhere", "kept shell"])
def test_what_an_agent_keeps_for_itself_is_no_background_work(
    workspace: Path, shell: Shell, ready: Path, tmp_path: Path, what: str
) -> None:
    """Servers of tools and of languages, what those start; daemons; a shell that waits."""
    with Takeback.open(workspace) as tb:
        if what == "its child":
            write_files(tmp_path, {"pipe": b""})
            os.unlink(tmp_path / "pipe")
            os.mkfifo(tmp_path / "pipe")
            shell.leaves(f". {tmp_path}/pipe", ready=ready)
        tell(tb, events.PROMPT, shell.pid, "build it")
        if what == "server":
            shell.runs(f"sh -c 'touch {ready}; {LEAVE}' &")
            until(ready.exists)
        elif what == "its child":
            ready.unlink()
            (tmp_path / "pipe").write_text(f"setsid sh -c 'echo $$ > {ready}; {LEAVE}'\n")
            until(lambda: ready.exists() and ready.read_text().endswith("\n"))
            shell.left.append(int(ready.read_text()))
        elif what == "kept shell":
            os.mkfifo(tmp_path / "commands")
            shell.runs(f"setsid sh < {tmp_path}/commands &")
            with open(tmp_path / "commands", "w") as commands:
                commands.write(f"touch {ready}\n")
                commands.flush()
                until(ready.exists)
                tell(tb, events.TURN_END, shell.pid)
                assert refused(tb) == []
            return
        else:
            place = "/" if what == "daemon" else str(tmp_path)
            shell.leaves(
                f"cd {place}; until test -e {workspace}/end; do sleep 0.02; done", ready=ready
            )
        tell(tb, events.TURN_END, shell.pid)
        assert refused(tb) == []
        assert turn(tb)[0] == "ended"


def test_what_a_person_starts_between_turns_is_theirs(
    workspace: Path, shell: Shell, ready: Path
) -> None:
    """``!command`` in the agent carries the session's variable, too."""
    with Takeback.open(workspace) as tb:
        tell(tb, events.PROMPT, shell.pid, "build it")
        tell(tb, events.TURN_END, shell.pid)
        shell.leaves(LEAVE, env="CODEX_THREAD_ID=one", ready=ready)
        assert refused(tb) == []


def test_the_command_line_refuses_and_names_what_is_left_running(
    workspace: Path, shell: Shell, ready: Path
) -> None:
    cli = Cli(workspace)

    def hook(name: str, **more: object) -> None:
        said = {"hook_event_name": name, "session_id": "one", "cwd": str(workspace), "turn_id": "1"}
        cli.ok("hook", "codex", stdin=json.dumps({**said, **more}).encode())

    write_files(workspace, {"a.txt": b"0"})
    hook("UserPromptSubmit", prompt="build it")
    write_files(workspace, {"a.txt": b"1"})
    shell.leaves(LEAVE, env="CODEX_THREAD_ID=one", ready=ready)
    hook("Stop")
    answer = cli.run("rewind", "--yes")
    assert answer.status == 13
    assert 'codex has background tasks running since "build it" ("sh -c ' in answer.stderr
    assert "--during-turn" in answer.stderr
    assert 'has background tasks running since "build it"' in cli.ok("status").stdout
    assert cli.log()[0]["state"] == "background"
    (workspace / "go").touch()
    until((workspace / "late.txt").exists)
    (workspace / "end").touch()
    until(lambda: cli.run("rewind", "--yes").status == 0)
    assert not (workspace / "late.txt").exists()
