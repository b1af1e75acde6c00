"""What the person hears, from the agent itself, when the files of a turn could not be kept."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from takeback import Takeback
from takeback.adapters import adapter_named
from takeback.events import Heard, hear
from takeback.model import event as events
from takeback.model.event import AgentEvent
from takeback.stdio.server import StdioServer
from tests.support.agent import speaker
from tests.support.below import BelowAgent
from tests.support.cli import Cli
from tests.support.journey import write_files
from tests.support.processes import wait_for


def tell(workspace: Path, kind: str, *, session: str = "s1", **fields: Any) -> Heard:
    told = {"event": kind, "agent": "mine", "session": session, "cwd": str(workspace), **fields}
    return hear(speaker(), lambda: told)


def break_store(workspace: Path) -> Path:
    """Makes every capture fail, root's too: where packs are written there is a file."""
    with Takeback.open(workspace) as tb:
        packs = Path(tb.store_directory, "store.git", "objects", "pack")
    packs.rename(packs.with_name("kept"))
    packs.write_bytes(b"")
    return packs


def mend(packs: Path) -> None:
    packs.unlink()
    packs.with_name("kept").rename(packs)


def limit_size(workspace: Path) -> None:
    Cli(workspace).ok("config", "size_limit_mb", "1")


BIG = b"x" * (2 << 20)


def users_settings() -> Path:
    path = Path(os.environ["XDG_CONFIG_HOME"], "takeback", "config.toml")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize("text", ['max_age_days = "year"\n', "of_a_newer_version = 1\n", "what\n"])
@pytest.mark.parametrize("everywhere", [True, False])
def test_settings_that_do_not_read_stop_no_capture_and_are_told_once_a_session(
    workspace: Path, text: str, everywhere: bool
) -> None:
    write_files(workspace, {"a": b"1"})
    with Takeback.open(workspace) as tb:
        file = users_settings() if everywhere else Path(tb.store_directory, "config.toml")
    file.write_text(text)
    for session in ("s1", "s2"):
        first = tell(workspace, events.PROMPT, session=session, turn="t1", prompt="one")
        assert str(file) in (first.warning or "")
        assert "until it is mended nothing is dropped" in (first.warning or "")
        write_files(workspace, {"a": session.encode()})
        ended = tell(workspace, events.TURN_END, session=session, turn="t1")
        more = tell(workspace, events.PROMPT, session=session, turn="t2", prompt="two")
        assert (ended.warning, more.warning) == (None, None)
        assert first.checkpoint
        assert ended.checkpoint
    for words in (("prune", "--yes"), ("prune", "--session", "mine-s1", "--all", "--yes")):
        answer = Cli(workspace).run(*words)
        assert answer.status == 2, str(answer)
        assert str(file) in answer.stderr
    assert str(file) in Cli(workspace).ok("config").stderr
    file.unlink()
    third = tell(workspace, events.PROMPT, session="s3", turn="t1", prompt="three")
    assert third.warning is None


@pytest.mark.parametrize("name", ["never", "only", "capture", "exclude"])
def test_what_may_forbid_to_record_is_not_guessed_and_the_person_is_told(
    workspace: Path, name: str
) -> None:
    users_settings().write_text(f"{name} = 5\n")
    for number in (1, 2):
        heard = tell(workspace, events.PROMPT, turn=f"t{number}", prompt="one")
        assert heard.checkpoint is None
        assert f"{name} must be" in (heard.warning or "")
        assert tell(workspace, events.TURN_END, turn=f"t{number}").warning is None
    if name != "exclude":
        Cli(workspace).ok("checkpoint")
    users_settings().unlink()
    assert tell(workspace, events.PROMPT, turn="t3", prompt="three").checkpoint


def test_a_conversation_that_may_be_forbidden_is_not_kept_but_the_files_are(
    workspace: Path,
) -> None:
    users_settings().write_text('conversation = "of"\n')
    write_files(workspace, {"a": b"1"})
    heard = tell(workspace, events.PROMPT, turn="t1", prompt="a secret word")
    assert heard.checkpoint
    assert "no transcript is kept" in (heard.warning or "")
    said = [{"role": "user", "text": "a secret word"}]
    tell(workspace, events.TURN_END, turn="t1", messages=said)
    with Takeback.open(workspace) as tb:
        store = tb.store_directory
        assert tb.checkpoints()
    assert not Cli(workspace).run("cat", "--conversation", "@").stdout
    assert Path(store).is_dir()


