"""Agents written in Python: a turn is a ``with`` block."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.errors import NoSuchCheckpoint, Refused, UsageError
from takeback.model.coverage import Overrides
from takeback.model.event import EDIT, ToolCall


@pytest.fixture
def tb(workspace: Path) -> Iterator[Takeback]:
    (workspace / "a.txt").write_text("0\n")
    with Takeback.open(workspace) as opened:
        yield opened


def test_a_turn_has_a_checkpoint_before_and_one_after(tb: Takeback, workspace: Path) -> None:
    with tb.session(agent="mine").turn("change a") as turn:
        (workspace / "a.txt").write_text("1\n")
    assert (turn.before.kind, turn.after.kind) == ("prompt", "turn end")
    [entry] = tb.checkpoints()
    assert entry.checkpoint.prompt == "change a"
    assert [change.path for change in entry.done] == [b"a.txt"]
    assert tb.plan(turn.before).files == 1
    tb.rewind(turn.before)
    assert (workspace / "a.txt").read_text() == "0\n"
    tb.undo()
    assert (workspace / "a.txt").read_text() == "1\n"


def test_rounds_say_who_did_it(tb: Takeback, workspace: Path) -> None:
    with tb.session(agent="mine").turn("change a") as turn:
        (workspace / "a.txt").write_text("1\n")
        turn.round([ToolCall("edit", EDIT, ("a.txt",))])
    [change] = tb.show(turn.before).entry.done
    assert change.who == "tool edit"
    assert tb.show(turn.before).tools == (("edit", 1),)


def test_the_paths_of_tools_are_from_where_the_workspace_was_opened(workspace: Path) -> None:
    below = workspace / "lib"
    below.mkdir()
    (workspace / "a.txt").write_text("0\n")
    with Takeback.open(below) as tb, tb.session(agent="mine").turn("one") as turn:
        with tb.session(agent="mine").turn("beside it"):
            (below / "a.txt").write_text("1\n")
            turn.round([ToolCall("edit", EDIT, ("a.txt",))])
        turn.end()
        changes = [(change.path, change.who) for change in tb.show(turn.before).entry.done]
        assert changes == [(b"lib/a.txt", "tool edit")]


def test_an_agent_that_fails_leaves_an_ended_turn(tb: Takeback, workspace: Path) -> None:
    turn = tb.session(agent="mine").turn("fail")

    def work() -> None:
        with turn:
            (workspace / "a.txt").write_text("half\n")
            raise RuntimeError("the agent broke")

    with pytest.raises(RuntimeError):
        work()
    assert turn.after.turn == 1
    [entry] = tb.sessions()
    assert entry.newest is not None
    assert entry.newest.state == "ended"
    tb.rewind(turn.before)
    assert (workspace / "a.txt").read_text() == "0\n"


def test_a_conversation_of_messages_comes_back(tb: Takeback, workspace: Path) -> None:
    messages: list[dict[str, str]] = []
    session = tb.session(agent="mine")
    befores = []
    for text in ("one", "two", "three"):
        with session.turn(text, conversation=messages) as turn:
            messages.append({"role": "user", "text": text})
        befores.append(turn.before)
    kept = tb.conversation(befores[2])
    assert kept == b'{"role": "user", "text": "one"}\n{"role": "user", "text": "two"}\n'
    assert tb.conversation(befores[0]) == b""
    done = tb.rewind(befores[2], scope="conversation")
    assert done.session is not None
    assert done.prompt == "three"
    child = next(entry for entry in tb.sessions() if entry.session.id == done.session)
    assert child.session.parent == session.id
    assert tb.conversation(f"{child.session.id}/@") == kept


def test_a_turn_begins_with_what_the_last_one_left(tb: Takeback, workspace: Path) -> None:
    session = tb.session(agent="mine")
    for text in ("one", "two"):
        with session.turn(text) as turn:
            turn.messages = [*turn.messages, {"said": text}]
    assert turn.messages == [{"said": "one"}, {"said": "two"}]
    assert tb.conversation(turn.before) == b'{"said": "one"}\n'

    def fail() -> None:
        with session.turn("three") as failing:
            assert failing.messages == turn.messages
            raise RuntimeError("the agent broke")

    with pytest.raises(RuntimeError):
        fail()
    assert session.conversation == turn.conversation
    with session.turn("four") as fourth:
        assert fourth.messages == turn.messages
        fourth.conversation = b"\xffopaque"
    assert tb.resume("mine").conversation == b"\xffopaque"
    with pytest.raises(UsageError, match="no list of messages"):
        fourth.messages  # noqa: B018
    with pytest.raises(UsageError, match="a message is no JSON"):
        fourth.messages = [object()]
    with pytest.raises(UsageError, match="bytes or a list"):
        session.turn("five", conversation="text")


def test_a_session_is_resumed_where_a_rewind_an_undo_and_a_fork_went(
    tb: Takeback, workspace: Path
) -> None:
    session = tb.session(agent="mine")
    turns = []
    for number in (1, 2, 3):
        with session.turn(f"turn {number}") as turn:
            (workspace / "a.txt").write_text(f"{number}\n")
            turn.messages = [*turn.messages, number]
        turns.append(turn)
    back = tb.resume(tb.rewind(turns[1].before))
    assert (back.agent, back.conversation) == ("mine", b"1\n")
    with back.turn("another second") as other:
        assert (other.messages, other.before.turn) == ([1], 2)
        (workspace / "a.txt").write_text("other\n")
        other.messages = [1, "other"]
    assert tb.resume(back.id).conversation == b'1\n"other"\n'
    forked = tb.resume(tb.fork(turns[2].before))
    assert forked.conversation == b"1\n2\n"
    begun = tb.resume(tb.rewind(turns[0].before, overrides=Overrides(overwrite_others=True)))
    assert begun.conversation == b""
    with pytest.raises(Refused, match="no conversation to go on with"):
        tb.resume(tb.rewind(turns[0].before, scope="files"))
    with pytest.raises(NoSuchCheckpoint):
        tb.resume("nobody")


def test_the_hooks_of_an_agent_are_heard_in_a_program(
    tb: Takeback, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/elsewhere")  # of an agent that runs this program
    said = {"session_id": "s1", "prompt_id": "p1", "cwd": str(workspace)}
    before = tb.hear("claude", {**said, "hook_event_name": "UserPromptSubmit", "prompt": "go"})
    (workspace / "a.txt").write_text("1\n")
    assert tb.hear("claude", {**said, "hook_event_name": "Notification"}).checkpoint is None
    after = tb.hear("claude", {**said, "hook_event_name": "Stop"})
    assert before.checkpoint is not None
    assert after.checkpoint is not None
    assert (before.checkpoint.prompt, after.checkpoint.turn) == ("go", 1)
    assert before.checkpoint.directory == str(workspace)
    tb.rewind(before.checkpoint, scope="files")
    assert (workspace / "a.txt").read_text() == "0\n"
    elsewhere = {**said, "cwd": "/", "hook_event_name": "UserPromptSubmit", "prompt": "go"}
    with pytest.raises(UsageError, match="outside the workspace"):
        tb.hear("claude", elsewhere)
    for payload in ({}, {"hook_event_name": 3}, {"hook_event_name": "Stop"}):
        with pytest.raises(UsageError, match="claude has no such event"):
            tb.hear("claude", payload)


def test_the_conversation_may_be_bytes(tb: Takeback) -> None:
    with tb.session(agent="mine").turn("one", conversation=b"\xff\x00opaque") as turn:
        pass
    assert tb.conversation(turn.before) == b"\xff\x00opaque"


def test_a_session_can_be_gone_on_with_later(tb: Takeback, workspace: Path) -> None:
    native = tb.session(agent="mine", native="known").native
    for number in (1, 2):
        with tb.session(agent="mine", native=native).turn(f"turn {number}"):
            (workspace / "a.txt").write_text(f"{number}\n")
    [entry] = tb.sessions()
    assert (entry.session.id, entry.turns) == ("mine-known", 2)
    tb.rewind("turn:2", scope="files")
    assert (workspace / "a.txt").read_text() == "1\n"


def test_the_model_is_told_with_the_next_turn_once(tb: Takeback, workspace: Path) -> None:
    session = tb.session(agent="mine")
    with session.turn("one") as first:
        (workspace / "a.txt").write_text("1\n")
    assert first.note is None
    tb.rewind(first.before, scope="files")
    with session.turn("two") as second:
        pass
    assert second.note is not None
    assert 'put back: "a.txt"' in second.note
    with session.turn("three") as third:
        pass
    assert third.note is None


def test_a_rewind_inside_a_running_turn_is_refused(tb: Takeback, workspace: Path) -> None:
    session = tb.session(agent="mine")
    with session.turn("one") as turn:
        (workspace / "a.txt").write_text("1\n")
        with pytest.raises(Refused, match="mine is working on"):
            tb.rewind(turn.before)
        tb.rewind(turn.before, overrides=Overrides(during_turn=True))
    assert (workspace / "a.txt").read_text() == "0\n"


def test_a_fork_with_and_without_files(tb: Takeback, workspace: Path, tmp_path: Path) -> None:
    session = tb.session(agent="mine")
    with session.turn("one", conversation=b"") as turn:
        (workspace / "a.txt").write_text("1\n")
    with session.turn("two", conversation=b"one\n") as second:
        (workspace / "b.txt").write_text("2\n")
    done = tb.fork(second.before)
    assert (workspace / "b.txt").exists()
    assert done.session is not None
    done = tb.fork(turn.after, files=True)
    assert not (workspace / "b.txt").exists()
    tb.undo()
    assert (workspace / "b.txt").exists()
    done = tb.fork(second.before, worktree=str(tmp_path / "race"))
    assert sorted(os.listdir(tmp_path / "race")) == ["a.txt"]
    assert done.directory == str(tmp_path / "race")
    [root] = tb.tree()
    assert [node.turn.number for node in root.children if node.turn is not None] == [1, 2]


def test_a_fork_into_a_new_directory_touches_no_neighbour(
    tb: Takeback, workspace: Path, tmp_path: Path
) -> None:
    workspace.chmod(0o750)
    with tb.session(agent="mine").turn("one", conversation=b"") as turn:
        (workspace / "a.txt").write_text("1\n")
    diary = tmp_path / "race.takeback-new" / "diary"
    diary.parent.mkdir()
    diary.write_text("dear diary")
    before = set(os.listdir(tmp_path))
    tb.fork(turn.after, worktree=str(tmp_path / "race"))
    assert diary.read_text() == "dear diary"
    assert set(os.listdir(tmp_path)) - before == {"race"}
    assert (tmp_path / "race").stat().st_mode & 0o777 == 0o750


def test_conversations_can_be_switched_off(tb: Takeback, workspace: Path) -> None:
    Path(tb.store_directory, "config.toml").write_text('conversation = "off"\n')
    with Takeback.open(workspace) as other:
        with other.session(agent="mine").turn("one", conversation=b"secret") as turn:
            pass
        assert turn.before.transcript == ()
        assert other.conversation(turn.before) == b""
