"""Conversations as messages, each prompt with the checkpoint before it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.model.agent import MessagePage
from tests.support.claude_session import play_claude_turn


@pytest.fixture
def tb(workspace: Path) -> Iterator[Takeback]:
    (workspace / "a.txt").write_text("0\n")
    with Takeback.open(workspace) as opened:
        yield opened


def told(page: MessagePage) -> list[tuple[str, str, str | None, int | None]]:
    return [(one.message.role, one.message.text, one.checkpoint, one.turn) for one in page.messages]


def test_a_prompt_has_the_checkpoint_before_it(tb: Takeback, workspace: Path) -> None:
    messages: list[dict[str, str]] = []
    session = tb.session(agent="mine")
    turns = []
    for text in ("same", "other", "same"):
        with session.turn(text, conversation=messages) as turn:
            messages.append({"role": "user", "content": text})
            messages.append({"role": "assistant", "content": f"did {text}"})
            turn.end(conversation=messages if text == "same" else None)
        turns.append(turn)
    whole = tb.messages(turns[2].after)
    assert (whole.total, whole.next) == (6, None)
    assert told(whole) == [
        line
        for number, (turn, text) in enumerate(zip(turns, ("same", "other", "same"), strict=True))
        for line in (
            ("user", text, turn.before.id, number + 1),
            ("assistant", f"did {text}", None, None),
        )
    ]
    assert told(tb.messages(turns[1].before)) == told(whole)[:2]
    assert told(tb.messages(turns[1].after)) == told(whole)[:3]  # handed over without an answer
    assert told(tb.messages(turns[0].before)) == []
    part = tb.messages(turns[2].after, offset=2, limit=3)
    assert (told(part), part.total, part.next) == (told(whole)[2:5], 6, 5)
    assert [one.number for one in part.messages] == [2, 3, 4]
    beyond = tb.messages(turns[2].after, offset=50, limit=3)
    assert (beyond.messages, beyond.total, beyond.next) == ((), 6, None)

    done = tb.rewind(turns[2].before, scope="conversation")
    child = next(entry for entry in tb.sessions() if entry.session.id == done.session)
    assert told(tb.messages(child.session.newest)) == told(whole)[:4]


def test_without_a_transcript_there_are_the_prompts(tb: Takeback) -> None:
    session = tb.session(agent="mine")
    with session.turn("one") as first:
        pass
    with session.turn("two") as second:
        pass
    assert told(tb.messages(second.after)) == [
        ("user", "one", first.before.id, 1),
        ("user", "two", second.before.id, 2),
    ]
    assert told(tb.messages(tb.checkpoint("by hand").checkpoint)) == []


def test_the_ids_of_turns_count_more_than_words(workspace: Path, tmp_path: Path) -> None:
    transcript = tmp_path / "t" / "s.jsonl"
    play_claude_turn(workspace, transcript, "change a", workspace / "a.txt")
    lines = [json.loads(line) for line in transcript.read_text().splitlines()]
    lines[2]["promptId"] = "p2"
    lines[2]["message"]["content"] = "changed on the way"
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Takeback.open(workspace) as tb:
        [entry] = tb.checkpoints()
        session = tb.session(agent="claude", native=tb.sessions()[0].session.native)
        session.tell("turn_end", turn="p2", transcript=str(transcript))
        newest = tb.checkpoints(everything=True)[0].checkpoint
        assert told(tb.messages(newest)) == [
            ("user", "hello", None, None),
            ("assistant", "hi", None, None),
            ("user", "changed on the way", entry.checkpoint.id, 1),
            ("assistant", "done", None, None),
        ]
