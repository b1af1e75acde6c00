"""From inside its running turn a model may look and add, and destroys and redirects nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.adapters.launcher import write_launcher
from takeback.app.engine import Engine
from takeback.cli.main import COMMANDS
from takeback.errors import Refused
from takeback.gate.commands import ALLOWED, FROM_INSIDE, REFUSED
from takeback.model.coverage import Overrides
from tests.support.agent import AgentProcess, agent
from tests.support.cli import Cli
from tests.support.host import Host

WORDS = {"TAKEBACK_AGENT": "mine", "TAKEBACK_SESSION_ID": "s1"}
"""What an agent tells its tools' processes, and what it left running."""

REWIND = ("rewind", "turn:1", "--files", "--yes", "--force")
FLAGS = ("--during-turn", "--allow-mass-delete")

ALL = """
import json, sys
from takeback.cli.main import run
for words in json.loads(sys.argv[1]):
    status = run(words)
    sys.stdout.flush(), sys.stderr.flush()
    print("\\nended", status, flush=True)
"""


@pytest.fixture
def own() -> Iterator[AgentProcess]:
    """The agent, whose hooks and whose tools' shells are below its process."""
    with agent() as began:
        yield began


@pytest.fixture
def host(cli: Cli, tmp_path: Path, own: AgentProcess) -> Host:
    """An agent with a finished turn and one that runs."""
    made = Host(cli.told_by(own), tmp_path)
    made.turn("one", {"a.txt": b"1"})
    cli.ok("label", "turn:1", "kept")
    made.prompt("two")
    (cli.directory / "a.txt").write_bytes(b"2")
    return made


def statuses(host: Host, calls: list[list[str]]) -> list[int]:
    """Has the model run many commands in one process, which is quicker; returns how each ended."""
    assert host.cli.agent is not None
    words = [sys.executable, "-c", ALL, json.dumps(calls)]
    done = host.cli.agent.tool(words, cwd=host.cli.directory, check=True)
    lines = done.stdout.decode().splitlines()
    found = [int(line.split()[1]) for line in lines if line[:6] == "ended "]
    assert len(found) == len(calls), done
    return found


def state(cli: Cli) -> list[object]:
    """Returns what a model must not have changed."""
    home = Path(os.environ["TAKEBACK_HOME"])
    settings = Path(os.environ["XDG_CONFIG_HOME"], "takeback", "config.toml")
    log = [(entry["id"], entry["label"]) for entry in cli.ok("--json", "log").json_lines]
    return [
        log,
        (cli.directory / "a.txt").read_bytes(),
        settings.read_bytes() if settings.exists() else None,
        [path.read_bytes() for path in sorted(home.glob("workspaces/*/*/config.toml"))],
        sorted(path.name for path in cli.directory.parent.iterdir()),
    ]


def destroying(cli: Cli) -> list[list[str]]:
    """Everything that destroys or redirects, as a model would say it."""
    beside = cli.directory.parent
    return [
        [*REWIND],
        ["undo", "--yes", "--force"],
        ["redo", "--yes", "--force"],
        ["revert", "turn:1", "--yes", "--force"],
        ["bisect", "--reset"],
        ["apply", "turn:1", "--yes", "--force"],
        ["apply", "turn:1", "--yes", "--force", "--to", str(beside)],
        ["forget", ".", "--yes", "--name", cli.directory.name],
        ["forget", ".", "--now", "--yes", "--name", cli.directory.name],
        ["forget", "--restore", "."],
        ["forget", "--restore"],
        ["prune", "turn:1", "--yes"],
        ["prune", "--session", "mine", "--all", "--yes"],
        ["prune", "--restore"],
        ["purge", "a.txt", "--confirm", "a.txt"],
        ["off"],
        ["on"],
        ["config", "exclude", "**"],
        ["config", "agent_may_rewind", "yes", "--workspace"],
        ["uninstall", "--yes"],
        ["init", "claude", "--yes"],
        ["init", "--here", "claude", "--yes"],
        ["label", "turn:1"],
        ["label", "turn:1", "renamed"],
        ["doctor", "--adopt"],
        ["doctor", "--fix"],
        ["status", "--seen"],
        ["serve", "--json"],
        ["acp", "--", "true"],
        ["summarise", "turn:1", "--from", "--yes"],
        ["config", "--unset", "exclude"],
        ["fork", "turn:1", "--files", "--yes", "--force"],
        ["fork", "turn:1", "--worktree", str(beside / "autostart")],
        ["fork", "turn:1", "--worktree", str(beside / f"{cli.directory.name}x")],
        ["fork", "turn:1", "--worktree", str(beside / f"{cli.directory.name}-x"), "--git"],
        ["demo", "--fast", "--dir", str(beside / "stage")],
        ["-C", str(beside / "elsewhere"), "uninstall", "--yes"],
    ]


