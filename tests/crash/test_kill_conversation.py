"""kill -9 at every durable step of a rewind of both and of a fork: all of it, or none of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.model.event import AgentEvent
from takeback.model.operation import moves
from tests.support.faults import Faults, run
from tests.support.lanes import shares
from tests.support.removal import remove_tree
from tests.support.trees import tree_state

SHARES = 11
HISTORY = b'{"text": "one"}\n{"text": "done"}\n'
WHOLE = HISTORY + b'{"text": "two"}\n{"text": "done"}\n'


@dataclass
class Talk:
    """A workspace in which an agent has played two turns; the second is taken back."""

    base: Path

    def __post_init__(self) -> None:
        self.root = self.base / "workspace"
        self.folder = self.base / "transcripts"
        self.elsewhere = self.base / "elsewhere"
        for path in (self.root, self.folder):
            path.mkdir(parents=True)
        self.environ = {
            "HOME": str(self.base / "home"),
            "TAKEBACK_HOME": str(self.base / "takeback"),
            "PATH": os.environ["PATH"],
        }
        (self.root / "kept").write_bytes(b"kept")
        self.transcript = self.folder / "s1.jsonl"
        with self.open() as tb:
            self._turn(tb, "t1", "one", b"1", b"")
            self.old = tree_state(self.root)
            self._turn(tb, "t2", "two", b"2", HISTORY)
            (self.root / "kept").unlink()
        self.transcript.write_bytes(WHOLE)
        self.new = tree_state(self.root)

    def _turn(self, tb: Takeback, turn: str, prompt: str, content: bytes, before: bytes) -> None:
        if before:
            self.transcript.write_bytes(before)
        event = AgentEvent(
            kind="prompt",
            agent="mine",
            session="s1",
            directory=str(self.root),
            transcript=str(self.transcript),
            turn=turn,
            prompt=prompt,
        )
        tb.receive(event)
        (self.root / "a").write_bytes(content)
        tb.receive(event.replace(kind="turn_end", prompt=None))

    def open(self) -> Takeback:
        return Takeback.open(self.root, environ=self.environ)

    def both(self) -> None:
        with self.open() as tb:
            assert tb.rewind("turn:2", scope="both").whole

    def fork(self) -> None:
        with self.open() as tb:
            assert tb.fork("turn:2").whole

    def worktree(self) -> None:
        with self.open() as tb:
            assert tb.fork("turn:2", worktree=str(self.elsewhere)).whole

    def check(self, operation: str) -> bool:
        """Recovers and returns whether the operation happened; all parts must agree about it."""
        with self.open() as tb:
            interrupted = tb.interrupted
            recovered = tb.recover()
            assert (recovered is not None) == interrupted
            assert tb.verify(read_data=True).problems == ()
            log = tb.operations()
            happened = bool(log)
            sessions = {entry.session.id for entry in tb.sessions()}
        if recovered is not None:
            assert recovered.finished == happened
            assert recovered.sentence()
        assert self.transcript.read_bytes() == WHOLE
        made = sorted(set(os.listdir(self.folder)) - {"s1.jsonl"})
        if not happened:
            assert made == []
            assert sessions == {"mine-s1"}
            assert tree_state(self.root) == self.new
            assert not self.elsewhere.exists()
            return False
        [name] = made
        assert (self.folder / name).read_bytes() == HISTORY
        child = f"mine-{name.removesuffix('.jsonl')}"
        assert moves(log)[-1].child == child
        if operation == "worktree":
            assert tree_state(self.elsewhere) == self.old
            with Takeback.open(self.elsewhere, environ=self.environ) as there:
                assert [entry.session.id for entry in there.sessions()] == [child]
        else:
            assert sessions == {"mine-s1", child}
        assert tree_state(self.root) == (self.old if operation == "both" else self.new)
        assert not list(self.base.glob("elsewhere.takeback-*"))
        return True


@shares(SHARES, long=5)
@pytest.mark.parametrize("operation", ["both", "fork", "worktree"])
def test_killed(
    tmp_path: Path, operation: str, share: int, record_property: Callable[[str, object], None]
) -> None:
    for at in range(1 + share, 10_000, SHARES):
        talk = Talk(tmp_path / str(at))
        ran = run(getattr(talk, operation), Faults(at))
        if not talk.check(operation):
            getattr(talk, operation)()
            assert talk.check(operation)
        if operation == "both":
            with talk.open() as tb:
                assert tb.undo().whole
                assert tree_state(talk.root) == talk.new
        remove_tree(talk.base)
        if not ran.killed:
            assert ran.done, ran.text
            record_property("steps", len(ran.steps))
            return
