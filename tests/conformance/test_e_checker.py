"""E. The checker: each file of a store damaged in each way, one at a time (61)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.check.check import Verified
from takeback.check.finding import BROKEN
from takeback.config import compiled
from takeback.errors import TakebackError
from takeback.model.coverage import Overrides
from takeback.model.event import PROMPT, AgentEvent
from tests.support.git import git
from tests.support.journey import write_files
from tests.support.lanes import shares

ANYTHING = Overrides(overwrite_others=True, mass_delete=True, during_turn=True)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x04
    _rewrite(path, bytes(data))


def delete(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    _rewrite(path, b"")


def misname(path: Path) -> None:
    """Gives a file another name that its kind could have: one letter is another one."""
    stem, dot, suffix = path.name.partition(".")
    last = "0" if stem[-1] != "0" else "1"
    path.rename(path.with_name(f"{stem[:-1]}{last}{dot}{suffix}"))


def pipe(path: Path) -> None:
    """Puts a pipe in its place that nobody writes to: who opens it as a file waits for ever."""
    path.unlink()
    os.mkfifo(path, 0o600)


def _rewrite(path: Path, data: bytes) -> None:
    path.chmod(0o600)
    path.write_bytes(data)


Damage = Callable[[Path], None]
DAMAGES: tuple[Damage, ...] = (flip, delete, empty, misname, pipe)

SILENT: tuple[tuple[str, tuple[Damage, ...]], ...] = (
    ("stat/*", DAMAGES),  # made anew from the files
    ("seen", DAMAGES),
    ("settings.compiled", DAMAGES),
    ("store.git/info/exclude", DAMAGES),  # copied again at the next capture
    ("epoch", DAMAGES),  # any other number voids the stat cache
    ("lock", DAMAGES),
    ("maintenance.lock", DAMAGES),
    ("ledger.db", DAMAGES),  # made anew from the refs
    ("format", DAMAGES),  # written again, with a line in the log
    ("workspace.json", DAMAGES),  # written again when the directory is found
    ("sequence", (flip,)),  # a higher number only leaves a gap
    ("trust", (flip,)),  # a pack that it does not describe is read
    ("trust.new", DAMAGES),  # and so is one that is in neither
    ("pending/overtaken-*", DAMAGES),  # a mark without words: the event beside it is late
    ("pending/*", (delete,)),  # nothing else knows of an event that waits
    ("store.git/objects/??/*", (misname,)),  # the name is the id: one that is not is no object
    ("store.git/refs/takeback/trash/*", (delete,)),  # as if its grace were over
    ("config.toml", DAMAGES),  # the user's own, which every command speaks of
    ("turns/*", DAMAGES),
    ("told/*", DAMAGES),
)
"""What ``verify`` need not report, because it mends itself or nothing can tell."""


class Fixture:
    """A store with all that a store can hold, and the way back to its sound state."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        write_files(
            workspace,
            {
                ".gitignore": b"*.log\n",
                "small.log": b"ignored and saved\n",
                "file.txt": b"one\n" * 50,
                "sub/deep/file.txt": b"deep\n",
            },
        )
        self.kept: dict[str, dict[str, bytes]] = {}
        with Takeback.open(workspace) as tb:
            self._keep(tb.checkpoint("first").checkpoint.id)
            for number in (1, 2):
                said = [{"role": "user", "text": f"say {number}"}]
                turn = tb.session("mine", "s1").turn(f"turn {number}", conversation=said)
                with turn:
                    self._keep(turn.before.id)
                    write_files(workspace, {"file.txt": b"%d\n" % number * 40})
            for number in (1, 2):
                with tb.session("mine", "s2").turn("other"):
                    write_files(workspace, {"sub/other": b"other %d\n" % number * 40})
            tb.prune(tb.plan_prune(["mine-s2/turn:1"]))
            assert len(tb.trash()) == 1
            tb.rewind("first", overrides=ANYTHING)
            with tb.engine._context.locked() as locked:
                locked.lock.raise_epoch()  # or there would be no file of that name
            tb.checkpoint("second")
            write_files(workspace, {"file.txt": b"last\n"})
            tb.checkpoint()  # what it learns is in the log of the stat cache
            self.store = Path(tb.store_directory)
            (self.store / "config.toml").write_text("size_limit_mb = 99\n")
            Takeback.open(workspace).close()  # so that what the settings say has been read
            waits = AgentEvent(
                kind=PROMPT, agent="mine", session="s3", directory=str(workspace), prompt="wait"
            )
            tb.engine.leave(waits, came=tb.engine.now)
            self._unpack_one()
            assert tb.verify(read_data=True).problems == ()
        self._sound = workspace.parent / "sound"
        shutil.copytree(self.store, self._sound, symlinks=True)
        self._files = self._there()

    def _there(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.workspace)): path.read_bytes()
            for path in self.workspace.rglob("*")
            if path.is_file() and ".git" not in path.relative_to(self.workspace).parts
        }

    def _keep(self, checkpoint: str) -> None:
        held = self._there()
        del held["small.log"]
        self.kept[checkpoint] = held

    def _unpack_one(self) -> None:
        """Does what a person's own git may do: one pack's objects loose, one ref packed."""
        bare = self.store / "store.git"
        newest = max((bare / "objects" / "pack").glob("*.pack"), key=os.path.getmtime)
        data = newest.read_bytes()
        newest.with_suffix(".idx").unlink()
        newest.unlink()
        git(bare, "unpack-objects", "-q", stdin=data)
        [label, *_] = sorted((bare / "refs/takeback/labels").glob("*/*"))
        name = label.relative_to(bare).as_posix()
        (bare / "packed-refs").write_text(f"{label.read_text().strip()} {name}\n")
        label.unlink()

    def names(self) -> list[str]:
        found = (path.relative_to(self._sound) for path in sorted(self._sound.rglob("*")))
        return [str(name) for name in found if (self._sound / name).is_file()]

    def mend(self) -> None:
        shutil.rmtree(self.store)
        shutil.copytree(self._sound, self.store, symlinks=True)
        for path in self._there():
            (self.workspace / path).unlink()
        write_files(self.workspace, self._files)


