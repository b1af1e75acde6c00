"""What was tried with the agents is written down as it came."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import real_agents
from scripts.real_agents import Outcome, read_report, write_record
from scripts.tried import COLUMNS, ROOT
from tests.agents.installed import PACKAGES

STORY = """
import pytest
from scripts.tried import FILES, SHELL, UNDO
from tests.agents.tried import Tried

@pytest.mark.parametrize("agent", ["claude", "pi"])
def test_story(agent, record_property):
    record_property("agent", agent)
    record_property("agent", "node")
    with Tried(record_property) as tried:
        with tried.that(SHELL):
            pass
        with tried.that(FILES):
            assert agent == "claude", "two files differ"
        with tried.that(UNDO):
            pass

def test_more(record_property):
    record_property("agent", "claude")
    raise RuntimeError("no screen\\nat all")

def test_not_had(record_property):
    record_property("agent", "codex")
    pytest.skip("not installed")
"""


@pytest.fixture
def found(tmp_path: Path) -> dict[str, Outcome]:
    (tmp_path / "test_it.py").write_text(STORY)
    argv = [sys.executable, "-m", "pytest", "-q", "-c", str(tmp_path / "none.ini")]
    (tmp_path / "none.ini").write_text("[pytest]\n")
    report = tmp_path / "report.xml"
    words = [*argv, "-p", "no:cacheprovider", f"--junitxml={report}", str(tmp_path / "test_it.py")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    return read_report(report)


def test_what_did_not_hold_is_noted_and_the_rest_is_tried(found: dict[str, Outcome]) -> None:
    assert set(found) == {"claude", "pi"}
    claude, pi = found["claude"], found["pi"]
    assert claude.columns == {"shell": "yes", "files": "yes", "undo": "yes"}
    assert (claude.passed, claude.failed) == (1, 1)
    assert claude.first_failure == "test_more: RuntimeError: no screen"
    assert pi.columns == {"shell": "yes", "files": "no", "undo": "yes"}
    assert pi.first_failure.startswith("test_story[pi]: AssertionError: two files differ")


def test_what_was_not_tried_is_no_yes_and_other_agents_keep_theirs(
    found: dict[str, Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "tried.json"
    monkeypatch.setattr(real_agents, "RECORD", record)
    record.write_text('{"qwen": {"version": "1"}}')
    write_record(found)
    rows = json.loads(record.read_text())
    assert rows.pop("qwen") == {"version": "1"}
    assert set(rows) == {"claude", "pi"}
    assert rows["claude"]["version"] == PACKAGES["claude"].version
    held = {agent: [name for name in COLUMNS if row[name]] for agent, row in rows.items()}
    assert held == {"claude": ["shell", "files", "undo"], "pi": ["shell", "undo"]}


def test_a_run_that_wrote_nothing_has_tried_nothing(tmp_path: Path) -> None:
    assert read_report(tmp_path / "none.xml") == {}
