"""From Enter to the timeline again: actions, plan, refusals, doing, after; Esc at every stage."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.pilot import Pilot

from takeback import Takeback
from takeback.model.operation import Outcome, moves
from takeback.tui import plan as after
from takeback.tui.dialog import ActionsScreen, ConflictScreen, ProgressScreen, TextPrompt
from takeback.tui.picker import OperationsScreen
from takeback.tui.plan import AfterScreen, PlanScreen, RefusalScreen
from tests.support.claude_session import NATIVE, play_claude_turn
from tests.support.git import git
from tests.support.journey import write_files
from tests.support.summariser import set_summariser
from tests.tui.stage import (
    Stage,
    change,
    files_of,
    lock_held,
    play,
    said,
    screen_text,
    shows,
    tell_story,
    until,
)

NOW = {"a.txt": b"2\n", "b.txt": b"b\n"}
BEFORE_TIDYING = {"a.txt": b"1\n", "b.txt": b"b\n", "c.txt": b"c\n"}


@pytest.fixture
def story(workspace: Path) -> Path:
    tell_story(workspace)
    return workspace


def operations(workspace: Path) -> list[tuple[str, str]]:
    with Takeback.open(workspace) as tb:
        return [(done.kind, done.scope) for done in moves(tb.operations())]


async def at_timeline(stage: Stage, pilot: Pilot[None]) -> None:
    await until(pilot, lambda: len(stage.screen_stack) == 1 and not stage.workers._workers)


async def to_plan(stage: Stage, pilot: Pilot[None], key: str, number: int = 0) -> str:
    """Presses Enter at an entry and the key of an action; returns the plan's words."""
    await stage.travel(number)
    await shows(pilot, ActionsScreen)
    await pilot.press(key)
    return said(await shows(pilot, PlanScreen))


# -- the way there


def test_files_and_conversation_and_back_in_one_key(story: Path) -> None:
    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await stage.travel()
        text = said(await shows(pilot, ActionsScreen))
        assert "Go back to before turn 3: tidy up" in text
        assert "t Only the ticked files (not possible: no file is ticked)" in text
        await pilot.press("enter")
        plan = said(await shows(pilot, PlanScreen))
        assert "Rewind 2 files and the conversation to" in plan
        assert "write a.txt" in plan
        assert "create c.txt" in plan
        assert 'The prompt is offered again: "tidy up"' in plan
        assert files_of(story) == NOW
        await pilot.press("y")
        after = said(await shows(pilot, AfterScreen))
        assert "Rewound 2 files and the conversation to" in after
        assert "Written: a.txt c.txt" in after
        assert "Take it back: takeback undo" in after
        assert files_of(story) == BEFORE_TIDYING
        await pilot.press("u")
        assert "Undo the rewind to before turn 3: tidy up (2 files)?" in said(
            await shows(pilot, PlanScreen)
        )
        await pilot.press("y")
        assert "Take it back: takeback redo" in said(await shows(pilot, AfterScreen))
        assert files_of(story) == NOW
        await pilot.press("escape")
        await at_timeline(stage, pilot)
        assert isinstance(stage.answer, Outcome)
        assert stage.answer.kind == "undo"

    play(story, keys)
    assert operations(story) == [("rewind", "both"), ("undo", "both")]


@pytest.mark.parametrize(
    ("key", "done", "files"),
    [
        ("c", ("rewind", "conversation"), NOW),
        ("f", ("rewind", "files"), BEFORE_TIDYING),
        ("n", ("fork", "conversation"), NOW),
        ("w", ("fork", "both"), BEFORE_TIDYING),
    ],
)
def test_what_a_key_does(
    story: Path, key: str, done: tuple[str, str], files: dict[str, bytes]
) -> None:
    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        plan = await to_plan(stage, pilot, key)
        assert ("The files stay as they are." in plan) == (files == NOW)
        await pilot.press("y")
        await shows(pilot, AfterScreen)
        await pilot.press("escape")
        await at_timeline(stage, pilot)

    play(story, keys)
    assert operations(story) == [done]
    assert files_of(story) == files