def test_what_the_persons_own_settings_let_go_is_told_once(workspace: Path) -> None:
    write_files(workspace, {"data/held": b"1", "a": b"1"})
    Cli(workspace).ok("config", "exclude", "never")
    write_files(workspace, {"never/held": b"1"})
    assert tell(workspace, events.PROMPT, turn="t1", prompt="one").warning is None
    assert tell(workspace, events.TURN_END, turn="t1").warning is None
    Cli(workspace).ok("config", "exclude", "never,data")
    told = tell(workspace, events.PROMPT, turn="t2", prompt="two").warning or ""
    assert "what is in data (excluded) is kept no longer, as your settings say" in told
    assert "never" not in told
    assert tell(workspace, events.TURN_END, turn="t2").warning is None
    assert tell(workspace, events.PROMPT, turn="t3", prompt="three").warning is None


def test_the_first_failure_of_a_turn_is_told_once(workspace: Path) -> None:
    write_files(workspace, {"a": b"1"})
    assert tell(workspace, events.PROMPT, turn="t1", prompt="one").warning is None
    packs = break_store(workspace)
    write_files(workspace, {"a": b"2"})
    said = [tell(workspace, kind).warning for kind in (events.ROUND_END, events.TURN_END)]
    assert said[0] is not None
    assert said[0].startswith("takeback: the files at this moment are not kept: ")
    assert said[0].endswith(". More: takeback status")
    assert said[1] is None
    prompted = tell(workspace, events.PROMPT, turn="t2", prompt="two").warning or ""
    assert prompted.startswith("takeback: the files before this turn are not kept: ")
    assert tell(workspace, events.TURN_END, turn="t2").warning is None
    mend(packs)
    assert tell(workspace, events.PROMPT, turn="t3", prompt="three").warning is None
    packs = break_store(workspace)
    write_files(workspace, {"a": b"3"})
    assert tell(workspace, events.TURN_END, turn="t3").warning is not None
    mend(packs)


def test_each_session_is_told_of_its_own(workspace: Path) -> None:
    write_files(workspace, {"a": b"1"})
    for session in ("one", "two"):
        tell(workspace, events.PROMPT, session=session, turn="t", prompt="p")
    packs = break_store(workspace)
    write_files(workspace, {"a": b"2"})
    for session in ("one", "two"):
        assert tell(workspace, events.ROUND_END, session=session).warning is not None
        assert tell(workspace, events.ROUND_END, session=session).warning is None
    mend(packs)


def test_nothing_is_said_before_a_tool_or_at_the_end_of_a_session(workspace: Path) -> None:
    write_files(workspace, {"a": b"1"})
    tell(workspace, events.PROMPT, turn="t1", prompt="one")
    packs = break_store(workspace)
    write_files(workspace, {"a": b"2"})
    assert tell(workspace, events.SESSION_END).warning is None
    assert tell(workspace, events.ROUND_END).warning is not None  # and it is still news
    mend(packs)


def test_a_partial_checkpoint_names_what_it_lacks_once(workspace: Path) -> None:
    limit_size(workspace)
    write_files(workspace, {"a": b"1", "big\x1b[2J": BIG})
    told = tell(workspace, events.PROMPT, turn="t1", prompt="one").warning or ""
    assert "big\\x1b[2J (oversized) is not kept, and no rewind can bring it back" in told
    assert told.isprintable()
    for turn in ("t1", "t2"):  # the same lack in later turns is no news
        write_files(workspace, {"a": turn.encode()})
        assert tell(workspace, events.TURN_END, turn=turn).warning is None
        assert tell(workspace, events.PROMPT, turn=f"{turn}b", prompt="x").warning is None
    write_files(workspace, {f"big{number}": BIG for number in range(5)})
    more = tell(workspace, events.TURN_END, turn="t2b").warning or ""
    assert "big0 (oversized), big1 (oversized), big2 (oversized) and 2 more" in more
    assert "\\x1b" not in more


def test_an_event_that_takes_too_long_waits_and_that_is_told(workspace: Path) -> None:
    """In an extension as in a hook: what rings anywhere in the middle is left, not lost."""
    write_files(workspace, {"a": b"1"})
    cli = Cli(workspace)
    cli.ok("config", "hook_seconds", "0.000001")
    server = StdioServer(adapter_named("generic"), str(workspace))
    told = {"event": "prompt", "session": "s1", "turn": "t", "prompt": "the first"}
    told["cwd"] = str(workspace)
    answer = server.answer(json.dumps({"id": 1, "call": "event", "event": told}).encode())
    assert answer["ok"], answer
    assert answer["result"]["waiting"] is True
    assert "goes on meanwhile" in answer["result"]["warning"]
    wait_for(cli.log)
    [turn] = cli.log()
    assert (turn["prompt"], turn["late"]) == ("the first", True)


