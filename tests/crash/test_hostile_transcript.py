"""A transcript is whatever the agent's neighbour makes of it: it leads nowhere and ends nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from takeback import errors
from takeback.adapters import adapter_named
from takeback.app.engine import Engine
from takeback.model.event import PROMPT, TURN_END, AgentEvent
from takeback.turns.receive import Delivery
from tests.support.cli import Cli

CLAUDE = "0f1e2d3c-4b5a-4678-9abc-def012345678"


pytestmark = pytest.mark.bound(20)  # what is led astray waits for ever


def two_turns(
    workspace: Path, transcript: Path, *, agent: str = "mine", session: str = "s1"
) -> None:
    """An agent works for two turns, in each of which it changes a file."""
    transcript.parent.mkdir(parents=True, exist_ok=True)
    transcript.touch()
    with Engine.open(workspace) as tb:
        for turn in ("one", "two"):
            for kind in (PROMPT, TURN_END):
                event = AgentEvent(
                    kind=kind,
                    agent=agent,
                    session=session,
                    directory=str(workspace),
                    transcript=str(transcript),
                    turn=turn,
                    prompt=turn if kind == PROMPT else None,
                )
                tb.record(event, delivery=Delivery(tb.now, 5))
                if kind == PROMPT:
                    with transcript.open("a") as file:
                        file.write(line_of(agent, turn))
                    (workspace / "a.txt").write_text(turn)


def line_of(agent: str, turn: str) -> str:
    if agent != "claude":
        return f"said in turn {turn}\n"
    parent = None if turn == "one" else "one"
    entry = {"uuid": turn, "parentUuid": parent, "promptId": turn, "sessionId": CLAUDE}
    message = {"role": "user", "content": [{"type": "text", "text": turn}]}
    return json.dumps({"type": "user", **entry, "message": message}) + "\n"


def becomes_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def becomes_endless(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def becomes_huge(path: Path) -> None:
    os.truncate(path, 1 << 40)


def becomes_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


ODD = [becomes_fifo, becomes_endless, becomes_huge, becomes_directory]


@pytest.mark.parametrize("change", ODD)
def test_a_transcript_that_is_no_transcript_any_more_stops_no_rewind(
    workspace: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    transcript = tmp_path / "agent" / "s1.jsonl"
    two_turns(workspace, transcript)
    change(transcript)
    with Engine.open(workspace) as tb:
        done = tb.rewind("turn:2", scope="both")
        assert done.session is not None
        assert (workspace / "a.txt").read_text() == "one"
        [made] = {p for p in transcript.parent.iterdir() if p != transcript}
        assert made.read_text() == "said in turn one\n"
        change(made)  # the file of the child, too, when the same place is gone to again
        again = tb.rewind("turn:2", scope="conversation")
        assert again.session not in (None, done.session)
        tb.status()


@pytest.mark.parametrize("agent", ["codex", "gemini"])
@pytest.mark.parametrize("change", ODD)
def test_an_adapter_waits_for_no_file(
    tmp_path: Path, agent: str, change: Callable[[Path], None]
) -> None:
    path = tmp_path / "session-2026-01-01T00-00-x.jsonl"
    path.touch()
    change(path)
    assert adapter_named(agent).transcript_files(str(path)) == (str(path),)


def test_a_turn_is_not_waited_for_at_a_fifo(workspace: Path) -> None:
    transcript = workspace / ".agent" / "s1.jsonl"
    two_turns(workspace, transcript, agent="claude", session=CLAUDE)
    becomes_fifo(transcript)
    with Engine.open(workspace) as tb:
        assert tb.status().checkpoints == 4
        then = tb.plan("turn:1", scope="files").goal.checkpoint
        assert then is not None
        assert then.prompt == "one"


def swap_for_a_link(workspace: Path, outside: Path) -> None:
    (workspace / ".agent").rename(workspace / ".agent2")
    (workspace / ".agent").symlink_to(outside)


def swap_for_a_copy(workspace: Path, outside: Path) -> None:
    """Another directory at the same path: not the one that was recorded."""
    (workspace / ".agent").rename(workspace / ".agent2")
    (workspace / ".agent").mkdir()


@pytest.mark.parametrize("agent", ["mine", "claude"])
@pytest.mark.parametrize("swap", [swap_for_a_link, swap_for_a_copy])
def test_a_conversation_is_not_written_through_what_took_the_place_of_its_directory(
    workspace: Path, tmp_path: Path, agent: str, swap: Callable[[Path, Path], None]
) -> None:
    outside = tmp_path / "home" / "autostart"
    outside.mkdir(parents=True)
    session = CLAUDE if agent == "claude" else "s1"
    two_turns(workspace, workspace / ".agent" / "s1.desktop", agent=agent, session=session)
    swap(workspace, outside)
    with Engine.open(workspace) as tb:
        target = tb.find("turn:2")
        with pytest.raises(errors.Refused, match="the new session cannot be written") as refused:
            tb.rewind(target, scope="both")
        assert f"takeback cat {target.id} --conversation" in refused.value.hint
        assert (workspace / "a.txt").read_text() == "two", "and nothing else was done"
        assert tb.choices(target).no_conversation is not None
        assert b"one" in tb.conversation(target)
        assert tb.rewind(target, scope="files").verified
    assert list(outside.iterdir()) == []


def test_a_directory_swapped_after_the_plan_gets_no_session(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is looked at again when the file is made: what was decided before is not believed."""
    from takeback.rewind import rewind

    outside = tmp_path / "home" / "autostart"
    outside.mkdir(parents=True)
    two_turns(workspace, workspace / ".agent" / "s1.desktop")
    apply = rewind._apply

    def late(*args: Any) -> object:
        swap_for_a_link(workspace, outside)
        return apply(*args)

    monkeypatch.setattr(rewind, "_apply", late)
    with Engine.open(workspace) as tb:
        done = tb.rewind("turn:2", scope="both")
        assert done.conversation_error is not None
        assert done.session is None
    assert list(outside.iterdir()) == []