def test_a_summary_says_what_is_sent_before_it_is(story: Path, tmp_path: Path) -> None:
    program = set_summariser(story, tmp_path)

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        plan = await to_plan(stage, pilot, "s")
        assert "characters, are sent to the model of:" in plan
        assert program.name in plan
        await pilot.press("y")
        after = said(await shows(pilot, AfterScreen))
        assert "Summarised a part of the conversation, in a new session" in after
        assert "Take it back" not in after

    play(story, keys)
    assert operations(story) == [("summarise", "conversation")]
    assert files_of(story) == NOW


def test_only_the_ticked_files(story: Path) -> None:
    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await stage.travel(0, b"c.txt")
        assert "Only the 1 ticked file" in said(await shows(pilot, ActionsScreen))
        await pilot.press("t")
        assert "a.txt" not in said(await shows(pilot, PlanScreen))
        await pilot.press("y")
        await shows(pilot, AfterScreen)

    play(story, keys)
    assert files_of(story) == {**NOW, "c.txt": b"c\n"}


@pytest.mark.long
def test_to_the_end_of_a_turn(story: Path) -> None:
    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await stage.travel(2)
        await shows(pilot, ActionsScreen)
        await pilot.press("e")
        await until(pilot, lambda: "after turn 1, " in said(screen_text(stage)))
        await pilot.press("f")
        await shows(pilot, PlanScreen)
        await pilot.press("y")
        await shows(pilot, AfterScreen)

    play(story, keys)
    assert files_of(story) == {"a.txt": b"1\n", "c.txt": b"c\n"}


@pytest.mark.long
def test_a_fork_into_a_directory_asks_until_it_is_a_new_one(story: Path, tmp_path: Path) -> None:
    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await stage.travel()
        await shows(pilot, ActionsScreen)
        await pilot.press("d")
        await shows(pilot, TextPrompt)
        await pilot.press("ctrl+u", *str(tmp_path), "enter")
        await until(pilot, lambda: "is there already" in said(screen_text(stage)))
        await pilot.press(*"/race", "enter")
        assert f"go into {tmp_path}/race; those here stay" in said(await shows(pilot, PlanScreen))
        await pilot.press("y")
        after = said(await shows(pilot, AfterScreen))
        assert f"The files are in {tmp_path}/race" in after
        assert "take it back" not in after.lower()

    play(story, keys, size=(160, 48))
    assert files_of(tmp_path / "race") == BEFORE_TIDYING
    assert files_of(story) == NOW


def test_a_label(story: Path) -> None:
    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await stage.label(1)
        await shows(pilot, TextPrompt)
        await pilot.press(*"turn:3", "enter")
        await until(pilot, lambda: "turn:3" in said(screen_text(stage)))
        assert isinstance(pilot.app.screen, TextPrompt), "that looks like a turn and is refused"
        await pilot.press("ctrl+u", *"good", "enter")
        await at_timeline(stage, pilot)
        assert (await stage.entries())[1].checkpoint.label == "good"
        await stage.travel(1)
        await shows(pilot, ActionsScreen)
        await pilot.press("l")
        await shows(pilot, TextPrompt)
        await pilot.press("ctrl+u", "enter")
        await at_timeline(stage, pilot)
        assert (await stage.entries())[1].checkpoint.label is None

    play(story, keys)


def test_the_id_is_copied_and_shown(story: Path) -> None:
    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        [entry, *_] = await stage.entries()
        await stage.travel()
        await shows(pilot, ActionsScreen)
        await pilot.press("y")
        await at_timeline(stage, pilot)
        assert stage.clipboard == entry.checkpoint.id
        await until(pilot, lambda: f"Copied: {entry.checkpoint.id}" in said(screen_text(stage)))

    play(story, keys)


