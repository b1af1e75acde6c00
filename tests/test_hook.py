"""The hook as a process: what it imports, what it prints, and that it never fails an agent."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from takeback.app.engine import Engine
from takeback.model.event import PROMPT, AgentEvent
from tests.support.agent import usual_agent
from tests.support.below import BelowAgent
from tests.support.cli import Cli
from tests.support.engine import settle
from tests.support.host import read_transcripts_in
from tests.support.journey import write_files
from tests.support.processes import wait_for
from tests.support.unprivileged import unprivileged

HEAR = "import sys; from takeback.hook import main; sys.exit(main(['generic']))"
GOLDEN = [
    "__future__",
    "_bisect",
    "_collections",
    "_json",
    "_operator",
    "_sha1",
    "_struct",
    "encodings.ascii",
    "errno",
    "fcntl",
    "gc",
    "struct",
    "zlib",
]
"""Modules beyond those of bare Python that a prompt with nothing new imports, in every version."""
MOST_OF_OURS = 77
FORBIDDEN = {"sqlite3", "subprocess", "tomllib", "asyncio", "dataclasses", "typing", "re", "json"}


def event(kind: str, session: str = "s1", **fields: Any) -> bytes:
    return json.dumps({"event": kind, "session": session, "agent": "mine", **fields}).encode()


def imported(workspace: Path, program: str, stdin: bytes = b"") -> set[str]:
    words = [sys.executable, "-X", "importtime", "-I", "-c", program]
    done = usual_agent().run(words, cwd=workspace, input=stdin, check=True)
    lines = [line for line in done.stderr.decode().splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines[1:]}


@pytest.fixture
def beyond(cli: Cli, workspace: Path) -> set[str]:
    """What a prompt hook imports beyond bare Python."""
    write_files(workspace, {"a": b"x"})
    settle()
    for number in range(3):
        cli.ok("hook", "generic", stdin=event("prompt", turn=str(number), prompt="p"))
    told = imported(workspace, HEAR, event("prompt", turn="9", prompt="p"))
    beyond = told - imported(workspace, "pass")
    assert "takeback.turns.receive" in beyond
    return beyond


@pytest.fixture
def modules(beyond: set[str]) -> list[str]:
    """What a prompt hook imports beyond bare Python, takeback itself left out."""
    return sorted(name for name in beyond if name.partition(".")[0] != "takeback")


def test_a_prompt_imports_of_the_app_what_it_takes_to_record(beyond: set[str]) -> None:
    app = {name for name in beyond if name.startswith("takeback.app")}
    parts = ("border", "recording", "workspace")
    assert app == {"takeback.app", *(f"takeback.app.{part}" for part in parts)}
    ours = [name for name in beyond if name.startswith("takeback")]
    assert len(ours) <= MOST_OF_OURS, "each costs every hook a tenth of a millisecond"


def test_a_prompt_imports_exactly_this(modules: list[str]) -> None:
    assert modules == GOLDEN


@pytest.mark.slow
def test_with_settings_a_prompt_imports_no_more(workspace: Path, cli: Cli) -> None:
    """What was read of them is kept: TOML is parsed when a file has changed, not at each event."""
    write_files(workspace, {"a": b"x"})
    cli.ok("config", "hook_seconds", "4")
    cli.ok("config", "never", "~/elsewhere")
    cli.ok("config", "--workspace", "size_limit_mb", "50")
    settle()
    time.sleep(2.1)
    for number in range(3):
        cli.ok("hook", "generic", stdin=event("prompt", turn=str(number), prompt="p"))
    told = imported(workspace, HEAR, event("prompt", turn="9", prompt="p"))
    beyond = told - imported(workspace, "pass")
    assert "takeback.config.compiled" in beyond
    assert sorted(name for name in beyond if name.partition(".")[0] != "takeback") == GOLDEN


def test_a_prompt_imports_nothing_slow_and_only_the_standard_library(modules: list[str]) -> None:
    tops = {name.partition(".")[0] for name in modules}
    assert tops.isdisjoint(FORBIDDEN)
    assert tops <= sys.stdlib_module_names


@pytest.mark.parametrize(
    ("told", "opens"),
    [
        (event("tool_before", tools=[{"name": "W", "kind": "edit", "paths": ["new"]}]), False),
        (event("tool_before", tools=[{"name": "W", "kind": "edit", "paths": ["a"]}]), True),
        (event("round_end", tools=[{"name": "R", "kind": "read", "paths": ["a"]}]), False),
        (event("round_end", tools=[{"name": "S", "kind": "shell"}]), True),
        (event("round_end"), True),
    ],
)
def test_what_concerns_no_file_opens_no_store(workspace: Path, told: bytes, opens: bool) -> None:
    write_files(workspace, {"a": b"x"})
    assert ("takeback.app" in imported(workspace, HEAR, told)) is opens


def quiet(cli: Cli, *words: str, stdin: bytes, env: dict[str, str] | None = None) -> None:
    """Runs a hook, which must end well and say nothing, whatever it is given."""
    answer = cli.run("hook", *words, stdin=stdin, env=env)
    assert (answer.status, answer.stdout, answer.stderr) == (0, "", "")


def failures(cli: Cli) -> list[str]:
    found = cli.ok("--json", "status").json["failures"]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(
    "stdin",
    [
        b"",
        b"not json",
        b'{"event": ',
        b"[1, 2]",
        b'"text"',
        b"{}",
        b'{"event": "prompt"}',
        b'{"event": "from the future", "session": "s"}',
        b'{"event": 3, "session": []}',
        b'{"event": "prompt", "session": "s", "tools": [{"kind": "odd"}]}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
    ],
)
def test_garbage_is_one_line_in_the_log(cli: Cli, workspace: Path, stdin: bytes) -> None:
    cli.ok("checkpoint")
    quiet(cli, "generic", stdin=stdin)
    [line] = failures(cli)
    assert "hook generic: " in line
    assert "bug" not in line


@pytest.mark.parametrize("depth", [300, 500, 900])
def test_messages_that_are_nested_deeply_are_kept_or_told(
    cli: Cli, workspace: Path, depth: int
) -> None:
    told = b'{"event": "prompt", "session": "s", "prompt": "deep", "messages": [%s1%s]}'
    quiet(cli, "generic", stdin=told % (b"[" * depth, b"]" * depth))
    [line] = cli.ok("--json", "log").json_lines
    assert line["prompt"] == "deep"
    assert cli.ok("cat", "turn:1", "--conversation").stdout.count("[") == depth
    assert failures(cli) == []


def test_an_agent_that_nobody_knows(cli: Cli, workspace: Path) -> None:
    cli.ok("checkpoint")
    quiet(cli, "someone", stdin=event("prompt"))
    quiet(cli, stdin=event("prompt"))
    first, second = failures(cli)
    assert "no adapter for 'someone'" in first
    assert "no adapter for ''" in second


def test_fields_of_a_later_version_are_passed_over(cli: Cli, workspace: Path) -> None:
    told = event("prompt", prompt="p", turn="t", shiny={"new": [1]}, tools=[{"name": "x", "y": 1}])
    quiet(cli, "generic", stdin=told)
    assert cli.ok("--json", "log").json_lines[0]["prompt"] == "p"


def test_a_directory_that_is_not_there_or_not_protected(cli: Cli, workspace: Path) -> None:
    cli.ok("checkpoint")
    quiet(cli, "generic", stdin=event("prompt", cwd=str(workspace / "gone")))
    quiet(cli, "generic", stdin=event("prompt", cwd="/"))
    agent = BelowAgent(workspace)  # which has this HOME too
    quiet(agent, "generic", stdin=event("prompt", cwd=os.environ["HOME"]))
    assert len(failures(cli)) == 1  # those of other directories are not of this workspace
    assert len(Path(os.environ["TAKEBACK_HOME"], "log").read_text().splitlines()) == 3


def test_takeback_off_records_nothing(cli: Cli, workspace: Path) -> None:
    cli.ok("checkpoint")
    agent = BelowAgent(workspace, {"TAKEBACK": "off"})
    quiet(agent, "generic", stdin=event("prompt", prompt="p"))
    assert [line["kind"] for line in cli.ok("--json", "log").json_lines] == ["manual"]


def store_of(cli: Cli) -> Path:
    return Path(cli.ok("--json", "status").json["store"])


def test_an_event_that_does_not_get_the_lock_waits_and_is_recorded_late(
    cli: Cli, workspace: Path
) -> None:
    cli.ok("checkpoint")
    store = store_of(cli)
    cli.ok("config", "hook_seconds", "1")
    with (store / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        begin = time.monotonic()
        quiet(cli, "generic", stdin=event("prompt", turn="t1", prompt="while it is locked"))
        assert time.monotonic() - begin < 5
    assert cli.ok("--json", "status").json["waiting"] == 1
    assert "1 event not yet recorded" in cli.ok("status").stdout
    quiet(cli, "generic", stdin=event("turn_end", turn="t1"))
    assert cli.ok("--json", "status").json["waiting"] == 0
    [turn] = [line for line in cli.ok("--json", "log").json_lines if line["kind"] == "prompt"]
    assert (turn["prompt"], turn["late"], turn["state"]) == ("while it is locked", True, "ended")
    assert "late" in cli.ok("log").stdout


def test_an_event_that_is_left_twice_waits_once(cli: Cli, workspace: Path) -> None:
    """A hook's time is up just when it has left its event: it leaves that again."""
    cli.ok("checkpoint")
    with Engine.open(str(workspace)) as tb:
        prompt = AgentEvent(PROMPT, agent="mine", session="s1", directory=str(workspace))
        came = tb.now
        for _ in range(2):
            tb.leave(prompt, came=came)
        tb.leave(prompt.replace(prompt="another one at the same moment"), came=came)
        assert tb.status().waiting == 2