@pytest.mark.parametrize(
    ("agent", "prompt", "end"),
    [
        ("claude", "UserPromptSubmit", "Stop"),
        ("codex", "UserPromptSubmit", "Stop"),
        ("gemini", "BeforeAgent", "AfterAgent"),
    ],
)
def test_the_agents_show_it_to_the_person_and_not_to_the_model(
    workspace: Path, agent: str, prompt: str, end: str
) -> None:
    limit_size(workspace)
    write_files(workspace, {"big": BIG})
    cli = Cli(workspace)
    said = {"session_id": "s1", "cwd": str(workspace), "turn_id": "t", "prompt_id": "t"}
    stdin = json.dumps({**said, "hook_event_name": prompt, "prompt": "p"}).encode()
    answer = cli.ok("hook", agent, stdin=stdin).json
    assert list(answer) == ["systemMessage"]
    assert "big (oversized)" in answer["systemMessage"]
    write_files(workspace, {"a": b"1"})
    stdin = json.dumps({**said, "hook_event_name": end}).encode()
    assert cli.ok("hook", agent, stdin=stdin).stdout == ""


def test_a_note_and_a_warning_come_together() -> None:
    for agent in ("claude", "codex", "gemini"):
        both = json.loads(adapter_named(agent).note("for the model", "for the person"))
        assert both["systemMessage"] == "for the person"
        assert both["hookSpecificOutput"]["additionalContext"] == "for the model"
    for agent in ("generic", "opencode", "pi"):  # their hosts show a warning by themselves
        assert adapter_named(agent).note("for the model", "for the person") == "for the model"


def test_a_directory_that_is_not_protected_is_told_when_a_session_starts(workspace: Path) -> None:
    cli = BelowAgent(workspace)  # which has this HOME too
    said = {"session_id": "s1", "cwd": os.environ["HOME"], "prompt_id": "t", "prompt": "p"}

    def hook(name: str, **more: str) -> str:
        told = {**said, "hook_event_name": name, **more}
        return cli.ok("hook", "claude", stdin=json.dumps(told).encode()).stdout

    assert "the files here are not kept" in json.loads(hook("SessionStart"))["systemMessage"]
    assert hook("UserPromptSubmit") == ""
    answer = json.loads(hook("UserPromptSubmit", prompt="/takeback"))
    assert answer["reason"].startswith("takeback: ")


FACES = ("hook", "extension")


def said_through(face: str, workspace: Path, event: Any) -> None:
    """Tells an event through one of the faces, as an agent's settings call it."""
    cli = Cli(workspace)
    if face == "hook":
        assert cli.ok("hook", "generic", stdin=json.dumps(event).encode()).stderr == ""
        return
    request = json.dumps({"id": 1, "call": "event", "event": event}).encode() + b"\n"
    cli.ok("hook", "generic", "--stdio", stdin=request)


def test_both_faces_note_the_same_failures_and_record_the_same_events(
    workspace: Path, tmp_path: Path
) -> None:
    about = {"session": "s", "turn": "t", "prompt": "p", "cwd": str(workspace)}
    new = [{"name": "Write", "kind": "edit", "paths": ["new"]}]
    told = [
        [1, 2],
        {"event": "prompt"},
        {"event": "from the future", **about},
        {**about, "event": "prompt", "cwd": str(tmp_path / "gone")},
        {**about, "event": "tool_before", "tools": new},
        {**about, "event": "round_end", "tools": [{"name": "Read", "kind": "read"}]},
        {**about, "event": "prompt"},
        {**about, "event": "turn_end"},
    ]
    write_files(workspace, {"a": b"1"})
    seen = []
    for face in FACES:
        for event in told:
            if isinstance(event, dict) and "session" in event:
                event = {**event, "session": face}
            said_through(face, workspace, event)
        log = Path(os.environ["TAKEBACK_HOME"], "log")
        lines = [line.split(" ", 1)[1].split("\t")[0] for line in log.read_text().splitlines()]
        log.unlink()
        cli = Cli(workspace)
        kept = cli.ok("--json", "log", "--all", "--session", f"generic-{face}").json_lines
        seen.append((lines, [line["kind"] for line in kept]))
    assert seen[0] == seen[1]
    assert len(seen[0][0]) == 4
    assert len(seen[0][1]) == 2