def test_undo_and_redo_from_the_timeline(story: Path) -> None:
    with Takeback.open(story) as tb:
        tb.rewind("turn:3", scope="files")

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        for kind, files in (("undo", NOW), ("redo", BEFORE_TIDYING)):
            await stage.step(kind)
            await shows(pilot, PlanScreen)
            await pilot.press("y")
            await shows(pilot, AfterScreen)
            assert files_of(story) == files
            await pilot.press("escape")
            await at_timeline(stage, pilot)

    play(story, keys)


@pytest.mark.long
def test_going_before_an_operation_from_the_list_of_them(story: Path) -> None:
    with Takeback.open(story) as tb:
        tb.rewind("turn:3", scope="files")
        tb.rewind("turn:2", scope="files")

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        stage.begin(stage.flow.operations())
        await shows(pilot, OperationsScreen)
        text = said(screen_text(stage))
        assert "<- undo takes this back" in text
        await pilot.press("down", "b")
        await shows(pilot, PlanScreen)
        await pilot.press("escape")
        await shows(pilot, OperationsScreen)
        await pilot.press("down", "enter")
        await shows(pilot, PlanScreen)
        await pilot.press("y")
        await shows(pilot, AfterScreen)
        assert files_of(story) == NOW
        await pilot.press("escape")
        await at_timeline(stage, pilot)

    play(story, keys)


# -- Esc


def test_esc_steps_back_one_stage_and_changes_nothing(story: Path) -> None:
    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await to_plan(stage, pilot, "b")
        await pilot.press("escape")
        await shows(pilot, ActionsScreen)
        await pilot.press("d")
        await shows(pilot, TextPrompt)
        await pilot.press("escape")
        await shows(pilot, ActionsScreen)
        await pilot.press("escape")
        await at_timeline(stage, pilot)
        assert stage.answer is None

    play(story, keys)
    assert files_of(story) == NOW
    assert operations(story) == []


@pytest.mark.long
def test_the_focus_is_on_stepping_back(story: Path) -> None:
    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await to_plan(stage, pilot, "b")
        await pilot.press("enter")
        await shows(pilot, ActionsScreen)
        await pilot.press("b")
        await shows(pilot, PlanScreen)
        await pilot.press("tab", "enter")
        await shows(pilot, AfterScreen)

    play(story, keys)
    assert files_of(story) == BEFORE_TIDYING


def test_from_taking_it_back_esc_leads_to_what_was_done(story: Path) -> None:
    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await to_plan(stage, pilot, "f")
        await pilot.press("y")
        await shows(pilot, AfterScreen)
        await pilot.press("u")
        await shows(pilot, PlanScreen)
        await pilot.press("escape")
        assert "Rewound 2 files" in said(await shows(pilot, AfterScreen))

    play(story, keys)
    assert operations(story) == [("rewind", "files")]


def test_an_impossible_action_says_why(story: Path) -> None:
    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await stage.travel()
        await shows(pilot, ActionsScreen)
        await pilot.press("u")
        await until(
            pilot, lambda: "Undo the last rewind: nothing to undo" in said(screen_text(stage))
        )
        assert isinstance(pilot.app.screen, ActionsScreen)

    play(story, keys)


# -- the plan


def test_own_edits_are_named_with_how_to_keep_them(story: Path) -> None:
    write_files(story, {"a.txt": b"mine\n"})

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        plan = await to_plan(stage, pilot, "f")
        assert "write a.txt" in plan
        assert "your own edit since then, taken back too" in plan
        assert "e keeps it" in plan

    play(story, keys)


def test_nothing_to_do_has_nothing_to_confirm(story: Path) -> None:
    with Takeback.open(story) as tb:
        tb.rewind("turn:3", scope="files")

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        assert "Nothing to do: the files are already at" in await to_plan(stage, pilot, "f")
        await pilot.press("y")
        await pilot.pause()
        assert isinstance(pilot.app.screen, PlanScreen)
        assert not pilot.app.screen.query("#agree")

    play(story, keys)