def test_a_late_event_keeps_the_transcript_of_its_moment(cli: Cli, workspace: Path) -> None:
    read_transcripts_in(workspace.parent)
    transcript = workspace.parent / "s1.jsonl"
    transcript.write_text("before\n")
    cli.ok("checkpoint")
    cli.ok("config", "hook_seconds", "0.5")
    with (store_of(cli) / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        told = event("prompt", turn="t1", prompt="p", transcript=str(transcript))
        quiet(cli, "generic", stdin=told)
    with transcript.open("a") as file:
        file.write("after\n")
    cli.ok("checkpoint")
    assert cli.ok("cat", "turn:1", "--conversation").stdout == "before\n"


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["0.05", "0.0001"])
def test_a_first_capture_that_does_not_fit_is_finished_in_the_background(
    cli: Cli, workspace: Path, limit: str
) -> None:
    for number in range(3000):
        (workspace / f"file{number}").write_bytes(b"%d" % number * 200)
    cli.ok("config", "hook_seconds", limit)
    said = event("prompt", turn="t1", prompt="the first ever")
    # Started for it: where the alarm rings in a fork, a test's logging would have its say.
    answer = cli.cold("hook", "generic", stdin=said)
    assert (answer.status, answer.stdout, answer.stderr) == (0, "", "")
    wait_for(cli.log)
    [turn] = cli.log()
    assert (turn["prompt"], turn["late"]) == ("the first ever", True)
    cli.ok("config", "hook_seconds", "5")
    (workspace / "file1").write_bytes(b"changed")
    quiet(cli, "generic", stdin=event("turn_end", turn="t1"))
    assert not cli.ok("--json", "show", "@").json["late"]


