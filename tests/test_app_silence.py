"""Agents that worked unheard are named at once, with the file that did it, by every face."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.cli import Cli

OFF = '{"disableAllHooks": true}'


class Claude:
    """Claude Code as far as takeback sees it: events, and a transcript beside them."""

    def __init__(self, cli: Cli, folder: Path) -> None:
        self.cli, self.transcript = cli, folder / "s.jsonl"
        self.lines = 0

    def tell(self, event: str, **more: str) -> None:
        told = {
            "hook_event_name": event,
            "session_id": "s",
            "cwd": str(self.cli.directory),
            "transcript_path": str(self.transcript),
            **more,
        }
        self.cli.ok("hook", "claude", stdin=json.dumps(told).encode())

    def write(self, kind: str, text: str, *, later: float = 0.0) -> None:
        """Writes a line of the transcript, some seconds from now."""
        when = datetime.fromtimestamp(time.time() + later, UTC).isoformat()
        before = f"u{self.lines}" if self.lines else None
        self.lines += 1
        entry = {
            "type": kind,
            "uuid": f"u{self.lines}",
            "parentUuid": before,
            "sessionId": "s",
            "timestamp": when,
            "message": {"role": kind, "content": [{"type": "text", "text": text}]},
        }
        with self.transcript.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    def turn(self, prompt: str) -> None:
        self.tell("UserPromptSubmit", prompt=prompt)
        self.write("user", prompt)
        self.write("assistant", f"did {prompt}")
        self.tell("Stop")


@pytest.fixture
def claude(cli: Cli, workspace: Path) -> Claude:
    slug = "".join(c if c.isalnum() else "-" for c in str(workspace))
    folder = Path(os.environ["HOME"], ".claude", "projects", slug)
    folder.mkdir(parents=True)
    cli.ok("init", "claude", "--yes")
    played = Claude(cli, folder)
    played.turn("one")
    return played


def said(cli: Cli) -> list[str]:
    """Returns what ``status`` warns of."""
    return [one["message"] for one in cli.ok("--json", "status").json["warnings"]]


def silence(workspace: Path, text: str = OFF) -> Path:
    path = workspace / ".claude" / "settings.local.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_a_turn_that_no_event_told_of_is_said_at_once(claude: Claude, workspace: Path) -> None:
    assert said(claude.cli) == []
    claude.write("user", "two", later=2)
    claude.write("assistant", "did two", later=3)
    [message] = said(claude.cli)
    assert message.startswith("Claude Code worked here (now) without takeback: "), message
    [state] = claude.cli.ok("--json", "status").json["agents"]
    assert state["missed_since"] is not None
    file = silence(workspace)
    [message] = said(claude.cli)
    assert f"{file} turns all hooks off (disableAllHooks)" in message
    assert "not trusted" not in message


def test_every_face_names_the_file_before_anything_is_missed(
    claude: Claude, workspace: Path
) -> None:
    cli, file = claude.cli, silence(workspace)
    words = f"{file} turns all hooks off (disableAllHooks): no hook runs, and nothing is recorded"
    assert words in cli.ok("status").stdout
    assert "Claude Code is connected" not in cli.ok("status").stdout
    assert words in cli.ok("log").stderr
    assert [json.loads(line)["message"] for line in cli.ok("--json", "log").stderr.splitlines()]
    broken = [one for one in cli.run("--json", "doctor").json_lines if one["state"] == "broken"]
    assert [(one["about"], one["message"]) for one in broken] == [("Claude Code", words)]
    file.unlink()
    assert cli.ok("log").stderr == ""
    assert "Claude Code is connected" in cli.ok("status").stdout


def test_what_is_not_followed_is_said_and_the_agent_is_heard(
    claude: Claude, workspace: Path
) -> None:
    file = silence(workspace, '{"env": {"TAKEBACK": "off"}}')
    assert said(claude.cli) == [f"{file} sets TAKEBACK: that is not followed"]
    assert "Claude Code is connected" in claude.cli.ok("status").stdout


def test_the_settings_of_a_directory_inside_count_where_an_agent_worked(
    claude: Claude, workspace: Path
) -> None:
    inside = workspace / "packages" / "one"
    inside.mkdir(parents=True)
    file = silence(inside)
    assert said(claude.cli) == []
    claude.tell("UserPromptSubmit", prompt="two", cwd=str(inside))
    claude.tell("Stop", cwd=str(inside))
    assert [message.partition(" ")[0] for message in said(claude.cli)] == [str(file)]


def later_words(claude: Claude) -> None:
    """What an agent writes by itself after a turn: no message, nothing that is news."""
    with claude.transcript.open("a") as file:
        file.write('{"type": "cost-state", "cost": 1}\n')


def a_command(claude: Claude) -> None:
    """A command of the agent's own, of which no event tells, and nobody is asked."""
    text = "<command-name>/model</command-name>\n<command-args>big</command-args>"
    claude.write("user", text, later=3)


def a_round_that_only_reads(claude: Claude) -> None:
    """In a turn that runs: such a round is told, and not recorded."""
    claude.tell("UserPromptSubmit", prompt="two")
    claude.write("user", "two", later=1)
    claude.write("assistant", "I read a lot", later=100)


@pytest.mark.parametrize("harmless", [later_words, a_command, a_round_that_only_reads])
def test_nothing_is_said_of_what_no_event_tells(
    claude: Claude, harmless: Callable[[Claude], None]
) -> None:
    harmless(claude)
    os.utime(claude.transcript, (time.time() + 90, time.time() + 90))
    assert said(claude.cli) == []


def test_hooks_that_end_in_the_middle_of_a_turn_are_noticed_at_the_next(claude: Claude) -> None:
    claude.tell("UserPromptSubmit", prompt="two")
    claude.write("user", "two", later=1)
    claude.write("assistant", "did two", later=30)
    claude.write("user", "three", later=31)
    assert said(claude.cli) == []
    claude.write("assistant", "did three", later=32)
    [message] = said(claude.cli)
    assert "without takeback" in message


def test_the_turn_after_that_is_heard_ends_it(claude: Claude) -> None:
    claude.write("assistant", "unheard", later=-0.5)
    assert said(claude.cli) == []
    claude.write("assistant", "unheard", later=1.5)
    time.sleep(1.6)
    claude.turn("three")
    assert said(claude.cli) == []