@pytest.mark.long
def test_a_long_plan_is_there_in_whole_and_the_question_stays_in_sight(story: Path) -> None:
    with (
        Takeback.open(story) as tb,
        tb.session(agent="mine", native="s1").turn("many", conversation=b"x\n"),
    ):
        write_files(story, {f"many/file{n:03}.txt": b"x\n" for n in range(200)})

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        plan = await to_plan(stage, pilot, "f")
        assert "Rewind 200 files" in plan
        assert "Answer what speaks against it (y)" in plan
        assert "file199" not in plan
        await pilot.press("end")
        await until(pilot, lambda: "delete many/file199.txt" in said(screen_text(stage)))

    play(story, keys)


def test_files_that_change_while_the_plan_is_read_make_a_new_plan(story: Path) -> None:
    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await to_plan(stage, pilot, "f")
        write_files(story, {"a.txt": b"later\n", "new.txt": b"later\n"})
        await pilot.press("y")
        await until(pilot, lambda: "The files changed meanwhile" in said(screen_text(stage)))
        assert "delete new.txt" in said(screen_text(stage))
        assert files_of(story)["a.txt"] == b"later\n"
        await pilot.press("y")
        await shows(pilot, AfterScreen)

    play(story, keys)
    assert files_of(story) == BEFORE_TIDYING


def test_prompts_and_paths_are_never_markup(workspace: Path) -> None:
    write_files(workspace, {"a": b"0\n"})
    with Takeback.open(workspace) as tb:
        session = tb.session(agent="mine", native="s1")
        with session.turn("[bold red]x[/] \x1b[31m", conversation=b"x\n") as turn:
            change(workspace, {"[link=x]y[": b"1\n"})
            turn.end(conversation=b"x\n")

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await stage.travel()
        assert "[bold red]x[/] \\x1b[31m" in said(await shows(pilot, ActionsScreen))
        await pilot.press("b")
        assert "delete [link=x]y[" in said(await shows(pilot, PlanScreen))
        await pilot.press("y")
        after = said(await shows(pilot, AfterScreen))
        assert "[link=x]y[" in after
        await pilot.press("p")
        await pilot.pause()
        assert stage.clipboard == "[bold red]x[/] \x1b[31m"

    play(workspace, keys)


# -- refusals, one by one


def crowd(workspace: Path) -> None:
    """Another session changed b.txt, and forty files came that are to be deleted."""
    with (
        Takeback.open(workspace) as tb,
        tb.session(agent="other", native="o").turn("another way"),
    ):
        write_files(workspace, {"b.txt": b"other\n"})
        write_files(workspace, {f"file{n}.txt": b"x\n" for n in range(40)})


def test_each_refusal_is_a_question_of_its_own(story: Path) -> None:
    crowd(story)

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        plan = await to_plan(stage, pilot, "f", 1)
        assert "2 questions first" in plan
        await pilot.press("y")
        question = said(await shows(pilot, RefusalScreen))
        assert "1 of 2: Another session (other-o) changed b.txt" in question
        assert "--" not in question
        await pilot.press("2")
        await until(pilot, lambda: "2 of 2: This would delete 40 of" in said(screen_text(stage)))
        assert "Type the word delete to go on" in said(screen_text(stage))
        await pilot.press("enter")
        await until(pilot, lambda: "No word was typed." in said(screen_text(stage)))
        await pilot.press(*"yes", "enter")
        await until(pilot, lambda: '"yes" is not the word.' in said(screen_text(stage)))
        await pilot.press("ctrl+u", *"delete", "enter")
        plan = said(await shows(pilot, PlanScreen))
        assert "You agreed: also what another session changed" in plan
        assert "although most of the files are deleted" in plan
        assert "refused" not in plan
        assert (story / "file0.txt").exists()
        await pilot.press("y")
        await shows(pilot, AfterScreen)

    play(story, keys)
    assert files_of(story) == {"a.txt": b"1\n", "b.txt": b"b\n", "c.txt": b"c\n"}


