"""Agents written in Python: a turn is a ``with`` block."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.errors import Refused
from takeback.model.event import EDIT, ToolCall
from takeback.model.policy import Overrides


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
