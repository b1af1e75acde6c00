"""Names of checkpoints and sessions at the command line, wherever one is taken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.cli.main import run
from takeback.errors import NoSuchCheckpoint
from tests.support.agent import usual_agent
from tests.support.cli import Cli
from tests.support.host import Host
from tests.tui.stage import files_of, tell_story

NOTHING = (
    ("rewind", ""),
    ("rewind", "", "--files", "--session", "mine"),
    ("rewind", "mine/"),
    ("rewind", " "),
    ("rewind", "", "--", "a.txt"),
    ("rewind", "--session", ""),
    ("fork", ""),
    ("fork", "", "--files"),
    ("show", ""),
    ("diff", ""),
    ("diff", "@", ""),
    ("cat", "", "a.txt"),
    ("cat", "", "--conversation"),
    ("label", "", "name"),
    ("log", "--session", ""),
    ("checkpoint", "--session", ""),
)


def test_a_script_whose_variable_was_never_set_changes_nothing_and_is_told(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tell_story(workspace)
    before = files_of(workspace)
    monkeypatch.chdir(workspace)
    with Engine.open(workspace) as tb:
        mark = tb.timeline_mark()
        for words in NOTHING:
            status = run(["--json", "--yes", *words])
            said = json.loads(capfd.readouterr().err)
            assert (status, said["code"]) == (12, "no_such_checkpoint"), words
            assert said["hint"], words
        for call in (tb.find, tb.show, tb.plan, tb.rewind, tb.fork, tb.choices, tb.diff):
            with pytest.raises(NoSuchCheckpoint):
                call("")
        with pytest.raises(NoSuchCheckpoint):
            tb.cat("", "a.txt")
        with pytest.raises(NoSuchCheckpoint):
            tb.label("", "name")
        assert (files_of(workspace), tb.timeline_mark()) == (before, mark)


@pytest.fixture
def host(cli: Cli, tmp_path: Path) -> Host:
    """An agent with a finished turn and one that runs."""
    made = Host(cli, tmp_path)
    made.turn("one", {"a.txt": b"1"})
    made.prompt("two")
    return made


def test_a_model_gives_no_label_that_may_be_taken_for_another_name(host: Host, cli: Cli) -> None:
    model = cli.inside(usual_agent())
    other = cli.ok("--json", "log").json_lines[-1]["id"]
    before = cli.ok("--json", "log").json_lines
    for name in (other[:4], other, "ready", "3", "3.end", "yesterday", "10m", "@", "x7k2.before"):
        for words in (("label", "@", name), ("checkpoint", "-m", name)):
            assert model.run(*words).status == 2, (words, model.run(*words))
    assert cli.ok("--json", "log").json_lines == before


def test_a_models_label_is_shown_as_a_models_wherever_it_is(host: Host, cli: Cli) -> None:
    model = cli.inside(usual_agent())
    model.ok("checkpoint", "-m", "all-good")
    model.ok("label", "turn:1", "first-try")
    said = {entry["label"]: entry["label_by"] for entry in cli.ok("--json", "log").json_lines}
    assert {"all-good": "mine", "first-try": "mine"}.items() <= said.items()
    for words in (
        ["log"],
        ["log", "--all"],
        ["show", "all-good"],
        ["rewind", "all-good", "--dry-run"],
    ):
        text = cli.run(*words)
        assert "model's: all-good" in text.stdout + text.stderr, words
    assert cli.ok("rewind", "--dry-run", "first-try").stdout.count("model's: first-try") == 1


def test_who_gave_a_label_stays_who_gave_it(host: Host, cli: Cli) -> None:
    model = cli.inside(usual_agent())
    cli.ok("label", "turn:1", "mine")
    model.ok("label", "turn:1", "mine")
    model.ok("checkpoint", "-m", "its")
    assert cli.ok("--json", "show", "mine").json["label_by"] is None
    assert cli.ok("--json", "show", "its").json["label_by"] == "mine"
    assert cli.ok("--json", "label", "its", "its").json["label_by"] is None
    assert model.run("label", "turn:1", "another").status == 13


def test_a_person_is_warned_of_a_label_that_ids_come_before(host: Host, cli: Cli) -> None:
    for words in (["label", "turn:1", "ready"], ["checkpoint", "-m", "draft"]):
        assert "ids come first" in cli.ok(*words).stderr
    assert cli.ok("label", "turn:1", "all-good").stderr == ""
    other = cli.ok("--json", "log").json_lines[-1]["id"]
    newest = cli.ok("--json", "log").json_lines[0]["id"]
    cli.ok("label", newest, other[:4])
    assert cli.ok("--json", "show", other[:4]).json["id"] == other
