"""``takeback acp`` between an editor of bare bytes and a scripted agent.

Real agents and a real client are in ``tests/agents/test_acp.py``.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from takeback.turns.processes import is_alive, seen
from tests.support.agent import agent
from tests.support.cli import Cli
from tests.support.processes import wait_for
from tests.support.trees import differences, tree_state

AGENT = Path(__file__).with_name("scripted_agent.py")
OWN = f"acp-{Path(sys.executable).name}"


class Editor:
    """The editor's side of the pipes."""

    def __init__(self, cli: Cli, heard: Path, program: str = sys.executable) -> None:
        self.process = cli.start("acp", "--", program, str(AGENT), str(heard))
        self._heard = heard
        self._number = 0

    @property
    def agent(self) -> int:
        """The agent's process, by its words."""
        if not os.path.isdir("/proc/self"):
            pytest.skip("NOT TESTED: there is no /proc")
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[1:3] == [str(AGENT).encode(), str(self._heard).encode()]:
                return int(folder.name)
        raise AssertionError("there is no agent")

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def line(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def begin(self, method: str, **params: Any) -> int:
        self._number += 1
        asked = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self.write(json.dumps(asked).encode() + b"\n")
        return self._number

    def ask(self, method: str, **params: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Returns the answer, and what was told before it."""
        told: list[dict[str, Any]] = []
        number = self.begin(method, **params)
        while message := json.loads(self.line()):
            if message.get("id") == number:
                return message, told
            told.append(message["params"]["update"])
        raise AssertionError("no answer")

    def start(self, directory: Path) -> list[str]:
        """Begins the session, and returns the commands that the editor is offered."""
        self.ask("session/new", cwd=str(directory), mcpServers=[])
        offered = json.loads(self.line())["params"]["update"]
        return [one["name"] for one in offered["availableCommands"]]

    def prompt(self, text: str) -> tuple[dict[str, Any], str]:
        """Returns the answer to a prompt, and what was said before it."""
        blocks = [{"type": "text", "text": text}]
        answer, told = self.ask("session/prompt", sessionId="s1", prompt=blocks)
        said = [one["content"]["text"] for one in told if "content" in one]
        return answer, "".join(said)

    def begin_prompt(self, text: str) -> int:
        return self.begin("session/prompt", sessionId="s1", prompt=[{"type": "text", "text": text}])

    def end(self) -> int:
        """Closes the pipe to the proxy and returns its exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(60)


@pytest.fixture
def heard(tmp_path: Path) -> Path:
    return tmp_path / "heard"


@pytest.fixture
def editor(cli: Cli, workspace: Path, heard: Path) -> Iterator[Editor]:
    (workspace / "a.txt").write_text("0")
    made = Editor(cli, heard)
    with made.process:
        yield made
        made.process.kill()


def turns(cli: Cli) -> list[tuple[str, str]]:
    """Returns the turns, oldest first, with their states."""
    lines = [line for line in cli.log("--all") if line["kind"] in ("prompt", "steer")]
    return [(line["prompt"], line["state"]) for line in reversed(lines)]


def test_every_line_passes_as_it_came(editor: Editor, heard: Path) -> None:
    sent = (
        b'{"jsonrpc":"2.0",  "method":"x/y","params":{"b":1.50,"a":"\\u00e9\xc3\xa9"}}\n',
        b"not JSON\n",
        b"\xff\xfe\n",
        b"\r\n",
        b"\n",
        b"[" * 100_000 + b"\n",
        b'[{"jsonrpc":"2.0","id":1,"method":"session/prompt"}]\n',
        b'{"id":{"a":[]},"method":"session/prompt","params":[]}\n',
        b'{"id":7,"method":"session/prompt","params":{"sessionId":{},"prompt":3}}\n',
        b'{"method":"session/update","params":{"update":{"sessionUpdate":[]}}}\n',
        b'{"id":1,"result":{"sessionId":"none"}}\n',
        b"no end of a line",
    )
    editor.write(b"".join(sent))
    assert editor.end() == 0
    assert heard.read_bytes() == b"".join(sent)


def test_a_line_of_100_mb_passes_within_a_bound_of_memory(editor: Editor, workspace: Path) -> None:
    editor.start(workspace)
    editor.prompt("write a.txt 1")
    before = most_memory(editor.process.pid)
    editor.begin_prompt(f"say {100 << 20}")
    line = editor.line()
    assert (len(line), set(line)) == ((100 << 20) + 1, set(b"x\n"))
    assert json.loads(editor.line())["result"] == {"stopReason": "end_turn"}
    if before is not None:
        grown = (most_memory(editor.process.pid) or 0) - before
        assert grown < 160 << 10, f"{grown} KB more"


@pytest.mark.long
def test_an_editor_may_take_its_time_after_the_agent_has_ended(
    editor: Editor, workspace: Path
) -> None:
    editor.start(workspace)
    assert editor.process.stdout is not None
    pipe = fcntl.fcntl(editor.process.stdout, fcntl.F_GETPIPE_SZ)
    count = ((1 << 20) + 2 * pipe) // 1000  # a little more than the proxy takes in at once
    agent = seen(editor.agent)
    editor.begin_prompt(f"flood {count}")
    wait_for(lambda: not is_alive(agent))
    time.sleep(3)  # longer than is waited for what somebody else may still say
    *lines, last = editor.process.stdout.read().splitlines()
    assert lines == [b"x" * 999] * count
    assert json.loads(last)["error"]["message"] == "the agent has ended with status 0"


def most_memory(process: int) -> int | None:
    """Returns the most that a process has ever had in memory, in KB, where that is told."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return None
    [found] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
    return int(found)


def test_a_prompt_waits_until_its_files_are_kept_and_is_taken_back(
    editor: Editor, cli: Cli, workspace: Path, heard: Path
) -> None:
    assert editor.start(workspace) == ["takeback"]
    before = tree_state(workspace)
    editor.prompt("write a.txt 1")
    editor.prompt("write b.txt 2")
    assert turns(cli) == [("write a.txt 1", "ended"), ("write b.txt 2", "ended")]
    assert [one["agent"] for one in cli.log()] == [OWN, OWN]
    assert "write b.txt 2" in editor.prompt("/takeback")[1]
    assert "To do it: /takeback 1 yes" in editor.prompt("/takeback 1")[1]
    answer, said = editor.prompt("/takeback 1 yes")
    assert answer["result"] == {"stopReason": "end_turn"}
    assert said.startswith("```\nRewound 2 files to ")
    assert differences(before, tree_state(workspace)) == []
    assert b"/takeback" not in heard.read_bytes(), "the agent never saw it"
    told = editor.prompt("echo")[1]
    blocks = json.loads(told)["params"]["prompt"]
    assert [block["text"].partition(":")[0] for block in blocks] == ["Note from takeback", "echo"]
    assert "Note" not in editor.prompt("echo again")[1]
    assert editor.end() == 0


def test_a_command_is_added_to_those_of_the_agent_once(editor: Editor, workspace: Path) -> None:
    editor.start(workspace)
    for own in (
        [{"name": "init", "description": "d", "_meta": {"x": 1.5}}],
        [{"name": "takeback"}],
    ):
        params = json.dumps({"jsonrpc": "2.0", "method": "session/commands", "params": own})
        editor.write(params.encode() + b"\n")
        found = json.loads(editor.line())["params"]["update"]["availableCommands"]
        assert found[: len(own)] == own
        assert [one["name"] for one in found].count("takeback") == 1


def test_an_end_that_is_none_is_an_interruption(editor: Editor, cli: Cli, workspace: Path) -> None:
    editor.start(workspace)
    assert editor.prompt("fail")[0]["error"]["message"] == "as you wish"
    assert editor.prompt("cancel")[0]["result"]["stopReason"] == "cancelled"
    number = editor.begin_prompt("hang")
    steer, _ = editor.prompt("write a.txt 5")
    assert steer["id"] == number + 1
    assert [prompt for prompt, _ in turns(cli)] == ["fail", "cancel", "hang", "write a.txt 5"]
    assert [one["kind"] for one in cli.log()][:2] == ["steer", "prompt"]


def test_an_agent_that_is_killed_leaves_an_error_and_its_turn(
    editor: Editor, cli: Cli, workspace: Path
) -> None:
    editor.start(workspace)
    editor.prompt("write a.txt 1")
    number = editor.begin_prompt("hang")
    wait_for(lambda: turns(cli)[-1][0] == "hang")
    (workspace / "a.txt").write_text("2")
    os.kill(editor.agent, signal.SIGKILL)
    answer = json.loads(editor.line())
    assert answer["id"] == number
    assert answer["error"]["message"] == "the agent was killed by signal 9"
    assert editor.process.wait(60) == 128 + signal.SIGKILL
    assert turns(cli)[-1] == ("hang", "unfinished")
    assert [one["path"] for one in cli.log()[0]["changed"]] == ["a.txt"]
    cli.ok("verify")


def test_an_editor_that_is_killed_leaves_no_agent(
    editor: Editor, cli: Cli, workspace: Path
) -> None:
    editor.start(workspace)
    editor.begin_prompt("hang")
    wait_for(lambda: turns(cli))
    (workspace / "a.txt").write_text("2")
    agent = seen(editor.agent)
    for pipe in (editor.process.stdin, editor.process.stdout):
        assert pipe is not None
        pipe.close()
    editor.process.wait(60)
    assert not is_alive(agent)
    assert turns(cli) == [("hang", "unfinished")]
    assert [one["path"] for one in cli.log()[0]["changed"]] == ["a.txt"]


def test_a_proxy_that_is_killed_ends_the_agent_and_whoever_looks_ends_the_turn(
    editor: Editor, cli: Cli, workspace: Path
) -> None:
    editor.start(workspace)
    editor.prompt("write a.txt 1")
    editor.begin_prompt("hang")
    wait_for(lambda: turns(cli)[-1][0] == "hang")
    (workspace / "a.txt").write_text("2")
    agent = seen(editor.agent)
    editor.process.kill()
    wait_for(lambda: not is_alive(agent))
    assert turns(cli) == [("write a.txt 1", "ended"), ("hang", "unfinished")]
    assert [one["path"] for one in cli.log()[0]["changed"]] == ["a.txt"]
    cli.ok("rewind", "turn:2", "--files", "--yes")
    assert (workspace / "a.txt").read_text() == "1"
    cli.ok("verify")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_all_of_them(
    number: signal.Signals, editor: Editor, cli: Cli, workspace: Path
) -> None:
    editor.start(workspace)
    editor.begin_prompt("hang")
    wait_for(lambda: turns(cli))
    agent = seen(editor.agent)
    editor.process.send_signal(number)
    assert editor.process.wait(60) == 128 + number
    assert not is_alive(agent)
    assert turns(cli) == [("hang", "unfinished")]


def test_who_records_may_die_and_is_started_again(
    editor: Editor, cli: Cli, workspace: Path
) -> None:
    editor.start(workspace)
    editor.prompt("write a.txt 1")
    recorder = recorder_of(editor.process.pid)
    os.kill(recorder, signal.SIGSTOP)  # it has the next question when it dies
    editor.begin_prompt("write a.txt 2")
    time.sleep(0.2)
    os.kill(recorder, signal.SIGKILL)
    while json.loads(editor.line()).get("result") is None:
        pass
    assert editor.prompt("write a.txt 3")[0]["result"]["stopReason"] == "end_turn"
    assert editor.end() == 0
    assert turns(cli) == [(f"write a.txt {number}", "ended") for number in (1, 2, 3)]
    assert (workspace / "a.txt").read_text() == "3"


def recorder_of(proxy: int) -> int:
    """Returns the process that records for a proxy."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes()
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == proxy and b"--stdio" in words:
            return int(folder.name)
    raise AssertionError("nobody records")


def test_an_agent_that_is_seen_to_record_itself_is_left_to_it(
    editor: Editor, cli: Cli, workspace: Path
) -> None:
    own = {"event": "prompt", "agent": "self", "session": "s1", "prompt": "told"}
    told = json.dumps({**own, "cwd": str(workspace)})
    editor.start(workspace)
    editor.prompt(f"run echo '{told}' | {sys.executable} -m takeback hook generic")
    editor.prompt("write a.txt 2")
    assert {one["agent"] for one in cli.log()} == {OWN, "self"}
    assert "write a.txt 2" not in [prompt for prompt, _ in turns(cli)]
    assert "told" in editor.prompt("/takeback")[1], "its own session is meant"


def test_hooks_that_are_set_up_and_silent_are_found_out(
    cli: Cli, workspace: Path, heard: Path, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "gemini"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    program.chmod(0o755)
    cli.ok("init", "gemini", "--yes")
    cli.ok("checkpoint")
    editor = Editor(cli, heard, str(program))
    with editor.process:
        editor.start(workspace)
        editor.prompt("write a.txt 1")
        editor.prompt("write a.txt 2")
        assert editor.end() == 0
    [turn] = cli.log("--session", "acp-gemini")
    assert (turn["agent"], turn["prompt"]) == ("acp-gemini", "write a.txt 2")
    [failure] = cli.ok("--json", "status").json["failures"]
    assert "its own hooks did not tell its turns" in failure


def test_turned_off_it_only_passes(cli: Cli, workspace: Path, heard: Path) -> None:
    cli.ok("checkpoint")
    cli.ok("off")
    editor = Editor(cli, heard)
    with editor.process:
        editor.start(workspace)
        assert editor.prompt("write a.txt 1")[0]["result"]["stopReason"] == "end_turn"
        assert editor.end() == 0
    assert turns(cli) == []


def test_no_program_of_a_workspace_is_run(cli: Cli, workspace: Path) -> None:
    cli.ok("checkpoint")
    planted = workspace / "agent"
    planted.write_text("#!/bin/sh\ntouch witness\n")
    planted.chmod(0o755)
    for name in (str(planted), "./agent", "agent", "no-such-agent"):
        answer = cli.run("acp", "--", name, env={"PATH": f"{workspace}:{os.environ['PATH']}"})
        assert answer.status == 2, name
        assert "there is no program" in answer.stderr
    assert not (workspace / "witness").exists()
    assert cli.run("acp").status == 2


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_an_editor_that_was_never_there_keeps_nothing_waiting(closed: str, cli: Cli) -> None:
    words = [sys.executable, "-m", "takeback", "acp", "--", "cat"]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *words],
        cwd=cli.directory,
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0


@pytest.mark.parametrize(("command", "status"), [("exit 7", 7), ("kill -9 $$", 137)])
def test_the_exit_status_of_the_agent_is_passed_on(command: str, status: int, cli: Cli) -> None:
    assert cli.cold("acp", "--", "sh", "-c", command).status == status


def test_a_model_behind_the_proxy_may_look_and_goes_nowhere(
    editor: Editor, cli: Cli, workspace: Path
) -> None:
    editor.start(workspace)
    editor.prompt("write a.txt 1")
    takeback = f"{sys.executable} -m takeback"
    assert "write a.txt 1" in editor.prompt(f"run {takeback} log")[1]
    own = {"agent": OWN, "session": "s1", "cwd": str(workspace)}
    over = json.dumps({"event": "turn_end", **own})
    back = json.dumps({"id": 1, "call": "command", **own, "command": "x", "words": ["1", "yes"]})
    for hide in ("", "env -u TAKEBACK_AGENT "):
        said = editor.prompt(f"run {hide}{takeback} rewind turn:1 --files --during-turn --yes")[1]
        assert "not done for a model" in said or "inside a running turn" in said
        editor.prompt(f"run echo '{over}' | {hide}{takeback} hook generic")
    said = editor.prompt(f"run echo '{back}' | {takeback} hook generic --stdio")[1]
    assert "this was asked for by a tool of" in said
    assert (workspace / "a.txt").read_text() == "1"
    failures = cli.ok("--json", "status").json["failures"]
    assert len([line for line in failures if "told by a tool of that very session" in line]) == 2


def test_a_model_does_not_speak_for_the_editor(cli: Cli) -> None:
    told = {"event": "prompt", "session": "s1", "agent": "mine", "prompt": "p"}
    with agent() as own:
        cli.told_by(own).ok("hook", "generic", stdin=json.dumps(told).encode())
        answer = cli.inside(own).run("acp", "--", "true")
    assert (answer.status, "not done for a model" in answer.stderr) == (13, True)