KINDS = """
config.toml settings.compiled epoch format ledger.db lock pending/* sequence stat/table stat/log
trust trust.new workspace.json
store.git/HEAD store.git/config store.git/packed-refs store.git/objects/pack/*.pack
store.git/objects/pack/*.idx store.git/objects/??/* store.git/refs/takeback/labels/*
store.git/refs/takeback/local/* store.git/refs/takeback/operations/*
store.git/refs/takeback/sessions/* store.git/refs/takeback/trash/*
"""
"""What the fixture must hold. Another file has its own test: the journal in ``test_e_damage.py``,
the machine's name in ``rooms/test_inspection.py``, the tombstones in
``store/test_tombstones.py``."""


@pytest.fixture
def fixture(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Fixture:
    monkeypatch.setattr(compiled, "_SETTLED", -60.0)
    return Fixture(workspace)


@shares(11, long=4)
def test_61_each_damage_to_each_file_is_found_and_harms_nothing_else(
    fixture: Fixture, share: int
) -> None:
    """`verify` finds each flipped bit, missing, empty or misnamed object; `doctor` ... mends.

    A pipe in place of a file is damage like another.
    """
    names = fixture.names()
    assert [kind for kind in KINDS.split() if not any(fnmatch(one, kind) for one in names)] == []
    cases = [(name, damage) for name in names for damage in DAMAGES]
    for name, damage in cases[share::11]:
        case = f"{damage.__name__} {name}"
        if damage is flip and not (fixture.store / name).stat().st_size:
            continue
        if damage is pipe and name == "config.toml":
            continue  # settings that do not read stop each command, with their name
        damage(fixture.store / name)
        with Takeback.open(fixture.workspace) as tb:
            found = tb.verify(read_data=True)
            broken = [one for one in tb.doctor() if one.state == BROKEN]
            if not _is_silent(name, damage):
                assert found.problems, f"{case}: verify does not find it"
                assert broken, f"{case}: doctor does not find it"
            _comes_back_or_is_named(tb, fixture, found, case)
        with Takeback.open(fixture.workspace) as tb:
            tb.doctor(fix=True)
        with Takeback.open(fixture.workspace) as tb:
            _a_new_one_comes_back(tb, fixture, case)
        fixture.mend()


def _is_silent(name: str, damage: Damage) -> bool:
    return any(fnmatch(name, pattern) and damage in damages for pattern, damages in SILENT)


def _comes_back_or_is_named(tb: Takeback, fixture: Fixture, found: Verified, case: str) -> None:
    """A checkpoint is whole, or verify says that it, or the session it is in, is not."""
    said = " ".join(f"{problem.what} {problem.detail}" for problem in found.problems)
    for checkpoint, files in fixture.kept.items():
        try:
            whole = all(tb.cat(checkpoint, name) == data for name, data in files.items())
        except TakebackError:
            whole = False
        if not whole:
            sessions = ("refs/takeback/sessions/", "session ")
            named = checkpoint in said or any(word in said for word in sessions)
            assert named, f"{case}: {checkpoint} is not whole, and nobody says so: {said}"


def _a_new_one_comes_back(tb: Takeback, fixture: Fixture, case: str) -> None:
    write_files(fixture.workspace, {"file.txt": b"newest\n", "sub/new.txt": b"new\n"})
    wanted = fixture._there()
    made = tb.checkpoint().checkpoint
    assert made.complete, case
    for path in wanted:
        if path != "small.log":
            (fixture.workspace / path).write_bytes(b"wrecked\n")
    tb.rewind(made.id, overrides=ANYTHING)
    assert fixture._there() == wanted, case