@pytest.mark.long
def test_only_what_the_session_changed_is_taken_back_if_that_is_said(story: Path) -> None:
    crowd(story)

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        plan = await to_plan(stage, pilot, "f", 1)
        assert "Take back only what its own session changed (m)" in plan
        await pilot.press("m")
        await until(pilot, lambda: "only what its session changed" in said(screen_text(stage)))
        kept = said(screen_text(stage))
        assert "refused" not in kept
        assert "(m)" not in kept
        await pilot.press("escape")
        await until(pilot, lambda: "2 questions first" in said(screen_text(stage)))
        await pilot.press("m")
        await until(pilot, lambda: "only what its session changed" in said(screen_text(stage)))
        await pilot.press("y")
        await shows(pilot, AfterScreen)

    before = files_of(story)
    play(story, keys)
    after = files_of(story)
    assert after["a.txt"] == b"1\n"
    assert {path: after[path] for path in before if path.startswith("file")} == {
        path: b"x\n" for path in before if path.startswith("file")
    }
    assert after["b.txt"] == b"other\n"


@pytest.mark.long
def test_the_files_of_others_can_be_left(story: Path) -> None:
    crowd(story)

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await to_plan(stage, pilot, "f", 1)
        await pilot.press("y")
        await shows(pilot, RefusalScreen)
        await pilot.press("1")
        await until(pilot, lambda: "2 of 2" in said(screen_text(stage)))
        await pilot.press(*"delete", "enter")
        plan = said(await shows(pilot, PlanScreen))
        assert "what another session changed is left as it is" in plan
        assert "b.txt: changed by another session (other-o) and kept" in plan
        await pilot.press("y")
        assert "Left alone: b.txt" in said(await shows(pilot, AfterScreen))

    play(story, keys, size=(80, 60))
    kept = files_of(story)
    assert (kept["b.txt"], kept["a.txt"], kept["file0.txt"]) == (b"other\n", b"1\n", b"x\n")


@pytest.mark.long
def test_esc_at_a_question_leads_to_the_plan_and_forgets_the_answers(story: Path) -> None:
    crowd(story)

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await to_plan(stage, pilot, "f", 1)
        await pilot.press("y")
        await shows(pilot, RefusalScreen)
        await pilot.press("2")
        await until(pilot, lambda: "2 of 2" in said(screen_text(stage)))
        await pilot.press("escape")
        plan = said(await shows(pilot, PlanScreen))
        assert "2 questions first" in plan
        assert "You agreed" not in plan
        await pilot.press("escape")
        await shows(pilot, ActionsScreen)

    play(story, keys)
    assert operations(story) == []


@pytest.mark.long
def test_another_branch_and_a_merge(story: Path) -> None:
    git(story, "checkout", "--quiet", "-b", "other")
    write_files(story, {".git/MERGE_HEAD": b"0" * 40 + b"\n"})

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await to_plan(stage, pilot, "f")
        await pilot.press("y")
        assert "A git merge is in progress here." in said(await shows(pilot, RefusalScreen))
        await pilot.press("1")
        await until(pilot, lambda: "Another branch is checked out" in said(screen_text(stage)))
        assert files_of(story) == NOW
        await pilot.press("1")
        plan = said(await shows(pilot, PlanScreen))
        assert "although git is in the middle of something" in plan
        assert "although another branch is checked out" in plan
        await pilot.press("y")
        await shows(pilot, AfterScreen)

    play(story, keys)
    assert files_of(story) == BEFORE_TIDYING


@pytest.mark.long
def test_a_running_turn(story: Path) -> None:
    with Takeback.open(story) as tb:
        tb.session(agent="busy", native="b").turn("work and work").__enter__()

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await to_plan(stage, pilot, "f", 1)
        await pilot.press("y")
        question = said(await shows(pilot, RefusalScreen))
        assert 'busy is working on "work and work"; press Esc there first.' in question
        await pilot.press("1")
        assert "although an agent is working here" in said(await shows(pilot, PlanScreen))
        await pilot.press("escape")
        await shows(pilot, ActionsScreen)
        await pilot.press("n")
        assert "refused" not in said(await shows(pilot, PlanScreen)), "a fork changes no file"

    play(story, keys)


