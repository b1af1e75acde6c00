"""F. The agents' side: hooks (64), and what an agent does to its own conversation (66)."""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path

import pytest

from tests.support.below import BelowAgent
from tests.support.cli import Cli
from tests.support.host import Host
from tests.support.journey import rewind, write_files
from tests.support.replay import RECORDED, Replay, recorded_files


@pytest.fixture
def host(cli: Cli, workspace: Path, tmp_path: Path) -> Host:
    write_files(workspace, {"a.txt": b"0\n"})
    folder = tmp_path / "transcripts"
    folder.mkdir()
    return Host(cli, folder)


def test_64_a_hook_prints_nothing_but_the_note_and_never_fails(
    cli: Cli, host: Host, workspace: Path
) -> None:
    """Exit 0 and silence for every event and every mistake; the log and ``status`` have it."""
    host.turn("one", {"a.txt": b"1\n"})
    for event in ("session_start", "tool_before", "tool_after", "round_end", "compact", "forked"):
        assert host.tell(event).stdout == ""
    mistakes = (
        b"",
        b"{broken",
        b"[]",
        b'{"event": "unheard of", "session": "s"}',
    )
    elsewhere = [
        json.dumps({"event": "prompt", "session": "s", "cwd": cwd}).encode()
        for cwd in ("/nowhere/at/all", "/")
    ]
    for stdin in (*mistakes, *elsewhere):
        answer = cli.run("hook", "generic", stdin=stdin)
        assert (answer.status, answer.stdout, answer.stderr) == (0, "", "")
    assert cli.run("hook", "nobody", stdin=b"{}").status == 0
    assert len(cli.ok("--json", "status").json["failures"]) == len(mistakes) + 1
    rewind(cli, "turn:1", "--files")
    told = host.prompt("two")
    assert told.stdout.startswith("Note from takeback: ")
    assert told.stderr == ""