def test_a_first_capture_goes_on_when_its_hook_has_ended(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    """Whatever it has read by then is not read again; here it hangs at git for a while."""
    held, git = tmp_path / "held", tmp_path / "bin" / "git"
    held.touch()
    git.parent.mkdir()
    git.write_text(
        f'#!/bin/sh\ncase "$*" in *check-ignore*)\n'
        f"for i in $(seq 300); do [ -e {held} ] || break; sleep 0.1; done;; esac\n"
        f'exec {shutil.which("git")} "$@"\n'
    )
    git.chmod(0o755)
    write_files(workspace, {".gitignore": b"new*/\n", "new": b"only git knows"})
    cli.ok("config", "hook_seconds", "3")
    here = tmp_path / "home" / ".claude" / "projects" / "none.jsonl"
    said = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "the first ever"}
    told = json.dumps({**said, "cwd": str(workspace), "transcript_path": str(here)}).encode()
    path = f"{git.parent}:{os.environ['PATH']}"
    answer = cli.cold("hook", "claude", stdin=told, env={"PATH": path})
    assert (answer.status, answer.stderr) == (0, "")
    assert "no checkpoint before this turn yet" in answer.json["systemMessage"]
    assert cli.ok("--json", "status").json["waiting"] == 1
    assert "1 event not yet recorded; no agent waits for the first" in cli.ok("status").stdout
    held.unlink()
    wait_for(cli.log)
    [turn] = cli.log()
    assert (turn["prompt"], turn["late"]) == ("the first ever", True)
    assert cli.ok("--json", "status").json["waiting"] == 0
    assert failures(cli) == []


def test_a_store_that_cannot_be_written(cli: Cli, workspace: Path) -> None:
    cli.ok("checkpoint")
    write_files(workspace, {"new": b"x"})
    [refs] = (store_of(cli) / "store.git" / "refs" / "takeback" / "sessions").iterdir()
    refs.chmod(0o500)
    try:
        quiet(unprivileged(cli), "generic", stdin=event("prompt", prompt="p"))
    finally:
        refs.chmod(0o700)
    assert failures(cli)


def test_without_git(cli: Cli, workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    write_files(workspace, {".gitignore": b"new*/\n"})
    cli.ok("checkpoint")
    write_files(workspace, {"new": b"only git knows whether it is ignored\n"})
    quiet(cli, "generic", stdin=event("prompt", prompt="p"), env={"PATH": str(tmp_path / "bin")})
    assert any("git" in line for line in failures(cli))


def test_a_damaged_store(cli: Cli, workspace: Path) -> None:
    write_files(workspace, {"a": b"x"})
    cli.ok("checkpoint")
    store = store_of(cli)
    shutil.rmtree(store / "store.git" / "objects" / "pack")
    (store / "store.git" / "objects" / "pack").mkdir()
    quiet(cli, "generic", stdin=event("prompt", prompt="p", turn="t"))
    quiet(cli, "generic", stdin=event("turn_end", turn="t"))


def test_options_before_the_verb_and_help(cli: Cli, workspace: Path) -> None:
    elsewhere = Cli(workspace.parent)
    told = event("prompt", prompt="p")
    answer = elsewhere.ok("-C", str(workspace), "hook", "generic", stdin=told)
    assert answer.stdout == ""
    assert cli.ok("--json", "log").json_lines[0]["prompt"] == "p"
    assert "docs/agents/generic.md" in cli.ok("hook", "--help").stdout