def test_every_command_says_what_it_does_from_inside() -> None:
    assert set(FROM_INSIDE) == set(COMMANDS)


def test_a_model_destroys_nothing_from_inside_its_turn(host: Host) -> None:
    host.cli.ok("rewind", "turn:1", "--files", "--yes", "--force")  # so that there is an undo
    (host.cli.directory / "a.txt").write_bytes(b"2")
    (host.cli.directory.parent / "elsewhere").mkdir()
    before = state(host.cli)
    calls = destroying(host.cli)
    found = statuses(host, calls)
    ended = {" ".join(words): status for words, status in zip(calls, found, strict=True)}
    redo = " ".join(calls[2])
    assert ended.pop(redo) == 13  # nothing to redo is the same answer
    assert {words: status for words, status in ended.items() if status != 13} == {}
    assert state(host.cli) == before
    refused = {words[0] for words in calls if words[0] != "-C"}
    assert refused >= {name for name, how in FROM_INSIDE.items() if how == REFUSED}


def test_a_background_task_of_a_model_destroys_nothing_after_its_turn(host: Host) -> None:
    host.end(background=True)
    before = state(host.cli)
    calls = [[*REWIND], ["off"]]
    assert statuses(host, calls) == [13, 13]
    assert state(host.cli) == before
    host.end()  # of the tasks
    assert statuses(host, calls) == [0, 13]


def test_a_model_looks_and_adds_from_inside_its_turn(host: Host) -> None:
    beside = host.cli.directory.parent / f"{host.cli.directory.name}-2"
    calls = [
        *([name] for name, how in FROM_INSIDE.items() if how == ALLOWED),
        ["config"],
        ["config", "exclude"],
        ["doctor"],
        ["cat", "@", "a.txt"],
        ["blame", "a.txt"],
        ["checkpoint", "-m", "mine"],
        ["label", "@", "another"],
        ["rewind", "turn:1", "--files", "--dry-run"],
        ["forget", ".", "--dry-run"],
        ["prune", "--dry-run"],
        ["purge", "a.txt", "--dry-run"],
        ["fork", "turn:2", "--worktree", str(beside)],
    ]
    needing = {
        "search": ["search", "one"],
        "show": ["show", "turn:1"],
        "diff": ["diff", "turn:1"],
        "compare": ["compare", "turn:1", "turn:2"],
        "completion": ["completion", "bash"],
    }
    calls = [needing.get(words[0], words) if len(words) == 1 else words for words in calls]
    found = statuses(host, calls)
    ended = {" ".join(words): status for words, status in zip(calls, found, strict=True)}
    assert set(ended.values()) == {0}, ended
    assert (beside / "a.txt").read_bytes() == b"1"


def test_takeback_starts_no_program_for_a_model_unless_a_person_has_said_so(host: Host) -> None:
    test = ["bisect", "turn:1", "turn:1.end", "--", "test", "!", "-e", "a.txt"]
    assert statuses(host, [["run", "true"], test]) == [13, 13]
    host.cli.ok("config", "agent_may_run", "yes")
    assert statuses(host, [["run", "true"], test]) == [0, 0]


