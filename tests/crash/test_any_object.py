"""Any one object of the store spoilt, in any way: every other checkpoint is there and works.

For each checkpoint of a small history and each object that it is made of, the object is damaged
on disk, or reading it raises something that nobody expects. The tables say how much was tried.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import NamedTuple

import pytest

from takeback.app.engine import Engine
from takeback.errors import TakebackError
from takeback.git.packs import Packs
from takeback.ledger.follow import rebuild_ledger
from takeback.model.checkpoint import Checkpoint
from takeback.model.coverage import Overrides
from takeback.model.event import EDIT, AgentEvent, ToolCall
from takeback.store import trees
from takeback.store.namespace import LABELS, SESSIONS
from takeback.store.records import META, chain, read_record
from takeback.store.store import Store
from tests.support.engine import Heard, garble
from tests.support.lanes import shares

SHARES = 13
STAGES = ("commit", "record", "meta", "coverage", "files", "subtree", "blob")


class Part(NamedTuple):
    """One object of one checkpoint, and the checkpoints that it is a part of."""

    checkpoint: Checkpoint
    what: str
    oid: bytes

    def __str__(self) -> str:
        return f"{self.what} of {self.checkpoint.kind} {self.checkpoint.id}"


def play(tb: Engine, root: Path, session: str, number: int) -> None:
    """Plays one turn of an agent that edits two files."""
    event = AgentEvent("prompt", "mine", session, str(root), turn=f"{session}{number}")
    tb.receive(event.replace(prompt=f"do {number}"))
    for path in (root / f"{session}.txt", root / "sub" / f"{session}{number}"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{session} {number}\n" * (number + 1))
    tools = (ToolCall("Edit", EDIT, (str(root / f"{session}.txt"),)),)
    tb.receive(event.replace(kind="turn_end", tools=tools))


@pytest.fixture
def played(workspace: Path) -> Path:
    """A workspace in which two agents and a person took turns, and something was taken back."""
    with Engine.open(workspace) as tb:
        (workspace / "own.txt").write_text("own\n")
        (workspace / ".gitignore").write_text("*.log\n")
        (workspace / "x.log").write_text("ignored, saved\n")
        first = tb.checkpoint("first").checkpoint
        for number in range(2):
            play(tb, workspace, "s1", number)
            play(tb, workspace, "s2", number)
        tb.rewind(first, scope="files", overrides=Overrides.all())
        play(tb, workspace, "s1", 2)
        (workspace / "own.txt").write_text("own, again\n")
        tb.checkpoint("last")
    return workspace


def listed(tb: Engine) -> list[Checkpoint]:
    return [entry.checkpoint for entry in tb.checkpoints(everything=True)]


def parts_of(store: Store, checkpoint: Checkpoint) -> Iterator[Part]:
    """Yields every object that a checkpoint is made of."""
    record = read_record(store, checkpoint.commit)
    yield Part(checkpoint, "commit", checkpoint.commit)
    yield Part(checkpoint, "record", record.commit.tree)
    yield Part(checkpoint, "meta", record.entries[META][1])
    yield Part(checkpoint, "coverage", record.entries[b"coverage"][1])
    files = bytes.fromhex(checkpoint.snapshot)
    yield Part(checkpoint, "files", files)
    for _, entry in trees.walk(store, files):
        yield Part(checkpoint, "subtree" if entry.is_directory else "blob", entry.oid)


def all_parts(store: Store, checkpoints: list[Checkpoint]) -> list[Part]:
    """Returns every object of every checkpoint, each once."""
    found: dict[bytes, Part] = {}
    for checkpoint in checkpoints:
        for part in parts_of(store, checkpoint):
            found.setdefault(part.oid, part)
    return list(found.values())


def records_beside(store: Store, checkpoint: Checkpoint) -> list[Part]:
    """Returns what the refs have that is no checkpoint: operations, labels, saved files."""
    found = []
    for ref, tip in store.refs.list("refs/takeback/", damaged={}).items():
        if not ref.startswith(SESSIONS):
            # a label's parent is the checkpoint that has it
            for record in islice(chain(store, tip), 1 if ref.startswith(LABELS) else None):
                parts = (record.oid, record.commit.tree, record.entries[META][1])
                found += [Part(checkpoint, ref.split("/")[2], oid) for oid in parts]
    return found


def hidden_by(part: Part, checkpoints: list[Checkpoint]) -> set[str]:
    """Returns the checkpoints that cannot be listed without an object.

    Without its commit nothing says what a checkpoint came from: what is before it in its own
    session cannot be found from the refs.
    """
    if part.what in ("record", "meta"):
        return {part.checkpoint.id}
    if part.what == "commit":
        behind = checkpoints.index(part.checkpoint)
        mine = part.checkpoint.session
        return {found.id for found in checkpoints[behind:] if found.session == mine}
    return set()


def holders(store: Store, part: Part, checkpoints: list[Checkpoint]) -> set[str]:
    """Returns the checkpoints that an object is a part of."""
    return {
        found.id
        for found in checkpoints
        if part.oid in {inner.oid for inner in parts_of(store, found)}
    }


class Spoilt(Packs):
    """The packs of a store, in which reading one object raises what nobody expects."""

    oid = b""
    error: type[Exception] = Exception

    def read(self, oid: bytes, most: int | None = None) -> tuple[int, bytes]:
        if oid == self.oid:
            raise self.error("of this one object")
        return super().read(oid, most)


UNEXPECTED = (RecursionError, MemoryError, ValueError, OverflowError, UnicodeError, OSError)


@shares(len(UNEXPECTED))
def test_whatever_reading_an_object_raises_the_other_checkpoints_are_indexed(
    played: Path, share: int
) -> None:
    tried = dict.fromkeys(STAGES, 0)
    with Engine.open(played) as tb:
        everything = listed(tb)
        store = tb._context.store
        parts = all_parts(store, everything)
        spoilt = Spoilt(os.path.join(store.git_dir, "objects"))
        store.packs.close()
        store.packs = spoilt
        for number, part in enumerate(parts):
            store._trees.clear()
            error = UNEXPECTED[(number + share) % len(UNEXPECTED)]
            spoilt.oid, spoilt.error = part.oid, error
            heard = Heard()
            ledger = rebuild_ledger(store, heard)
            hidden = hidden_by(part, everything)
            found = [one.id for one in ledger.checkpoints()]
            expected = [one.id for one in everything if one.id not in hidden]
            assert found == expected, f"{part}, {error}"
            if hidden:
                assert heard.notes, part
            spoilt.oid = b""
            assert len(heard.notes) <= 3, heard.notes
            ledger.close()
            tried[part.what] += 1
    assert all(tried.values()), tried
    assert sum(tried.values()) >= 50, tried


@shares(SHARES, long=4)
def test_a_damaged_object_leaves_every_other_checkpoint_to_be_listed_shown_and_gone_to(
    played: Path, tmp_path: Path, share: int
) -> None:
    """With the ledger that knew it when it was sound, and with one made anew."""
    with Engine.open(played) as tb:
        everything = listed(tb)
        parts = all_parts(tb._context.store, everything)
        held = [holders(tb._context.store, part, everything) for part in parts]
        beside = records_beside(tb._context.store, everything[0])
        parts += beside
        held += [set()] * len(beside)
        directory = Path(tb.store_directory)
    sound, files = tmp_path / "sound", tmp_path / "files"
    shutil.copytree(directory, sound)
    shutil.copytree(played, files, ignore=shutil.ignore_patterns(".git"))
    assert {part.what for part in parts} >= {*STAGES, "operations", "labels", "local"}
    tried = list(product(zip(parts, held, strict=True), (False, True)))[share::SHARES]
    assert len(tried) * SHARES >= 150
    failures = []
    for (part, holding), fresh in tried:
        shutil.rmtree(directory)
        shutil.copytree(sound, directory)
        put_back(files, played)
        problem = use_with(played, part, everything, holding, fresh=fresh)
        if problem:
            failures.append(f"{part} ({fresh=}): {problem}")
    assert not failures, "\n".join(failures)


def put_back(files: Path, root: Path) -> None:
    """Makes the files what they were; the directory and its .git stay the same ones."""
    for path in root.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(files, root, dirs_exist_ok=True)


def use_with(
    root: Path, part: Part, everything: list[Checkpoint], holding: set[str], *, fresh: bool
) -> str:
    """Damages an object, then does everything that does not need it; says what fails."""
    with Engine.open(root) as tb:
        garble(tb._context.store, part.oid)
    hidden = hidden_by(part, everything) if fresh else set()
    with Engine.open(root) as tb:
        if fresh:
            tb.doctor(rebuild=True)
        found = {checkpoint.id for checkpoint in listed(tb)}
        expected = {checkpoint.id for checkpoint in everything} - hidden
        if found != expected:
            return f"listed {len(found)}, not {len(expected)}"
        others = [c for c in everything if c.id not in holding and c.id not in hidden]
        steps: list[tuple[str, Callable[[], object]]] = [("status", tb.status)]
        steps += [("show", partial(tb.show, one)) for one in others]
        steps += [("diff", partial(tb.changes_and_diff, others[0], one)) for one in others[-1:]]
        if others:
            steps += [
                (
                    "rewind",
                    lambda: tb.rewind(others[-1].id, scope="files", overrides=Overrides.all()),
                )
            ]
            if part.what != "operations":  # what undo would go by
                steps += [("undo", lambda: tb.undo(overrides=Overrides.all()))]
        steps += [("checkpoint", tb.checkpoint), ("tree", tb.tree), ("browse", tb.browse)]
        steps += [("sessions", tb.sessions), ("rebuild", lambda: tb.doctor(rebuild=True))]
        for name, step in steps:
            try:
                step()
            except TakebackError as error:
                return f"{name}: {error.message}"
    return ""
