"""A transcript: a round reads what was appended, and what was changed behind it is found out."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from takeback.adapters.generic import adapter
from takeback.app.engine import Engine
from takeback.errors import Refused
from takeback.fork.fork import conversation_of, history_at
from takeback.model.checkpoint import Checkpoint
from takeback.model.event import EDIT, AgentEvent, ToolCall
from takeback.store.conversation import PIECE
from takeback.turns.said import parts_now, said_now

GROUP = 128 * PIECE
LONG = 9 * PIECE + 77


def lines(size: int, seed: int = 0) -> bytes:
    """Returns so many bytes of JSON lines, no two alike."""
    chance = random.Random(seed)
    found = bytearray()
    while len(found) < size:
        found += json.dumps({"text": f"{chance.getrandbits(4096):x}"}).encode() + b"\n"
    return bytes(found[:size])


class Teller:
    """An agent with a transcript; tells events and knows how much of the file was read for each."""

    def __init__(self, workspace: Path, transcript: Path, spy: pytest.MonkeyPatch) -> None:
        self.workspace = workspace
        self.transcript = transcript
        self.read = 0
        self.edits = 0
        self.tb = Engine.open(workspace)
        real = os.pread

        def pread(fd: int, length: int, at: int) -> bytes:
            found = real(fd, length, at)
            if self.transcript.exists() and os.path.samestat(os.fstat(fd), transcript.stat()):
                self.read += len(found)
            return found

        spy.setattr(os, "pread", pread)

    def tell(self, kind: str) -> Checkpoint:
        """Tells an event after an edit; ``read`` is what was read of the transcript for it."""
        self.edits += 1
        (self.workspace / "file").write_text(str(self.edits))
        event = AgentEvent(
            kind=kind,  # type: ignore[arg-type]
            agent="generic",
            session="s1",
            directory=str(self.workspace),
            transcript=str(self.transcript),
            turn="t1",
            prompt="go" if kind == "prompt" else None,
            tools=() if kind == "prompt" else (ToolCall("Edit", EDIT, ("file",)),),
        )
        self.read = 0
        made = self.tb.receive(event).checkpoint
        assert made is not None
        return made

    def append(self, data: bytes) -> None:
        with self.transcript.open("ab") as file:
            file.write(data)

    def overwrite(self, at: int, data: bytes) -> None:
        with self.transcript.open("r+b") as file:
            file.seek(at)
            file.write(data)

    def kept(self, checkpoint: Checkpoint) -> bytes:
        return b"".join(conversation_of(self.tb._context, checkpoint))

    def said(self) -> bytes:
        return self.transcript.read_bytes()


@pytest.fixture
def teller(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Teller]:
    teller = Teller(workspace, tmp_path / "t.jsonl", monkeypatch)
    yield teller
    teller.tb.close()


@pytest.mark.parametrize(
    "size", [8 * PIECE, LONG, GROUP - 1, GROUP, GROUP + 1, GROUP + PIECE, 2 * GROUP + 5]
)
def test_a_round_reads_what_was_appended_and_keeps_every_byte(teller: Teller, size: int) -> None:
    teller.append(lines(size))
    begin = teller.tell("prompt")
    assert teller.read == size
    assert teller.kept(begin) == teller.said()
    for number in range(3):
        teller.append(lines(PIECE - 100, seed=number + 1))
        made = teller.tell("round_end")
        assert teller.read < 5 * PIECE  # the first, the last whole one, the rest, what is new
        assert teller.kept(made) == teller.said()
        (part,) = made.transcript
        assert (part.size, part.rewritten) == (len(teller.said()), None)
        assert part.size - 3 * PIECE < part.known < part.size
    nothing = teller.tell("round_end")
    assert teller.kept(nothing) == teller.said()
    end = teller.tell("turn_end")
    assert teller.read == len(teller.said())
    (part,) = end.transcript
    assert (part.known, part.rewritten) == (0, None)
    assert teller.kept(end) == teller.said()


def test_how_much_a_round_reads_does_not_depend_on_the_length(teller: Teller) -> None:
    read = {}
    for size in (10 * PIECE, 500 * PIECE):
        teller.transcript.write_bytes(lines(size))
        teller.tell("prompt")
        teller.append(lines(1000, seed=1))
        teller.tell("round_end")
        read[size] = teller.read
    assert len({*read.values()}) == 1


def test_its_end_is_there_however_little_was_read(teller: Teller) -> None:
    teller.append(lines(60 * PIECE))
    newest = teller.tell("prompt")
    teller.append(b"the last line\n")
    files = parts_now((str(teller.transcript),))
    (said,) = said_now(teller.tb._context.store, files, newest, whole=False)
    assert said.part.known
    for most in (5, 5 * PIECE, 100 * PIECE):
        assert said.tail(most) == teller.said()[-most:]


def test_a_short_transcript_is_read_whole_each_time(teller: Teller) -> None:
    teller.append(lines(7 * PIECE))
    teller.tell("prompt")
    teller.append(b"more\n")
    made = teller.tell("round_end")
    assert teller.read == len(teller.said())
    assert made.transcript[0].known == 0


def _truncated(teller: Teller) -> None:
    os.truncate(teller.transcript, 3 * PIECE)


def _truncated_and_grown(teller: Teller) -> None:
    _truncated(teller)
    teller.append(lines(20 * PIECE, seed=9))


def _compacted_in_place(teller: Teller) -> None:
    teller.transcript.write_bytes(b'{"summary": 1}\n' + lines(20 * PIECE, seed=9))


def _replaced(teller: Teller) -> None:
    data = bytearray(teller.said())
    data[4 * PIECE : 4 * PIECE + 5] = b"other"
    new = teller.transcript.with_suffix(".new")
    new.write_bytes(data)
    new.rename(teller.transcript)


def _beginning_changed(teller: Teller) -> None:
    teller.overwrite(10, b"other")


def _last_piece_changed(teller: Teller) -> None:
    teller.overwrite(8 * PIECE + 10, b"other")


def _end_changed(teller: Teller) -> None:
    teller.overwrite(9 * PIECE + 10, b"other")


@pytest.mark.parametrize(
    "change",
    [
        _truncated,
        _truncated_and_grown,
        _compacted_in_place,
        _replaced,
        _beginning_changed,
        _last_piece_changed,
        _end_changed,
    ],
)
def test_a_rewritten_transcript_is_read_whole(
    teller: Teller, change: Callable[[Teller], None]
) -> None:
    teller.append(lines(LONG))
    teller.tell("prompt")
    change(teller)
    teller.append(b"more\n")
    made = teller.tell("round_end")
    assert teller.kept(made) == teller.said()
    assert made.transcript[0].known == 0


def test_what_is_changed_in_the_middle_is_found_by_the_next_whole_read(teller: Teller) -> None:
    teller.append(lines(LONG))
    begin = teller.tell("prompt")
    teller.append(lines(100, seed=1))
    sound = teller.tell("round_end")
    before = teller.said()
    teller.overwrite(4 * PIECE + 3, b"changed behind our back")
    teller.append(lines(100, seed=2))
    taken_in = teller.tell("round_end")
    # no byte is made up: what was read when it was last read
    assert teller.kept(taken_in) == before + lines(100, seed=2)
    end = teller.tell("turn_end")
    assert teller.kept(end) == teller.said()
    assert end.transcript[0].rewritten == 4 * PIECE
    context = teller.tb._context
    for doubtful in (sound, taken_in):
        with pytest.raises(Refused, match="rewritten during the turn"):
            history_at(context, adapter, doubtful, end)
    history_at(context, adapter, begin, end)
    history_at(context, adapter, end, end)


def test_what_two_conversations_have_in_common_is_read_once(
    teller: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    teller.append(lines(20 * PIECE))
    begin = teller.tell("prompt")
    teller.append(lines(3 * PIECE, seed=1))
    end = teller.tell("turn_end")
    teller.transcript.unlink()
    read: list[bytes] = []
    context = teller.tb._context
    blob = context.store.blob

    def counted(oid: bytes, most: int | None = None) -> bytes:
        if most == PIECE:
            read.append(oid)
        return blob(oid, most)

    monkeypatch.setattr(context.store, "blob", counted)
    kept = history_at(context, adapter, begin, end)
    assert kept
    assert len(read) == len({*read}) == 20 + 3


def test_a_checkpoint_by_hand_in_between_hides_nothing(teller: Teller) -> None:
    teller.append(lines(LONG))
    teller.tell("prompt")
    teller.tell("round_end")
    teller.tb.checkpoint()
    teller.overwrite(4 * PIECE + 3, b"changed behind our back")
    end = teller.tell("turn_end")
    assert end.transcript[0].rewritten == 4 * PIECE


def test_nothing_is_taken_over_once_objects_may_be_lost(teller: Teller) -> None:
    teller.append(lines(LONG))
    teller.tell("prompt")
    with teller.tb._context.store.locked("a test", wait=5) as locked:
        locked.raise_epoch()
    made = teller.tell("round_end")
    assert teller.read == len(teller.said())
    assert teller.kept(made) == teller.said()
    teller.tell("round_end")
    assert teller.read < len(teller.said())


def test_a_pack_that_was_lost_is_written_again(teller: Teller) -> None:
    teller.append(lines(LONG))
    begin = teller.tell("prompt")
    packs = Path(teller.tb._context.store.git_dir) / "objects/pack"
    held = {path.stem for path in packs.glob("*.pack")}
    teller.append(lines(500, seed=1))
    teller.tell("round_end")
    for name in held:
        for path in packs.glob(f"{name}.*"):
            path.unlink()
    teller.tb._context.store.packs.close()
    made = teller.tell("round_end")
    assert begin.id != made.id
    assert teller.kept(made) == teller.said()