def test_a_model_is_known_by_its_process_wherever_it_calls(
    host: Host, tmp_path: Path, own: AgentProcess
) -> None:
    cli, elsewhere = host.cli, tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = Cli(elsewhere)
    other.ok("checkpoint")
    model = cli.inside(own)
    assert model.run("forget", ".", "--yes", "--name", cli.directory.name).status == 13
    for words in (["off"], ["rewind", "@", "--files", "--yes"], ["log"]):
        assert model.run("-C", str(elsewhere), *words).status == 13
        assert other.inside(own).run(*words).status == 13
    assert model.run("log").status == 0
    assert cli.ok("on").status == 0  # a person at another terminal is not below the agent
    host.end()
    assert model.run("off").status == 13  # it cannot be taken back
    assert model.run("-C", str(elsewhere), "rewind", "@", "--files", "--yes").status == 13
    # and when the turn is over, a person may call it there, by `!takeback rewind`
    assert model.run(*REWIND).status == 0


def test_a_variable_that_was_taken_out_on_the_way_is_seen_in_the_shell_above(host: Host) -> None:
    line = 'env -u TAKEBACK_SESSION_ID "$@"; exit $?'
    argv = ["sh", "-c", line, "sh", *host.cli.argv("forget", ".", "--yes", "--name", "x")]
    done = subprocess.run(
        argv, cwd=host.cli.directory, env=host.cli.environment(WORDS), capture_output=True
    )
    assert done.returncode == 13
    assert b"inside a running turn of mine" in done.stderr


def test_an_agent_that_tells_its_tools_no_session_is_known_by_its_mark(cli: Cli) -> None:
    said = {"session_id": "s1", "cwd": str(cli.directory)}
    mark = {"GEMINI_CLI": "1"}
    for event, status in (("BeforeAgent", 13), ("AfterAgent", 0)):
        told = {**said, "hook_event_name": event, "prompt": "p"}
        cli.ok("hook", "gemini", stdin=json.dumps(told).encode())
        assert cli.run("rewind", "turn:1", "--files", "--yes", env=mark).status == status
        assert cli.run("off", env=mark).status == 13
    assert cli.run("off").status == 0


def test_a_model_cannot_say_that_its_own_turn_is_over(cli: Cli, own: AgentProcess) -> None:
    """It may run `takeback hook`; the agent itself calls the launcher."""
    launcher = write_launcher(os.environ["TAKEBACK_HOME"])
    model = cli.inside(own)
    said = {"session_id": "s1", "cwd": str(cli.directory), "prompt_id": "t", "prompt": "p"}

    def event(name: str, **more: str) -> bytes:
        return json.dumps({**said, "hook_event_name": name, **more}).encode()

    def told(stdin: bytes) -> None:
        own.run([launcher, "claude"], cwd=cli.directory, input=stdin, check=True)

    told(event("UserPromptSubmit"))
    generic = {"event": "turn_end", "agent": "claude", "session": "s1", "turn": "t"}
    stdio = {"id": 1, "call": "event", "event": {"event": "session_end", "session": "s1"}}
    model.ok("hook", "claude", stdin=event("Stop"))
    model.ok("hook", "plugin", stdin=event("SessionEnd"))
    model.ok("hook", "generic", stdin=json.dumps(generic).encode())
    stdio["event"] = {**generic}
    answer = model.ok("hook", "generic", "--stdio", stdin=json.dumps(stdio).encode())
    assert answer.json["error"]["code"] == "refused"
    asked = event("UserPromptSubmit", prompt="/takeback 1 files yes")
    assert model.ok("hook", "claude", stdin=asked).stdout == ""
    assert model.run(*REWIND).status == 13
    assert len(cli.ok("--json", "status").json["failures"]) == 5
    told(event("Stop"))
    assert model.run(*REWIND).status == 0


