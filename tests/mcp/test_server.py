"""What a model may ask: it looks, makes checkpoints, and never goes back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from takeback.mcp.server import VERSIONS, McpServer
from tests.support.cli import Cli
from tests.support.host import Host
from tests.support.pypi import with_packages
from tests.support.trees import differences, tree_state


@pytest.fixture
def played(cli: Cli, workspace: Path, tmp_path: Path) -> Path:
    """A workspace in which an agent has had two turns."""
    (workspace / "a.txt").write_text("one\n")
    host = Host(cli, tmp_path)
    for number in (1, 2):
        host.prompt(f"make it {number}")
        (workspace / "a.txt").write_text(f"{number}\n")
        (workspace / f"{number}\x1b[31m.txt").write_text("\x1b[31mred\n")
        host.tell("turn_end")
    return workspace


def ask(server: McpServer, method: str, **params: Any) -> Any:
    asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = json.loads(server.answer(json.dumps(asked).encode()))
    assert answer["id"] == 1
    return answer.get("result", answer.get("error"))


def call(server: McpServer, name: str, **arguments: Any) -> tuple[bool, str]:
    """Returns whether a tool failed, and what it said."""
    result = ask(server, "tools/call", name=name, arguments=arguments)
    [content] = result["content"]
    return result["isError"], content["text"]


def test_the_real_client_sees_what_there_is_and_changes_nothing(
    played: Path, cli: Cli, from_pypi: Callable[[str], Path]
) -> None:
    before = tree_state(played)
    calls = [
        ("status", {}),
        ("log", {"limit": 1}),
        ("show", {"checkpoint": "turn:2"}),
        ("diff", {"checkpoint": "turn:2", "paths": ["a.txt"]}),
        ("diff", {"checkpoint": "turn:1", "to": "turn:2", "stat": True}),
        ("cat", {"checkpoint": "turn:1", "path": "a.txt"}),
        ("search", {"text": "make 2"}),
        ("checkpoint", {"label": "by the model"}),
        ("cat", {"checkpoint": "by the model", "path": "a.txt"}),
        ("cat", {"checkpoint": "turn:9", "path": "a.txt"}),
    ]
    done = subprocess.run(
        [
            sys.executable,
            str(Path(__file__).with_name("real_client.py")),
            *(sys.executable, "-m", "takeback", "mcp"),
        ],
        cwd=played,
        env=with_packages(dict(os.environ), from_pypi("acp")),
        input=json.dumps({"env": dict(os.environ), "calls": calls}),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["version"] == VERSIONS[0]
    looking = ("status", "log", "show", "diff", "cat", "search")
    assert told["tools"] == {**dict.fromkeys(looking, True), "checkpoint": False}
    answers = [text for failed, text in told["answers"] if not failed]
    status, log, show, diff, stat, cat, search, made, again = answers
    assert json.loads(status)["checkpoints"] == 4
    assert json.loads(log)["prompt"] == "make it 2"
    assert [one["path"] for one in json.loads(show)["changed"]] == ["2\x1b[31m.txt", "a.txt"]
    assert "-1\n+2\n" in diff
    assert [json.loads(line)["kind"] for line in stat.splitlines()] == ["added", "modified"]
    assert (cat, again) == ("one\n", "2\n")
    assert json.loads(search)["text"] == "make it 2"
    assert json.loads(made)["label"] == "by the model"
    assert told["answers"][-1][0], "there is no turn 9"
    assert differences(before, tree_state(played)) == []
    assert cli.log()[0]["label"] == "by the model"


def test_each_version_is_spoken_and_others_are_answered_with_the_newest(played: Path) -> None:
    server = McpServer(str(played))
    for version in VERSIONS:
        assert ask(server, "initialize", protocolVersion=version)["protocolVersion"] == version
    for other in ("1999-01-01", None, 3):
        told = ask(server, "initialize", protocolVersion=other)
        assert told["protocolVersion"] == VERSIONS[0]
    assert ask(server, "ping") == {}


def test_there_is_no_tool_that_goes_back(played: Path) -> None:
    server = McpServer(str(played))
    for name in ("rewind", "undo", "redo", "revert", "prune", "config", "label", "hook"):
        assert ask(server, "tools/call", name=name, arguments={})["code"] == -32602


def test_only_the_workspace_is_shown(played: Path, cli: Cli, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    host = Host(cli, tmp_path)
    host.tell("tool_before", tools=[{"name": "edit", "kind": "edit", "paths": [str(outside)]}])
    server = McpServer(str(played))
    for path in (str(outside), "../outside.txt", "/etc/passwd", "a/../../outside.txt"):
        failed, said = call(server, "cat", checkpoint="@", path=path)
        assert (failed, "outside the workspace" in said) == (True, True), path
        failed, _ = call(server, "diff", checkpoint="turn:1", paths=[path])
        assert failed, path


def test_what_controls_a_terminal_is_made_visible(played: Path) -> None:
    server = McpServer(str(played))
    assert call(server, "cat", checkpoint="@", path="2\x1b[31m.txt") == (False, "\\x1b[31mred\n")
    for name, arguments in (("diff", {"checkpoint": "turn:2"}), ("log", {}), ("status", {})):
        assert "\x1b" not in call(server, name, **arguments)[1], name


def test_answers_have_a_bound_and_say_where_they_end(played: Path, cli: Cli) -> None:
    (played / "a.txt").write_text("x" * 99 + "\n" + "y\n" * 200_000)
    (played / "b.bin").write_bytes(b"\0" * 1000)
    for number in range(300):
        (played / f"{number:0200}.txt").write_text("x")
    cli.ok("checkpoint", "-m", "big")
    server = McpServer(str(played))
    failed, said = call(server, "cat", checkpoint="big", path="a.txt")
    assert (failed, len(said) < 61_000) == (False, True)
    assert said.endswith("[cut off here: 340,100 characters more]")
    assert call(server, "cat", checkpoint="big", path="b.bin")[1] == "no text: 1,000 bytes"
    failed, said = call(server, "diff", checkpoint="turn:2", stat=True)
    assert (failed, len(said) < 61_000) == (False, True)
    assert "more; ask for fewer, or for some paths only]" in said.splitlines()[-1]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"not JSON", -32700),
        (b"[" * 100_000, -32700),
        (b"3", -32600),
        (b"[]", -32600),
        (b'{"id":1,"method":"resources/list"}', -32601),
        (b'{"id":1,"method":{"a":[]}}', -32601),
        (b'{"id":1,"method":"tools/call","params":[]}', -32602),
        (b'{"id":1,"method":"tools/call","params":{"name":{}}}', -32602),
    ],
)
def test_what_is_no_request_is_an_error(line: bytes, code: int, tmp_path: Path) -> None:
    assert json.loads(McpServer(str(tmp_path)).answer(line))["error"]["code"] == code


def test_what_asks_nothing_is_not_answered(tmp_path: Path) -> None:
    server = McpServer(str(tmp_path))
    for line in (b'{"method":"notifications/initialized"}', b'{"id":1,"result":{}}'):
        assert server.answer(line) == ""
    both = json.loads(
        server.answer(b'[{"id":1,"method":"ping"},{"method":"x"},{"id":2,"method":"ping"}]')
    )
    assert [one["id"] for one in both] == [1, 2]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        3,
        {"checkpoint": 1, "path": "a"},
        {"checkpoint": "", "path": "a"},
        {"checkpoint": "@"},
        {"checkpoint": "@", "path": "a\0b"},
        {"checkpoint": "@", "path": "a" * 5_000},
        {"checkpoint": "@", "path": "a", "more": 1},
        {"checkpoint": "--help", "path": "a"},
    ],
)
def test_arguments_that_do_not_fit_are_named(arguments: Any, played: Path) -> None:
    result = ask(McpServer(str(played)), "tools/call", name="cat", arguments=arguments)
    assert result["isError"]
    assert result["content"][0]["text"]


def test_where_nothing_is_kept_it_says_so_and_makes_nothing(workspace: Path) -> None:
    server = McpServer(str(workspace))
    for name in ("status", "log", "search"):
        failed, said = call(server, name, **({"text": "x"} if name == "search" else {}))
        assert (failed, "no checkpoints" in said) == (True, True), said
    assert not os.path.exists(os.environ["TAKEBACK_HOME"])
    assert not call(server, "checkpoint")[0]


def test_a_request_that_is_too_long_is_refused_and_the_next_is_answered(cli: Cli) -> None:
    ping = b'{"id":7,"method":"ping"}\n'
    answer = cli.cold("mcp", stdin=b'{"id":6,"x":"' + b"x" * (9 << 20) + b'"}\n' + ping)
    first, second = answer.json_lines
    assert first["error"]["message"] == "the request is too long"
    assert (answer.status, second) == (0, {"jsonrpc": "2.0", "id": 7, "result": {}})
