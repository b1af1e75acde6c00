"""Bisect at the command line."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from takeback import Takeback
from tests.cli.typing_person import at_a_terminal
from tests.support.called import called, done
from tests.support.cli import Cli
from tests.support.processes import wait_for


@pytest.fixture
def story(workspace: Path) -> Iterator[Takeback]:
    """Eight turns, of which the sixth writes ``broken``."""
    (workspace / "begun").write_text("")
    with Takeback.open(workspace) as tb:
        session = tb.session(agent="mine", native="s1")
        for number in range(1, 9):
            with session.turn(f"do step {number}"):
                name = "broken" if number == 6 else f"step{number}"
                (workspace / name).write_text("x\n")
        yield tb


CHECK = ("sh", "-c", "test ! -e broken")


def test_a_transcript(story: Takeback, workspace: Path) -> None:
    answer = called(workspace, "bisect", "turn:1", "@", "--", *CHECK)
    assert answer.status == 0
    lines = [line.partition("(")[0].rstrip() for line in answer.stderr.splitlines()]
    assert lines == snapshot(
        ['good  turn 4 "do step 4"', 'bad   turn 6 "do step 6"', 'good  turn 5 "do step 5"']
    )
    told = answer.stdout.replace(story.find("turn:6.end").id, "AFTER")
    assert told.replace(story.find("turn:5.end").id, "BEFORE") == snapshot("""\
It was broken by turn 6 "do step 6".
  added     broken  +1 -0
Its diff: takeback diff BEFORE AFTER
Take it back: takeback revert turn:6
""")


def test_json(story: Takeback, workspace: Path) -> None:
    answer = called(workspace, "--json", "bisect", "turn:1", "@", "--", *CHECK)
    *runs, end = answer.json_lines
    assert [run["type"] for run in runs] == ["bisect_run"] * len(runs)
    assert {run["verdict"] for run in runs} == {"good", "bad"}
    assert list(runs[0]) == snapshot(
        [
            "type",
            "v",
            "checkpoint",
            "turn",
            "number",
            "session",
            "prompt",
            "verdict",
            "status",
            "seconds",
            "time",
            "snapshot",
            "runs_left",
        ]
    )
    assert end["type"] == "bisect"
    assert end["found"] is True
    assert [one["number"] for one in end["broken"]] == [6]
    assert end["good"]["number"] == 5
    assert [change["path"] for change in end["changes"]] == ["broken"]
    assert list(end) == snapshot(["type", "v", "found", "good", "broken", "runs", "changes"])


def test_a_range_ends_with_1(story: Takeback, workspace: Path) -> None:
    script = "test -e step8 && exit 1; test -e step2 && exit 125; exit 0"
    answer = called(workspace, "bisect", "turn:1", "@", "--", "sh", "-c", script)
    assert answer.status == 1
    assert answer.stdout == snapshot("""\
One of these 7 broke it; those before the last could not be judged:
  turn 2 "do step 2"
  turn 3 "do step 3"
  turn 4 "do step 4"
  turn 5 "do step 5"
  turn 6 "do step 6"
  turn 7 "do step 7"
  turn 8 "do step 8"
  added     broken  +1 -0
  added     step2  +1 -0
  added     step3  +1 -0
  added     step4  +1 -0
  added     step5  +1 -0
  added     step7  +1 -0
  added     step8  +1 -0
""")


def test_a_command_that_was_killed_says_nothing_and_can_be_carried_on(
    story: Takeback, workspace: Path, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    script = f"echo run >> {runs}; test $(wc -l < {runs}) != 2 || kill -9 $$; test ! -e broken"
    command = ("bisect", "turn:1", "@", "--", "sh", "-c", script)
    answer = called(workspace, *command)
    assert answer.status == 1
    assert answer.stderr.splitlines()[-2:] == snapshot(
        [
            "Error: sh was ended by signal 9, which says nothing about the files",
            "Hint: what was found so far is kept: takeback bisect --resume",
        ]
    )
    other = called(workspace, "bisect", "turn:2", "@", "--", "true")
    assert other.status == 13
    assert "another bisection is under way" in other.stderr
    answer = done(workspace, "bisect", "--resume")
    assert "It was broken by turn 6" in answer.stdout
    assert len(runs.read_text().splitlines()) <= 5  # one of them twice
    answer = called(workspace, "bisect", "--resume")
    assert answer.status == 13


def test_killed_in_the_middle_and_resumed(
    story: Takeback, workspace: Path, tmp_path: Path, cli: Cli
) -> None:
    """takeback itself is killed with SIGKILL during its second run."""
    runs, hold = tmp_path / "runs", tmp_path / "hold"
    script = (
        f"echo $(ls | wc -l) >> {runs}; "
        f"test $(wc -l < {runs}) != 2 || while test ! -e {hold}; do sleep 0.02; done; "
        "test ! -e broken"
    )
    words = ("bisect", "turn:1", "@", "--", "sh", "-c", script)
    process = subprocess.Popen(
        cli.argv(*words), cwd=workspace, env=cli.environment(None), stderr=subprocess.DEVNULL
    )
    wait_for(lambda: runs.exists() and len(runs.read_text().splitlines()) >= 2, process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(60)
    hold.touch()
    answer = done(workspace, "bisect", "--resume")
    assert "It was broken by turn 6" in answer.stdout
    states = runs.read_text().splitlines()
    assert len(states) == len(set(states)) + 1  # only what was under way is run again
    assert not list(Path(os.environ["TAKEBACK_HOME"]).glob("bisect-*"))


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        signal.SIGTERM,
        pytest.param(signal.SIGHUP, marks=pytest.mark.long),
    ],
)
def test_ctrl_c_or_a_closed_terminal_ends_the_command_and_keeps_what_was_found(
    story: Takeback, workspace: Path, tmp_path: Path, cli: Cli, number: int
) -> None:
    pid = tmp_path / "pid"
    script = f"test -e step5 || exit 0; echo $$ > {pid}; exec sleep 1000"
    process = subprocess.Popen(
        cli.argv("bisect", "turn:1", "@", "--", "sh", "-c", script),
        cwd=workspace,
        env=cli.environment(None),
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: pid.exists() and pid.read_text(), process)
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "takeback bisect --resume" in said
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert done(workspace, "bisect", "--reset").stdout == "Gave it up.\n"
    assert done(workspace, "bisect", "--reset").stdout == "Nothing was under way.\n"


def test_wrong_usages(story: Takeback, workspace: Path) -> None:
    for words in (
        (),
        ("turn:1", "@"),
        ("turn:1", "--", "true"),
        ("--resume", "--", "true"),
        ("turn:1", "@", "--timeout", "soon", "--", "true"),
        ("turn:1", "@", "--with", "nowhere", "--", "true"),
        ("turn:1", "@", "--dry-run", "--", "true"),
    ):
        assert called(workspace, "bisect", *words).status == 2, words


def test_a_person_is_offered_the_revert(story: Takeback, workspace: Path, cli: Cli) -> None:
    words = ("bisect", "turn:1", "@", "--", *CHECK)
    declined = at_a_terminal(cli, *words, answers=("n\n",))
    assert declined.status == 0, declined.screen
    assert (workspace / "broken").exists()
    seen = at_a_terminal(cli, *words, answers=("y\n", "y\n"))
    assert seen.status == 0, seen.screen
    assert not (workspace / "broken").exists()
    assert (workspace / "step7").exists()
