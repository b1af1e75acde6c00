"""E. The store damaged or of another version: found, named, never made worse (61 to 63)."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from takeback.ledger.ledger import Ledger
from tests.support.cli import Answer, Cli
from tests.support.journey import checkpoint, log, rewind, same, store_of, unbroken, write_files
from tests.support.trees import tree_state

# -- 61


class _Kept:
    """A store with a bit of everything in it, and the way back to its sound state."""

    def __init__(self, cli: Cli, workspace: Path) -> None:
        write_files(
            workspace,
            {
                ".gitignore": b"*.log\n",
                "small.log": b"ignored and saved\n",
                "file.txt": b"one\n" * 50,
                "large.bin": os.urandom(20_000),
                "sub/deep/file.txt": b"deep\n",
            },
        )
        self.first = checkpoint(cli, "-m", "first")
        write_files(workspace, {"file.txt": b"two\n" * 50, "new.txt": b"new\n"})
        self.second = checkpoint(cli)
        write_files(workspace, {"file.txt": b"three\n" * 50})
        rewind(cli, self.first)
        self.store = store_of(cli)
        self.packs = sorted((self.store / "store.git" / "objects" / "pack").glob("*.pack"))
        self._cli = cli
        self._workspace = workspace
        self._sound = workspace.parent / "sound"
        shutil.copytree(self.store, self._sound, symlinks=True)
        self._files = {
            name.decode(): entry.content
            for name, entry in tree_state(workspace).items()
            if entry.kind == "file"
        }

    def pack_of_first(self) -> Path:
        """The pack of the first checkpoint: the only one with the random bytes, so the largest."""
        return max(self.packs, key=lambda path: path.stat().st_size)

    def mend(self) -> None:
        shutil.rmtree(self.store)
        shutil.copytree(self._sound, self.store, symlinks=True)
        for path in self._workspace.iterdir():
            if path.name != ".git":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        write_files(self._workspace, self._files)

    def is_found(self, what: str) -> str:
        """Verifies and returns what it says; fails unless the damage is found."""
        answer = unbroken(self._cli.run("--json", "verify", "--read-data"))
        assert answer.status == 1, f"{what}: not found\n{answer}"
        problems = answer.json["problems"]
        assert problems, f"{what}: not named\n{answer}"
        return "\n".join(f"{problem['what']}: {problem['detail']}" for problem in problems)

    def nothing_crashes(self, number: int | None = None) -> None:
        """Runs every other command, or the one whose turn it is."""
        commands = (
            ("status",),
            ("log",),
            ("show", self.first),
            ("cat", self.first, "large.bin"),
            ("cat", self.second, "file.txt"),
            ("diff", self.first, self.second),
            ("diff", self.first),
            ("--dry-run", "rewind", self.first),
            ("--dry-run", "undo"),
            ("verify",),
            ("label", self.second, "second"),
            ("checkpoint",),
            ("rewind", self.second, "--yes"),
            ("undo", "--yes"),
            ("redo", "--yes"),
            ("doctor",),
            ("doctor", "--rebuild"),
        )
        for args in commands if number is None else [commands[number % len(commands)]]:
            answer = unbroken(self._cli.run("--json", *args))
            assert answer.status in (0, 1, 3, 12, 13), str(answer)


@pytest.fixture
def kept(cli: Cli, workspace: Path) -> _Kept:
    found = _Kept(cli, workspace)
    assert cli.ok("--json", "verify", "--read-data").json["problems"] == []
    return found


def _flip(path: Path, at: int) -> None:
    path.chmod(0o600)
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)


def _cut(path: Path, to: int) -> None:
    path.chmod(0o600)
    os.truncate(path, to)


def _pack_regions(pack: Path) -> Iterator[tuple[str, int]]:
    size = pack.stat().st_size
    yield from (("magic", 1), ("version", 7), ("count", 11), ("first object's head", 12))
    yield from (("first object", 16), ("middle", size // 2), ("last object", size - 24))
    yield from (("trailer", size - 20), ("last byte", size - 1))


def _idx_regions(idx: Path) -> Iterator[tuple[str, int]]:
    data = idx.read_bytes()
    count = int.from_bytes(data[8 + 255 * 4 : 8 + 256 * 4], "big")
    names = 8 + 256 * 4
    yield from (("magic", 0), ("version", 7), ("fan-out", 8 + 3), ("last fan-out", names - 1))
    yield from (("a name", names + 5), ("last name", names + 20 * count - 1))
    yield from (("a crc", names + 20 * count + 1), ("an offset", names + 24 * count + 3))
    yield from (("the pack's checksum", names + 28 * count), ("its checksum", len(data) - 1))


@pytest.mark.parametrize("suffix", [".pack", ".idx"])
def test_61_verify_finds_each_flipped_bit(kept: _Kept, suffix: str) -> None:
    """`verify` finds each flipped bit ... (doctor's half is tested with the agents)."""
    file = kept.pack_of_first().with_suffix(suffix)
    regions = _pack_regions(file) if suffix == ".pack" else _idx_regions(file)
    for number, (what, at) in enumerate(regions):
        _flip(file, at)
        said = kept.is_found(f"{what} of the {suffix}")
        assert file.stem in said, f"{what} of the {suffix}: the pack is not named\n{said}"
        kept.nothing_crashes(number)
        kept.mend()


def test_61_verify_finds_each_missing_empty_or_misnamed_object(kept: _Kept) -> None:
    """`verify` finds each ... missing, empty or misnamed object."""
    pack = kept.pack_of_first()
    idx = pack.with_suffix(".idx")
    other = pack.with_name("pack-" + "0" * 40 + ".pack")

    def misname() -> None:
        idx.rename(other.with_suffix(".idx"))
        pack.rename(other)

    def exchange() -> None:
        second = next(path for path in kept.packs if path != pack)
        aside = pack.with_name("aside")
        pack.rename(aside)
        second.rename(pack)
        aside.rename(second)

    damages: dict[str, tuple[Callable[[], object], str]] = {
        "pack cut in half": (lambda: _cut(pack, pack.stat().st_size // 2), pack.stem),
        "pack without its last byte": (lambda: _cut(pack, pack.stat().st_size - 1), pack.stem),
        "empty pack": (lambda: _cut(pack, 0), pack.stem),
        "index without its pack": (pack.unlink, pack.stem),
        "index cut in half": (lambda: _cut(idx, idx.stat().st_size // 2), pack.stem),
        "empty index": (lambda: _cut(idx, 0), pack.stem),
        "pack without its index": (idx.unlink, "large.bin"),
        "pack and index under another name": (misname, other.stem),
        "two packs exchanged": (exchange, pack.stem),
    }
    for number, (what, (damage, named)) in enumerate(damages.items()):
        damage()
        said = kept.is_found(what)
        assert named in said, f"{what}: {named} is not named\n{said}"
        kept.nothing_crashes(number + 8)
        kept.mend()
    # Whatever pack is gone: something that is kept can no longer be had.
    for pack in kept.packs:
        pack.with_suffix(".idx").unlink()
        pack.unlink()
        kept.is_found(f"{pack.name} gone")
        kept.mend()
    # One pack gone for good: every command says so or does without.
    kept.pack_of_first().unlink()
    kept.nothing_crashes()


@pytest.mark.parametrize(
    "ref", ["takeback/sessions/*/workspace", "takeback/operations/*", "takeback/labels/*/*"]
)
def test_61_verify_finds_each_damaged_ref(kept: _Kept, ref: str) -> None:
    """`verify` finds ... also where the chain of checkpoints, operations or labels begins."""
    [file] = (kept.store / "store.git" / "refs").glob(ref)
    good = file.read_bytes()
    for number, data in enumerate((b"", good[:20], b"f" * 40 + b"\n", b"garbage\n")):
        file.write_bytes(data)
        said = kept.is_found(f"{ref} is {data!r}")
        name = "operation" if "operations" in ref else file.name
        assert name in said, said
        kept.nothing_crashes(number * 3)
        kept.mend()
    if "sessions" in ref:
        file.write_bytes(b"garbage\n")
        kept.nothing_crashes()


# -- 62


def _damaged(data: bytes) -> Iterator[tuple[str, bytes]]:
    yield "cut in half", data[: len(data) // 2]
    yield "empty", b""
    yield "garbage", os.urandom(max(len(data), 200))


def _dump(store: Path) -> list[str]:
    ledger = Ledger(str(store / "ledger.db"))
    try:
        return sorted(ledger.dump())
    finally:
        ledger.close()


@pytest.mark.parametrize(
    "names",
    [
        ("ledger.db",),
        ("stat/table",),
        ("stat/log",),
        ("workspace.json",),
        ("trust", "epoch", "lock", "log"),
    ],
    ids=lambda names: " ".join(names),
)
def test_62_a_damaged_file_beside_the_objects_stops_nothing(
    cli: Cli, workspace: Path, names: tuple[str, ...]
) -> None:
    """A truncated or damaged ledger, cache ... never crashes a command; the ledger is rebuilt from
    the store."""
    write_files(workspace, {"file.txt": b"one\n", "sub/other.txt": b"other\n"})
    one = checkpoint(cli, "-m", "one")
    write_files(workspace, {"file.txt": b"two\n"})
    two = checkpoint(cli)
    rewind(cli, one)
    store = store_of(cli)
    [good] = [path.read_bytes() for path in store.glob(names[0])]
    lines, ledger = log(cli), _dump(store)
    for what, data in _damaged(good):
        _damage(store, names, data)
        assert log(cli) == lines, what
        assert _dump(store) == ledger, what
        _damage(store, names, data)
        write_files(workspace, {"file.txt": b"changed %s\n" % what.encode()})
        rewind(cli, two)
        assert (workspace / "file.txt").read_bytes() == b"two\n"
        _damage(store, names, data)
        cli.ok("undo", "--yes")
        assert (workspace / "file.txt").read_bytes() == b"changed %s\n" % what.encode()
        _damage(store, names, data)
        made = cli.ok("--json", "checkpoint").json
        # Nothing since the undo: what an operation itself did is nobody's change.
        assert (made["complete"], made["changed"]) == (True, 0)
        lines, ledger = log(cli), _dump(store)
    # What a damaged log says was a failure to somebody: doctor may report it.
    assert unbroken(cli.run("--json", "doctor")).status in (0, 1)
    assert cli.ok("--json", "verify", "--read-data").json["problems"] == []
    # Sound again, it serves as before: the workspace is found where it is moved to.
    moved = workspace.with_name("moved")
    workspace.rename(moved)
    assert log(Cli(moved)) == lines


def _damage(store: Path, names: tuple[str, ...], data: bytes) -> None:
    """Puts ``data`` into files of the store; what SQLite keeps beside the ledger goes with it."""
    for suffix in ("-wal", "-shm"):
        (store / f"ledger.db{suffix}").unlink(missing_ok=True)
    for name in names:
        for file in list(store.glob(name)) or [store / name]:
            file.write_bytes(data)


def test_62_the_ledger_is_rebuilt_to_what_it_was(cli: Cli, workspace: Path) -> None:
    """... the ledger is rebuilt from the store."""
    write_files(workspace, {"a.txt": b"one\n", "b.txt": b"one\n", "c.log": b"ignored\n"})
    one = checkpoint(cli, "-m", "one")
    write_files(workspace, {"a.txt": b"one\ntwo\n", "caf\u00e9\n.txt": b"odd name\n"})
    os.rename(workspace / "b.txt", os.fsencode(workspace) + b"/\xff.bin")
    two = checkpoint(cli, "-m", "two")
    rewind(cli, one)
    cli.ok("undo", "--yes")
    cli.ok("label", two)
    cli.ok("label", one, "uno")
    checkpoint(cli)
    store = store_of(cli)
    lines, before = cli.ok("--json", "log", "--all").json_lines, _dump(store)
    assert len(before) >= 20

    def rebuilt() -> None:
        assert cli.ok("--json", "log", "--all").json_lines == lines
        assert _dump(store) == before

    for suffix in ("", "-wal", "-shm"):
        (store / f"ledger.db{suffix}").unlink(missing_ok=True)
    rebuilt()
    # A row that says something else than the store is put right on demand.
    database = sqlite3.connect(store / "ledger.db")
    with database:
        database.execute("update checkpoints set turn = 7, kind = 'invented'")
        database.execute("delete from changes")
        database.execute("insert into labels values ('nobody', 'nothing', 'mine')")
    database.close()
    assert _dump(store) != before
    cli.ok("doctor", "--rebuild")
    rebuilt()
    # A table that is gone, a file that is something else altogether.
    database = sqlite3.connect(store / "ledger.db")
    with database:
        database.execute("drop table changes")
    database.close()
    rebuilt()
    (store / "ledger.db").write_bytes(b"SQLite format 3\0" + b"\0" * 4000)
    rebuilt()


def test_62_a_damaged_journal_crashes_nothing(cli: Cli, workspace: Path) -> None:
    """A truncated or damaged ... journal ... never crashes a command."""
    write_files(workspace, {"file.txt": b"one\n"})
    one = checkpoint(cli)
    write_files(workspace, {"file.txt": b"two\n"})
    store = store_of(cli)
    for number, data in enumerate((b"", b'{"v": 1, "id": "ab', b"\0\xff" * 300, b'{"v": 1}')):
        (store / "journal").write_bytes(data)
        before = tree_state(workspace, identity=True)
        looking: tuple[tuple[str, ...], ...] = (("status",), ("--dry-run", "rewind", one))
        for args in looking:
            assert unbroken(cli.run("--json", *args)).status in (0, 1)
        for args in (("checkpoint",), ("rewind", one, "--yes"), ("undo", "--yes")):
            answer = unbroken(cli.run("--json", *args))
            assert answer.status in (1, 4), str(answer)
            assert "doctor" in answer.error["hint"], str(answer)
        same(before, tree_state(workspace, identity=True))
        # doctor says so, puts it aside if it may, and work goes on.
        answer = unbroken(cli.run("--json", "doctor"))
        assert answer.status == 1, str(answer)
        assert (store / "journal").exists()
        answer = unbroken(cli.run("--json", "doctor", "--fix"))
        assert "mended" in {item["state"] for item in answer.json_lines}, str(answer)
        assert not (store / "journal").exists()
        rewind(cli, one)
        assert (workspace / "file.txt").read_bytes() == b"one\n"
        write_files(workspace, {"file.txt": b"two, %d\n" % number})


# -- 63

_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("status",),
    ("log",),
    ("show", "@"),
    ("cat", "@", "file.txt"),
    ("diff", "@"),
    ("checkpoint",),
    ("checkpoint", "-m", "label"),
    ("label", "@", "label"),
    ("--dry-run", "rewind", "@"),
    ("rewind", "@", "--yes"),
    ("undo", "--yes"),
    ("redo", "--yes"),
    ("verify",),
    ("doctor",),
    ("doctor", "--rebuild"),
)


def test_63_a_newer_store_is_refused_and_not_damaged(cli: Cli, workspace: Path) -> None:
    """A store of a newer format is refused, not damaged."""
    write_files(workspace, {"file.txt": b"one\n"})
    at = checkpoint(cli)
    write_files(workspace, {"file.txt": b"two\n"})
    rewind(cli, at)
    write_files(workspace, {"file.txt": b"three\n"})
    store = store_of(cli)
    good = (store / "format").read_bytes()
    (store / "format").write_bytes(b"%d\n" % (int(good) + 1))
    files, kept = tree_state(workspace, identity=True), tree_state(store, identity=True)
    for args in _COMMANDS:
        answer = unbroken(cli.run("--json", *args))
        assert answer.status == 1, str(answer)
        assert answer.error["code"] == "store_too_new", str(answer)
        assert "upgrade" in answer.error["hint"]
        same(kept, tree_state(store, identity=True))
        same(files, tree_state(workspace, identity=True))
    # With the right version everything is still there.
    (store / "format").write_bytes(good)
    cli.ok("verify", "--read-data")
    rewind(cli, at)
    assert (workspace / "file.txt").read_bytes() == b"one\n"


def test_63_a_newer_ledger_keeps_every_byte(cli: Cli, workspace: Path) -> None:
    """A store of a newer format is ... not damaged: nor is its ledger, which is only an index.
    Commands answer from the store and say so."""
    write_files(workspace, {"file.txt": b"one\n"})
    one = checkpoint(cli, "-m", "one")
    write_files(workspace, {"file.txt": b"two\n"})
    checkpoint(cli)
    lines, store = log(cli), store_of(cli)
    database = sqlite3.connect(store / "ledger.db")
    [(version,)] = database.execute("pragma user_version").fetchall()
    database.execute(f"pragma user_version = {version + 1}")
    database.execute("create table from_the_future (fact text)")
    database.commit()
    database.close()
    newer = (store / "ledger.db").read_bytes()

    def answer(*args: str) -> Answer:
        given = cli.ok("--json", *args)
        assert (store / "ledger.db").read_bytes() == newer, f"{args} wrote to the ledger"
        return given

    listed = answer("log")
    assert listed.json_lines == lines
    assert "ledger" in listed.stderr
    made = answer("checkpoint").json["id"]
    assert [line["id"] for line in answer("log").json_lines] == [made, *(x["id"] for x in lines)]
    answer("rewind", "one", "--yes")
    assert (workspace / "file.txt").read_bytes() == b"one\n"
    answer("undo", "--yes")
    assert (workspace / "file.txt").read_bytes() == b"two\n"
    answer("label", one, "uno")
    assert answer("show", "uno").json["id"] == one
    answer("verify", "--read-data")
    assert unbroken(cli.run("--json", "doctor")).status in (0, 1)
    assert (store / "ledger.db").read_bytes() == newer
