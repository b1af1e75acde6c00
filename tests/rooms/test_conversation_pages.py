"""A page of a conversation costs what it shows, and is never that of another conversation."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from takeback.app.engine import Engine
from takeback.model.agent import Message, MessagePage, PlacedMessage
from takeback.timeline import transcripts
from takeback.timeline.transcripts import ConversationPages, KeptConversations, Source


class Counted(ConversationPages):
    """Counts how often a conversation had to be read."""

    def __init__(self) -> None:
        super().__init__(KeptConversations())
        self.reads = 0

    def page(
        self, of: Source, read: Callable[[], Iterable[PlacedMessage]], **which: Any
    ) -> MessagePage:
        def counting() -> Iterable[PlacedMessage]:
            self.reads += 1
            return read()

        return super().page(of, counting, **which)


class Claude:
    """A session whose transcript grows with each turn."""

    def __init__(self, tb: Engine, transcript: Path) -> None:
        self.tb = tb
        self.transcript = transcript
        self.number = 0
        self.transcript.parent.mkdir(parents=True)
        self.transcript.write_bytes(b"")
        self._session = tb.session("claude", "0f1e2d3c-4b5a-4678-9abc-def012345678")

    def turn(self) -> str:
        """Plays a turn; returns the checkpoint after it."""
        self.number += 1
        told = {"turn": f"p{self.number}", "transcript": str(self.transcript)}
        self._session.tell("prompt", prompt=f"prompt {self.number}", **told)
        self.say("user", f"prompt {self.number}")
        self.say("assistant", f"answer {self.number}")
        after = self._session.tell("turn_end", **told).checkpoint
        assert after is not None
        return after.id

    def say(self, role: str, words: str) -> None:
        before = self.transcript.read_bytes().count(b"\n")
        entry = {
            "type": role,
            "uuid": f"e{before}",
            "parentUuid": f"e{before - 1}" if before else None,
            "promptId": f"p{self.number}",
            "message": {"role": role, "content": [{"type": "text", "text": words}]},
        }
        with self.transcript.open("a") as file:
            file.write(json.dumps(entry) + "\n")


@pytest.fixture
def tb(workspace: Path) -> Iterator[Engine]:
    with Engine.open(workspace) as opened:
        yield opened


@pytest.fixture
def claude(tb: Engine, tmp_path: Path) -> Claude:
    return Claude(tb, tmp_path / "sessions" / "s.jsonl")


@pytest.fixture
def pages(tb: Engine) -> Counted:
    made = Counted()
    tb._pages = made
    return made


def words(page: MessagePage) -> list[str]:
    return [one.message.text for one in page.messages]


def test_every_page_is_the_same_as_if_all_of_it_were_read(
    tb: Engine, claude: Claude, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "_TOGETHER", 3)
    places = [claude.turn() for _ in range(4)]
    asked = [(place, at, most) for place in places for at in range(10) for most in (None, 1, 3, 4)]
    plain = [tb.messages(place, offset=at, limit=most) for place, at, most in asked]
    tb._pages = pages = Counted()
    assert [tb.messages(place, offset=at, limit=most) for place, at, most in asked] == plain
    assert pages.reads == len(places)


def test_a_place_that_was_left_behind_is_not_read_again(
    tb: Engine, claude: Claude, pages: Counted
) -> None:
    place = claude.turn()
    assert words(tb.messages(place)) == ["prompt 1", "answer 1"]
    claude.say("assistant", "and one thing more")  # still belongs to it
    assert words(tb.messages(place)) == ["prompt 1", "answer 1", "and one thing more"]
    assert pages.reads == 2
    claude.turn()
    claude.turn()
    tb.messages(place)
    assert pages.reads == 3
    for _ in range(3):
        claude.turn()
        assert words(tb.messages(place)) == ["prompt 1", "answer 1", "and one thing more"]
    assert pages.reads == 3


def test_a_transcript_that_was_rewritten_is_noticed(
    tb: Engine, claude: Claude, pages: Counted
) -> None:
    place = claude.turn()
    for _ in range(3):
        claude.turn()
    tb.messages(place)
    other = claude.transcript.with_name("other")
    other.write_bytes(claude.transcript.read_bytes())
    other.replace(claude.transcript)
    tb.messages(place)
    assert pages.reads == 2
    claude.transcript.write_bytes(b'{"type": "summary"}\n' + claude.transcript.read_bytes())
    tb.messages(place)
    assert pages.reads == 3
    claude.transcript.unlink()
    assert words(tb.messages(place)) == ["prompt 1", "answer 1"]
    assert pages.reads == 4


def test_what_is_kept_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "_PACKED", 50_000)
    kept = KeptConversations()
    for number in range(100):
        said = [
            PlacedMessage(at, Message("user", f"{number * at * 7919:0200d}")) for at in range(250)
        ]
        of = Source(str(number), "", (), (), ())
        pages = ConversationPages(kept)  # of another workspace
        found = pages.page(of, lambda said=said: said, offset=240, limit=100)  # type: ignore[misc]
        assert (found.messages, found.total, found.next) == (tuple(said[240:]), 250, None)
    assert 1 < len(kept._found) < 100
    assert kept._found.weight <= 50_000


def test_those_who_want_the_same_read_it_once() -> None:
    pages, reads, all_asked = ConversationPages(KeptConversations()), [], threading.Barrier(8)

    def read() -> list[PlacedMessage]:
        reads.append(1)
        return [PlacedMessage(0, Message("user", "said"))]

    def ask(_: int) -> MessagePage:
        all_asked.wait(20)
        return pages.page(Source("p", "", (), (), ()), read, offset=0, limit=1)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(ask, range(8)))
    assert len(reads) == 1
    assert all(one == found[0] for one in found)