# -- an agent that goes on at the end of a round


def beside(workspace: Path, kind: str, said: list[str], **fields: Any) -> Heard:
    """Tells an event of an agent that need not wait, and notes what it is told when it goes on."""
    told = {"event": kind, "agent": "mine", "session": "s1", "cwd": str(workspace), **fields}
    return hear(speaker(beside=True), lambda: told, lambda event, output: said.append(output))


def test_only_at_the_end_of_a_round_an_agent_goes_on(workspace: Path) -> None:
    write_files(workspace, {"a": b"1"})
    said: list[str] = []
    for kind in (events.SESSION_START, events.PROMPT, events.TOOL_BEFORE, events.TURN_END):
        beside(workspace, kind, said, tools=[{"name": "T", "kind": "edit", "paths": ["a"]}])
        assert said == []
    assert beside(workspace, events.ROUND_END, said).checkpoint is not None
    assert said == [""]


def test_what_is_found_after_the_agent_went_on_is_told_at_the_next_event(workspace: Path) -> None:
    limit_size(workspace)
    write_files(workspace, {"a": b"1"})
    said: list[str] = []
    assert beside(workspace, events.PROMPT, said, turn="t1", prompt="one").warning is None
    write_files(workspace, {"big": BIG})
    heard = beside(workspace, events.ROUND_END, said)
    assert (said, heard.warning) == ([""], None)
    told = beside(workspace, events.TURN_END, said, turn="t1").warning or ""
    assert "big" in told
    assert beside(workspace, events.TURN_END, said, turn="t1").warning is None


def test_the_next_round_tells_it_before_its_agent_goes_on(workspace: Path) -> None:
    limit_size(workspace)
    write_files(workspace, {"a": b"1"})
    said: list[str] = []
    claude = speaker("claude", beside=True)
    session = {"session_id": "s1", "cwd": str(workspace), "transcript_path": "/none"}

    def told(name: str, **fields: Any) -> None:
        payload = {"hook_event_name": name, **session, **fields}
        hear(claude, lambda: payload, lambda event, output: said.append(output))

    told("UserPromptSubmit", prompt="one")
    for files in ({"big": BIG}, {"a": b"2"}, {"a": b"3"}):
        write_files(workspace, files)
        told("PostToolBatch", tool_calls=[{"tool_name": "Bash", "tool_input": {}}])
    assert [("big" in one) for one in said] == [False, True, False]


def test_a_capture_that_fails_after_the_agent_went_on_leaves_no_event_behind(
    workspace: Path,
) -> None:
    """It would fail the events of every other session, too."""
    write_files(workspace, {"a": b"1"})
    said: list[str] = []
    beside(workspace, events.PROMPT, said, turn="t1", prompt="one")
    packs = break_store(workspace)
    write_files(workspace, {"a": b"2"})
    beside(workspace, events.ROUND_END, said)
    assert said == [""]
    assert list(packs.parents[2].glob("pending/*")) == []
    told = beside(workspace, events.TURN_END, said).warning or ""
    assert "are not kept" in told
    mend(packs)


def test_a_round_that_was_recorded_and_left_waiting_by_a_kill_is_recorded_once(
    workspace: Path,
) -> None:
    write_files(workspace, {"a": b"1"})
    said: list[str] = []
    tools = [{"name": "T", "kind": "edit", "paths": ["a"]}]
    beside(workspace, events.PROMPT, said, turn="t1", prompt="one")
    write_files(workspace, {"a": b"2"})
    with Takeback.open(workspace) as tb:
        pending = Path(tb.store_directory, "pending")
    kept: list[tuple[str, bytes]] = []

    def look(event: AgentEvent, output: str) -> None:
        kept.extend((one.name, one.read_bytes()) for one in pending.iterdir())

    told = {"event": events.ROUND_END, "agent": "mine", "session": "s1", "tools": tools}
    hear(speaker(beside=True), lambda: {**told, "cwd": str(workspace)}, look)
    [(name, data)] = kept
    assert list(pending.iterdir()) == []
    (pending / name).write_bytes(data)
    beside(workspace, events.TURN_END, said, turn="t1")
    assert list(pending.iterdir()) == []
    with Takeback.open(workspace) as tb:
        found = [entry.checkpoint.kind for entry in tb.checkpoints(everything=True)]
    assert found == ["turn end", "round", "prompt"]