def test_what_nothing_waives_is_said_and_cannot_be_agreed_to(
    story: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A picker that an agent's own tool has started may look, and rewind nothing."""
    with Takeback.open(story) as tb:
        tb.session(agent="busy", native="b").turn("work and work").__enter__()
    monkeypatch.setenv("TAKEBACK_AGENT", "busy")
    monkeypatch.setenv("TAKEBACK_SESSION_ID", "b")

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        plan = await to_plan(stage, pilot, "f", 1)
        assert "called from inside a running turn of busy" in plan
        assert "It cannot be done now." in plan
        await pilot.press("y")
        await pilot.pause()
        assert isinstance(pilot.app.screen, PlanScreen)

    play(story, keys)


# -- while it is done, and after


@pytest.mark.long
def test_keys_start_nothing_while_it_is_done_and_quitting_waits(
    story: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The rewind waits for a lock that another process has; a person presses keys meanwhile."""

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await to_plan(stage, pilot, "f")
        with lock_held(story) as holder:
            await pilot.press("y")
            await shows(pilot, ProgressScreen)
            await pilot.press("y", "escape", "enter", "u")
            await until(pilot, lambda: "Rewinding…" in said(screen_text(stage)))
            assert isinstance(pilot.app.screen, ProgressScreen)
            await pilot.press("q")
            await until(pilot, lambda: "takeback ends when it is done" in said(screen_text(stage)))
            assert files_of(story) == NOW
            holder.kill()
        await until(pilot, lambda: not stage.is_running or stage._exit)
        assert stage.told[-1] == "Take it back: takeback undo"

    play(story, keys)
    assert files_of(story) == BEFORE_TIDYING
    assert operations(story) == [("rewind", "files")]


def resumable(workspace: Path, tmp_path: Path) -> Path:
    """Lets an agent that takeback knows have the last turn; returns its program."""
    program = tmp_path / "bin" / "claude"
    write_files(tmp_path, {"bin/claude": b"#!/bin/sh\nexit 0\n"})
    transcript = tmp_path / "home" / ".claude" / "projects" / "p" / f"{NATIVE}.jsonl"
    play_claude_turn(workspace, transcript, "one", workspace / "a.txt")
    return program


def with_words_of_its_own(workspace: Path, tmp_path: Path) -> Path:
    """Lets the agent of the story say how it is resumed; returns the program that it names."""
    program = tmp_path / "bin" / "mine"
    write_files(tmp_path, {"bin/mine": b"#!/bin/sh\nexit 0\n"})
    with Takeback.open(workspace) as tb:
        session = tb.session(agent="mine", native="s2")
        session.tell("session_start")
        received = session.tell(
            "prompt",
            turn="t",
            prompt="one",
            messages=b"x\n",
            resume=("mine", "--resume", "{session}"),
        )
        write_files(workspace, {"a.txt": b"9\n"})
        session.tell(
            "turn_end", turn="t", messages=b"x\n", resume=("mine", "--resume", "{session}")
        )
        assert received.checkpoint is not None
    return program


@pytest.mark.long
def test_a_line_that_came_with_an_event_is_copied_and_never_run(
    story: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = with_words_of_its_own(story, tmp_path)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await to_plan(stage, pilot, "b")
        await pilot.press("y")
        after = said(await shows(pilot, AfterScreen))
        assert "The host's words" in after
        assert "Resume the agent" not in after
        await pilot.press("c")
        await pilot.pause()
        assert stage.clipboard.startswith(f"cd {story} && mine --resume s2.")
        await pilot.press("r", "enter")
        await pilot.pause(0.6)
        assert stage.resume_with is None
        await pilot.press("enter")
        await at_timeline(stage, pilot)
        assert stage.resume_with is None

    play(story, keys)


def test_an_enter_that_was_typed_ahead_closes_nothing_and_starts_nothing(
    story: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = resumable(story, tmp_path)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(after, "QUIET", 600.0)  # however slow the machine is

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await to_plan(stage, pilot, "b")
        await pilot.press("y")
        await shows(pilot, AfterScreen)
        await pilot.press("enter", "enter")
        assert isinstance(stage.screen, AfterScreen)
        monkeypatch.setattr(after, "QUIET", 0.0)
        await pilot.press("enter")  # the safe button has the focus
        await at_timeline(stage, pilot)
        assert stage.resume_with is None

    play(story, keys)


@pytest.mark.long
def test_the_agent_is_resumed_where_it_can_be(
    story: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = resumable(story, tmp_path)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await to_plan(stage, pilot, "b")
        await pilot.press("y")
        after = said(await shows(pilot, AfterScreen))
        assert "Resume the agent (r)" in after
        await pilot.press("c")
        await pilot.pause()
        assert stage.clipboard.startswith(f"cd {story} && claude --resume=")
        await pilot.press("r")
        await until(pilot, lambda: stage.resume_with is not None)

    stage = play(story, keys)
    assert stage.resume_with is not None
    [program_name, wanted] = stage.resume_with.argv
    assert program_name == "claude"
    assert wanted.startswith("--resume=")
    assert stage.resume_with.cwd == str(story)


@pytest.mark.long
def test_an_agent_that_is_not_there_cannot_be_resumed_and_that_is_said(
    story: Path, tmp_path: Path
) -> None:
    resumable(story, tmp_path)

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await to_plan(stage, pilot, "b")
        await pilot.press("y")
        after = said(await shows(pilot, AfterScreen))
        assert "The agent cannot be started from here: claude is not on the PATH." in after
        await pilot.press("escape")
        await at_timeline(stage, pilot)
        assert stage.resume_with is None

    play(story, keys)


# -- one turn only, and the person's own edits


LINES = "".join(f"line {number}\n" for number in range(1, 10))


def lines_with(**changed: str) -> bytes:
    """Returns the nine lines with some of them changed: ``l2="two"``."""
    text = LINES
    for name, line in changed.items():
        text = text.replace(f"line {name[1:]}\n", f"{line}\n")
    return text.encode()


def disputed_story(workspace: Path) -> None:
    """Three turns: the first changes lines 2, 5 and 8 and an image, the last 2, 8 and the image."""
    write_files(workspace, {"text": LINES.encode(), "image": b"\0zero"})
    with Takeback.open(workspace) as tb:
        session = tb.session(agent="mine", native="s1")
        with session.turn("change three"):
            write_files(workspace, {"text": lines_with(l2="two", l5="five", l8="eight")})
            write_files(workspace, {"image": b"\0one"})
        with session.turn("make a file"):
            write_files(workspace, {"new": b"new\n"})
        with session.turn("change two again"):
            write_files(workspace, {"text": lines_with(l2="zwei", l5="five", l8="acht")})
            write_files(workspace, {"image": b"\0two"})


def test_one_turn_is_reverted_and_the_later_ones_stay(story: Path) -> None:
    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await stage.travel(1)
        text = said(await shows(pilot, ActionsScreen))
        assert "v Revert this turn only, keep what came later" in text
        await pilot.press("v")
        plan = said(await shows(pilot, PlanScreen))
        assert 'Revert 1 file of turn 2 "add a page"?' in plan
        assert "delete b.txt" in plan
        await pilot.press("y")
        assert 'Reverted 1 file of turn 2 "add a page".' in said(await shows(pilot, AfterScreen))
        assert files_of(story) == {"a.txt": b"2\n"}
        await pilot.press("u")
        assert 'Undo the revert of turn 2 "add a page" (1 file)?' in said(
            await shows(pilot, PlanScreen)
        )
        await pilot.press("y")
        await shows(pilot, AfterScreen)

    play(story, keys)
    assert files_of(story) == NOW
    assert operations(story) == [("revert", "files"), ("undo", "files")]


def test_a_revert_asks_about_each_disputed_stretch(workspace: Path) -> None:
    disputed_story(workspace)

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        plan = await to_plan(stage, pilot, "v", number=2)
        assert "You choose where both changed the same; 3 questions first." in plan
        assert "refused" not in plan
        assert "Choose where both changed the same (y)" in plan
        await pilot.press("y")
        first = said(await shows(pilot, ConflictScreen))
        assert "1 of 3: image: its bytes were changed again since" in first
        assert "conflict markers" not in first, "there are no lines to stand between"
        await pilot.press("1")
        await until(pilot, lambda: "2 of 3: text: the same lines" in said(screen_text(stage)))
        assert "line 2 now zwei then line 2" in said(screen_text(stage))
        await pilot.press("1")
        await until(pilot, lambda: "3 of 3" in said(screen_text(stage)))
        await pilot.press("escape")
        await until(pilot, lambda: "2 of 3" in said(screen_text(stage)))
        await pilot.press("2")
        await until(pilot, lambda: "line 8 now acht then line 8" in said(screen_text(stage)))
        await pilot.press("3")
        agreed = said(await shows(pilot, PlanScreen))
        assert 'Revert 1 file of turn 1 "change three"?' in agreed
        assert "write text" in agreed
        assert b"zwei" in (workspace / "text").read_bytes(), "nothing was done yet"
        await pilot.press("y")
        await shows(pilot, AfterScreen)

    play(workspace, keys)
    text = (workspace / "text").read_bytes()
    assert text.startswith(b"line 1\nline 2\nline 3\nline 4\nline 5\n")
    assert b"<<<<<<< as it is now\nacht\n=======\nline 8\n>>>>>>> " in text
    assert (workspace / "image").read_bytes() == b"\0two"
    assert operations(workspace) == [("revert", "files")]


@pytest.mark.long
def test_stepping_back_from_the_first_conflict_leads_to_the_plan(workspace: Path) -> None:
    disputed_story(workspace)

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await to_plan(stage, pilot, "v", number=2)
        await pilot.press("y")
        await shows(pilot, ConflictScreen)
        await pilot.press("1")
        await until(pilot, lambda: "2 of 3" in said(screen_text(stage)))
        await pilot.press("escape", "escape")
        assert "3 questions first" in said(await shows(pilot, PlanScreen))
        await pilot.press("escape")
        await shows(pilot, ActionsScreen)

    play(workspace, keys)
    assert operations(workspace) == []


def test_a_plan_that_takes_back_own_edits_can_keep_them(story: Path) -> None:
    write_files(story, {"mine.txt": b"typed by me\n"})

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        plan = await to_plan(stage, pilot, "b")
        assert "delete mine.txt" in plan
        assert "(undo brings it back; e keeps it)" in plan
        assert "Keep your own edit (e)" in plan
        await pilot.press("e")
        await until(pilot, lambda: "your own edits since then, kept:" in said(screen_text(stage)))
        kept = said(screen_text(stage))
        assert "with your edits since" in kept
        assert "(e)" not in kept
        await pilot.press("escape")
        await until(pilot, lambda: "delete mine.txt" in said(screen_text(stage)))
        await pilot.press("e")
        await until(pilot, lambda: "your own edits since then, kept:" in said(screen_text(stage)))
        await pilot.press("y")
        assert "Rewound 2 files and the conversation" in said(await shows(pilot, AfterScreen))

    play(story, keys)
    assert files_of(story) == {**BEFORE_TIDYING, "mine.txt": b"typed by me\n"}


@pytest.mark.long
def test_nothing_is_offered_to_be_kept_where_nothing_would_go(story: Path) -> None:
    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        assert "keep your" not in (await to_plan(stage, pilot, "b")).lower()
        await pilot.press("e")
        await pilot.pause()
        assert "Rewind 2 files and the conversation" in said(screen_text(stage))

    play(story, keys)
    assert operations(story) == []