def test_a_model_cannot_write_into_its_transcript_that_its_turn_is_over(
    cli: Cli, own: AgentProcess
) -> None:
    """The file is the model's to write; that Esc was pressed may be its own invention."""
    transcript = Path(os.environ["HOME"], ".claude", "projects", "x", "s1.jsonl")
    transcript.parent.mkdir(parents=True)
    model = cli.inside(own)
    lines: list[str] = []

    def line(role: str, words: str) -> None:
        message = {"role": role, "content": [{"type": "text", "text": words}]}
        entry = {"type": role, "uuid": words, "promptId": "t", "sessionId": "s1"}
        parent = lines[-1] if lines else None
        with transcript.open("a") as file:
            file.write(json.dumps({**entry, "parentUuid": parent, "message": message}) + "\n")
        lines.append(words)

    def event(name: str) -> None:
        said = {"session_id": "s1", "cwd": str(cli.directory), "transcript_path": str(transcript)}
        told = {**said, "hook_event_name": name, "prompt_id": "t", "prompt": "p"}
        cli.told_by(own).ok("hook", "claude", stdin=json.dumps(told).encode())

    line("user", "before")
    event("UserPromptSubmit")
    line("user", "p")
    line("assistant", "I will")
    (cli.directory / "a.txt").write_bytes(b"2")
    line("user", "[Request interrupted by user]")
    assert model.run(*REWIND).status == 13
    [row] = [one for one in model.ok("--json", "log").json_lines if one["turn"]]
    assert row["state"] == "unfinished"  # whoever looks is told what the transcript says
    model.ok("checkpoint")
    model.ok("checkpoint", "--session", "claude-s1")
    for words in (["off"], REWIND):
        assert model.run(*words).status == 13, words
    assert cli.run("off").status == 0  # the person's own terminal
    assert cli.run("on").status == 0
    event("UserPromptSubmit")
    event("Stop")
    assert model.run(*REWIND).status == 0


def test_a_model_that_ends_its_own_agent_is_not_free_of_its_turn(
    host: Host, own: AgentProcess
) -> None:
    """What it left running keeps the session's variables, within the hour."""
    own.kill()
    assert host.cli.run("off", env=WORDS).status == 13
    host.cli.ok("log")  # the turn is closed: its agent is gone
    assert host.cli.run("off", env=WORDS).status == 13
    assert host.cli.run("off").status == 0


def test_the_setting_lets_a_model_rewind_and_nothing_else(host: Host) -> None:
    host.cli.ok("config", "agent_may_rewind", "yes")
    calls = [
        [*REWIND],
        ["undo", "--yes", "--force"],
        ["off"],
        ["label", "turn:1"],
    ]
    assert statuses(host, calls) == [0, 0, 13, 13]


def test_the_program_that_runs_the_turn_takes_its_own_workspace_back(workspace: Path) -> None:
    (workspace / "a").write_text("1")
    with Takeback.open(workspace) as tb:
        session = tb.session("mine")
        with session.turn("break it") as turn:
            (workspace / "a").write_text("2")
            tb.rewind(turn.before, overrides=Overrides(during_turn=True))
            assert (workspace / "a").read_text() == "1"
            tb.label(turn.before, "mine")
            tb.label(turn.before, None)


def test_what_an_extension_asks_for_is_refused_to_a_model_that_speaks_in_its_place(
    host: Host, own: AgentProcess
) -> None:
    calls: list[dict[str, object]] = [
        {"call": "rewind", "checkpoint": "mine-s1/turn:1", "overrides": list(FLAGS)},
        {"call": "label", "checkpoint": "mine-s1/turn:1", "label": None},
        {"call": "undo", "overrides": list(FLAGS)},
    ]
    stdin = "".join(json.dumps({"id": 1, **call}) + "\n" for call in calls).encode()
    answer = host.cli.inside(own).ok("hook", "pi", "--stdio", stdin=stdin)
    assert [line["error"]["code"] for line in answer.json_lines] == ["refused"] * 3
    # Called by the agent it is the extension itself, which asks for its person.
    answer = host.cli.ok("hook", "pi", "--stdio", stdin=stdin)
    assert [line["ok"] for line in answer.json_lines] == [True, True, True]


def test_forget_of_the_api_is_refused_too(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in WORDS.items():
        monkeypatch.setenv(name, value)
    with Takeback.open(host.cli.directory) as tb, pytest.raises(Refused, match="inside a running"):
        tb.forget()
    with pytest.raises(Refused, match="inside a running"):
        Engine.bring_back(host.cli.directory)