def test_a_linked_home_of_an_agent_goes_on_working(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People link ~/.claude to their dotfiles; below it no link leads anywhere."""
    home, dotfiles = tmp_path / "home", tmp_path / "dotfiles"
    projects = home / ".claude" / "projects"
    dotfiles.mkdir()
    (home / ".claude").symlink_to(dotfiles)
    transcript = projects / "-w" / f"{CLAUDE}.jsonl"
    two_turns(workspace, transcript, agent="claude", session=CLAUDE)
    # As after a restore from a backup: another directory, at the right place.
    (projects / "-w").rename(projects / "-x")
    (projects / "-w").mkdir()
    with Engine.open(workspace) as tb:
        assert tb.rewind("turn:2", scope="conversation").session is not None
        assert len(list((projects / "-w").iterdir())) == 1
        (projects / "-w" / "sub").mkdir()
        (projects / "-w").rename(projects / "-y")
        outside = tmp_path / "outside"
        outside.mkdir()
        (projects / "-w").symlink_to(outside)
        with pytest.raises(errors.Refused, match="cannot be written"):
            tb.rewind("turn:2", scope="conversation")
        assert list(outside.iterdir()) == []
        (projects / "-w").unlink()  # gone: it is made again
        assert tb.rewind("turn:2", scope="conversation").session is not None
        assert len(list((projects / "-w").iterdir())) == 1


@pytest.mark.parametrize("given", ["s1.jsonl", ".claude/../../s1.jsonl", ""])
def test_a_path_that_is_none_is_no_place_for_a_session(
    workspace: Path, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said by an event of any host that calls itself claude, with the messages beside it."""
    monkeypatch.chdir(workspace)
    Engine.open(workspace).close()
    before = set(workspace.parent.iterdir()) | set(workspace.iterdir())
    with Engine.open(workspace) as tb:
        for turn in ("one", "two"):
            event = AgentEvent(
                kind=PROMPT,
                agent="claude",
                session=CLAUDE,
                directory=str(workspace),
                transcript=given or None,
                messages=line_of("claude", "one").encode() if turn == "two" else b"",
                turn=turn,
                prompt=turn,
            )
            tb.record(event, delivery=Delivery(tb.now, 5))
        with pytest.raises(errors.Refused, match="cannot be written"):
            tb.rewind("turn:2", scope="conversation")
    assert set(workspace.parent.iterdir()) | set(workspace.iterdir()) == before


def test_the_command_line_says_how_to_have_the_conversation_all_the_same(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "autostart"
    outside.mkdir()
    two_turns(workspace, workspace / ".agent" / "s1.desktop")
    swap_for_a_link(workspace, outside)
    refused = cli.run("--json", "rewind", "turn:2", "--conversation", "--yes")
    assert refused.status == 13
    assert "--conversation" in refused.error["hint"]
    assert list(outside.iterdir()) == []
