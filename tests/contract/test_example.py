"""An agent of another package: found by its entry point, connected, heard, taken back."""

from __future__ import annotations

import inspect
import json
import os
import runpy
import sys
from pathlib import Path

import pytest

from takeback.adapters import find_agent
from tests.support.agent import usual_agent
from tests.support.journey import write_files
from tests.support.packages import (
    EXAMPLE,
    InstalledCli,
    install,
    install_example,
    install_takeback,
)

SESSION = "7c1f7f0e-5a49-4b21-9d64-3f9f4d9a2c11"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A site-packages with takeback and the example in it."""
    made = tmp_path / "site-packages"
    install_takeback(made)
    install_example(made)
    return made


class Scribe:
    """The agent itself: it calls what its settings say, and writes its session."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.folder = Path(os.environ["HOME"], ".scribe")
        self.file = self.folder / f"{SESSION}.jsonl"
        self.file.parent.mkdir(parents=True, exist_ok=True)

    def tell(self, what: str, turn: str, text: str = "") -> str:
        settings = json.loads((self.folder / "settings.json").read_text())
        about = {"what": what, "session": SESSION, "turn": turn, "text": text}
        payload = {**about, "directory": str(self.workspace), "file": str(self.file)}
        done = usual_agent().run(
            ["sh", "-c", settings["hook"]],
            cwd=self.workspace,
            input=json.dumps(payload).encode(),
            check=True,
        )
        assert done.stderr == b""
        return done.stdout.decode()

    def say(self, turn: str, text: str) -> None:
        with self.file.open("a") as file:
            file.write(json.dumps({"turn": turn, "text": text}) + "\n")

    def turn(self, turn: str, prompt: str, content: bytes) -> None:
        self.tell("asked", turn, prompt)
        self.say(turn, prompt)
        write_files(self.workspace, {"a": content})
        self.say(turn, "done")
        self.tell("answered", turn)


def test_the_example_is_connected_heard_and_taken_back(workspace: Path, folder: Path) -> None:
    cli = InstalledCli(workspace, folder=folder)
    cli.ok("config", "standby_minutes", "0")
    write_files(workspace, {"a": b"before"})
    scribe = Scribe(workspace)
    scribe.folder.joinpath("settings.json").write_text('{\n  "theirs": 1\n}\n')
    assert "Scribe" in cli.ok("init", "scribe", "--yes").stdout

    scribe.turn("t1", "the first", b"one")
    scribe.turn("t2", "the second", b"two")
    status = cli.ok("--json", "status").json
    assert status["failures"] == []
    [state] = [one for one in status["agents"] if one["agent"] == "scribe"]
    assert (state["connected"], state["hindrance"]) == (True, None)
    turns = cli.ok("--json", "log").json_lines
    assert [line["prompt"] for line in turns] == ["the second", "the first"]

    done = cli.ok("--json", "rewind", "turn:2", "--both", "--yes").json
    assert (workspace / "a").read_bytes() == b"one"
    argv = done["resume"]["argv"]
    new = argv[1].removeprefix("--session=")
    assert argv == ["scribe", f"--session={new}"]
    said = (scribe.folder / f"{new}.jsonl").read_text().splitlines()
    assert [json.loads(line)["text"] for line in said] == ["the first", "done"]
    cli.ok("undo", "--yes")
    assert (workspace / "a").read_bytes() == b"two"

    assert "Scribe: its settings call takeback" in " ".join(cli.run("doctor").stdout.split())
    cli.ok("uninstall", "scribe", "--yes")
    assert scribe.folder.joinpath("settings.json").read_text() == '{\n  "theirs": 1\n}\n'


def test_a_broken_package_is_named_and_harms_nobody(workspace: Path, folder: Path) -> None:
    install(folder, "takeback-broken", {"broken": "broken_agent:agent"}, {"broken_agent.py": "1/0"})
    cli = InstalledCli(workspace, folder=folder)
    write_files(workspace, {"a": b"1"})
    told = {"event": "prompt", "session": "s", "turn": "t", "prompt": "p", "cwd": str(workspace)}
    cli.ok("hook", "generic", stdin=json.dumps(told).encode())
    assert cli.ok("hook", "broken", stdin=b"{}").stdout == ""
    said = "the agent broken of the package takeback-broken: it does not load: ZeroDivisionError"
    status = cli.ok("--json", "status").json
    assert [said in line for line in status["failures"]] == [True]
    [state] = [one for one in status["agents"] if one["agent"] == "broken"]
    assert state["hindrance"].startswith(said)
    assert said in cli.ok("status").stdout
    assert said in cli.run("doctor").stdout
    assert said in cli.run("init", "broken", "--yes").stderr
    [line] = cli.ok("--json", "log").json_lines
    assert line["prompt"] == "p"
    assert "scribe" in cli.run("init", "nobody", "--yes").stderr
    (folder / "takeback_scribe" / "connection.py").write_text("connection = None\n")
    cli.ok("init", "--yes")
    assert "scribe" in cli.run("init", "scribe", "--yes").stderr
    cli.ok("uninstall", "--yes")


def test_the_example_passes_the_contract_by_its_own_tests(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(folder)
    contract = runpy.run_path(str(EXAMPLE / "tests" / "test_contract.py"))["TestScribe"]()
    tests = [name for name in dir(contract) if name.startswith("test_")]
    assert len(tests) > 10
    for name in tests:
        test = getattr(contract, name)
        own = tmp_path / name
        own.mkdir()
        test(**({"tmp_path": own} if "tmp_path" in inspect.signature(test).parameters else {}))
    assert find_agent("scribe") == contract.agent
    for module in [name for name in sys.modules if name.startswith("takeback_scribe")]:
        monkeypatch.delitem(sys.modules, module)