def test_64_a_locked_store_costs_no_more_than_the_limit(
    cli: Cli, host: Host, workspace: Path
) -> None:
    """The event waits, the agent goes on, nothing is lost."""
    host.turn("one", {"a.txt": b"1\n"})
    store = Path(cli.ok("--json", "status").json["store"])
    cli.ok("config", "hook_seconds", "1")
    with (store / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        begin = time.monotonic()
        assert host.prompt("two").stdout == ""
        assert time.monotonic() - begin < 10  # of a loaded machine; the limit itself is one second
        assert "1 event not yet recorded" in cli.ok("status").stdout
    write_files(workspace, {"a.txt": b"2\n"})
    host.end()
    shown = cli.ok("--json", "show", "turn:2").json
    assert (shown["prompt"], shown["late"]) == ("two", True)


def child_of(cli: Cli, name: str, session: str) -> str:
    """Rewinds the conversation to a place and returns the new session's file as text."""
    done = rewind(cli, f"{session}/{name}", "--conversation")
    entry = next(s for s in cli.ok("--json", "sessions").json_lines if s["id"] == done["session"])
    return Path(entry["transcript"]).read_text()


def prompts(cli: Cli, session: str) -> list[tuple[str, str | None]]:
    lines = cli.ok("--json", "log", "--session", session).json_lines
    kinds = ("prompt", "steer", "shell")
    return [(line["kind"], line["prompt"]) for line in reversed(lines) if line["kind"] in kinds]


def test_66_claude_its_own_rewind_leaves_no_abandoned_turn(cli: Cli, workspace: Path) -> None:
    """A recorded session: /rewind, a steer, a subagent, Esc, !command, /compact, an error."""
    folder = RECORDED / "claude"
    name = "e3d0354f-9eb7-4885-8079-2aab217ce6aa"
    files = {f"{name}.jsonl": (folder / "tui-2.1.325.jsonl").read_bytes()}
    replay = Replay(cli, "claude", files)
    replay.play(folder / "tui-2.1.325-hooks.jsonl")
    replay.finish()
    session = f"claude-{name}"
    assert prompts(cli, session) == [
        ("prompt", "create a.txt and b.txt"),
        ("prompt", "edit a.txt and clean up"),
        ("prompt", "do it another way"),
        ("steer", "mind the spelling"),
        ("prompt", "let a subagent write d.txt"),
        ("prompt", "wait for a long time"),
        ("shell", None),
        ("prompt", "think slowly"),
        ("steer", "then say hello"),
        ("shell", None),
        ("prompt", "say hello again"),
        ("prompt", "fail, please"),
    ]
    ends = [one["id"] for one in cli.ok("--json", "log").json_lines if one["kind"] == "shell"]
    shown = [cli.ok("--json", "show", end).json["prompt"] for end in reversed(ends)]
    assert shown == ["echo hi > bang.txt", None]
    for turn in ("turn:3", "turn:4", "turn:3.end"):
        history = child_of(cli, turn, session)
        assert "create a.txt and b.txt" in history
        assert "edit a.txt and clean up" not in history
        assert name not in history
    asked = '"content":"do it another way"'  # the title of the new session has it too
    assert asked not in child_of(cli, "turn:3", session)
    assert asked in child_of(cli, "turn:4", session)
    first = rewind(cli, f"{session}/turn:1", "--conversation")
    assert first["resume"]["argv"] == ["claude"]
    [transcript] = Path(os.environ["HOME"]).rglob(f"{name}.jsonl")
    assert transcript.read_bytes() == files[f"{name}.jsonl"]


def test_66_codex_its_own_rewind_spans_files(cli: Cli, workspace: Path) -> None:
    """A thread of three files and a fork: what was reverted is in no later history."""
    folder = RECORDED / "codex"
    replay = Replay(cli, "codex", recorded_files(folder / "sessions"))
    replay.play(folder / "hooks.jsonl")
    replay.finish()
    session = "codex-01a1df2b-0420-78a1-860a-be5a27fc401a"
    told = [text for _, text in prompts(cli, session)]
    assert [str(text).partition(" ")[0] for text in told] == [
        "TURN-ONE",
        "TURN-TWO",
        "LONG",
        "STEERED",
        "SLOW",
        "TURN-FOUR",
        "TURN-FIVE",
        "TURN-SIX",
        "TURN-SEVEN",
    ]
    before_four = child_of(cli, "turn:5", session)
    assert "TURN-TWO" in before_four
    assert "LONG job" not in before_four
    assert "SLOW now" not in before_four
    before_six = child_of(cli, "turn:7", session)
    assert "TURN-FOUR" in before_six
    assert "TURN-FIVE" not in before_six


def test_66_gemini_its_own_rewind(cli: Cli, workspace: Path) -> None:
    """/rewind forgets a turn; so does every history after it."""
    folder = RECORDED / "gemini"
    replay = Replay(cli, "gemini", recorded_files(folder / "chats"))
    replay.play(folder / "terminal.jsonl")
    replay.finish()
    session = "gemini-d5eff84b-a7ac-4867-9bef-7922f7e81395"
    told = [str(text).partition(" ")[0] for _, text in prompts(cli, session)]
    assert told == [
        "TURN-ONE",
        "TURN-TWO",
        "TURN-THREE",
        "TURN-FOUR",
        "LONG",
        "TURN-FIVE",
        "TURN-SIX",
        "AGAIN",
    ]
    after = child_of(cli, "turn:5", session)
    assert "TURN-FOUR" in after
    assert "TURN-THREE" not in after
    assert "TURN-FIVE" not in after


def test_72_an_agent_that_worked_without_takeback_is_named(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    """A transcript newer than the last event: hooks untrusted, or settings written anew."""
    cli.ok("checkpoint")
    slug = "".join(c if c.isalnum() else "-" for c in str(workspace))
    folder = Path(os.environ["HOME"]) / ".claude" / "projects" / slug
    folder.mkdir(parents=True)
    (folder / "x.jsonl").write_text("{}\n")
    [claude] = cli.ok("--json", "status").json["agents"]
    assert (claude["agent"], claude["connected"]) == ("claude", False)
    assert claude["missed_since"] is not None
    said = cli.ok("status").stdout
    assert "Claude Code worked here (now) without takeback" in said
    assert "takeback init claude" in said
    cli.ok("init", "claude", "--yes")
    [claude] = cli.ok("--json", "status").json["agents"]
    assert claude["missed_since"] is None, "that was before it was connected"
    cli.doctor()
    later = time.time() + 600
    os.utime(folder / "x.jsonl", (later, later))
    assert "not trusted, or its settings were written anew" in cli.ok("status").stdout
    broken = [f for f in cli.run("--json", "doctor").json_lines if f["state"] == "broken"]
    assert [f["about"] for f in broken] == ["Claude Code"]
    (Path(os.environ["HOME"]) / ".claude" / "settings.json").write_text("{}\n")
    broken = [f for f in cli.run("--json", "doctor").json_lines if f["state"] == "broken"]
    assert [f["about"] for f in broken] == ["Claude Code"]


def test_73_uninstall_keeps_everything_and_opting_out_stops_captures(
    cli: Cli, host: Host, workspace: Path
) -> None:
    """off, never, only, TAKEBACK=off; forget only after the name is typed."""
    cli.ok("init", "claude", "--yes")
    host.turn("one", {"a.txt": b"1\n"})
    cli.ok("uninstall", "--yes")

    def recorded() -> int:
        return len(cli.ok("--json", "log", "--all").json_lines)

    kept = recorded()
    assert kept == 2
    cli.ok("off")
    host.turn("two", {"a.txt": b"2\n"})
    assert recorded() == kept
    cli.ok("checkpoint")
    cli.ok("on")
    host.turn("three", {"a.txt": b"3\n"})
    assert recorded() == kept + 3
    for key, value in (("never", str(workspace.parent)), ("only", "/somewhere/else")):
        cli.ok("config", key, value)
        host.turn("nothing", {"a.txt": b"4\n"})
        cli.ok("config", key, "")
    quiet = Host(BelowAgent(workspace, {"TAKEBACK": "off"}), host.folder)
    quiet.turn("nothing either", {"a.txt": b"5\n"})
    assert recorded() == kept + 3
    assert cli.run("forget", str(workspace)).status == 13
    assert recorded() == kept + 3
    cli.ok("forget", str(workspace), "--yes", "--name", workspace.name)
    assert cli.run("log").status == 10
    cli.ok("forget", "--restore", str(workspace))
    assert recorded() == kept + 3
