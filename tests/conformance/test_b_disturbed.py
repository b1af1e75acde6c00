"""B. Rewind: killed, out of space, raced, blocked, damaged (behaviours 30-34)."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from takeback.git.objects import BLOB, object_id
from takeback.git.packs import Packs
from tests.support.cli import Answer, Cli
from tests.support.git import git
from tests.support.journey import checkpoint, paths, same, store_of
from tests.support.processes import Started
from tests.support.trees import Entry, differences, git_state, tree_state
from tests.support.unprivileged import unprivileged

SCRATCH = b".takeback-"


def assert_store_verifies(cli: Cli) -> None:
    """Every byte of every object reads back."""
    assert cli.ok("--json", "verify", "--read-data").json["problems"] == []


def assert_partly_done(answer: Answer, left: set[bytes]) -> None:
    """Status 3, and exactly these paths are named, each with a reason."""
    assert answer.status == 3, str(answer)
    assert paths(answer.json["left_alone"]) == left, str(answer)
    assert all(item["reason"] for item in answer.json["left_alone"]), str(answer)


def noise(size: int, seed: object) -> bytes:
    """Returns bytes that do not compress, the same for the same seed."""
    return random.Random(str(seed)).randbytes(size)


# -- 30


def _three_hundred_files(root: Path, turn: str) -> None:
    """Makes a state that differs from that of another turn in each of some 300 paths."""
    for number in range(300):
        directory = root / f"d{number % 7}"
        directory.mkdir(exist_ok=True)
        if number % 5 == 0:  # files that only this turn has
            (directory / f"{turn} {number}").write_bytes(noise(700, (turn, number)))
        elif number % 31 == 0:  # a file in one turn, a directory in the other
            if turn == "old":
                (directory / f"{number}").write_text("a file\n")
            else:
                (directory / f"{number}").mkdir()
                (directory / f"{number}" / "inner").write_text("in a directory\n")
        else:
            (directory / f"{number}").write_bytes(noise(700, (turn, number)))
            (directory / f"{number}").chmod(0o600 if turn == "old" else 0o640)


def _clear(root: Path) -> None:
    for entry in root.iterdir():
        if entry.name != ".git":
            subprocess.run(["rm", "-rf", str(entry)], check=True)


def _kill_after(process: subprocess.Popen[bytes], root: Path, delay: float, *, begun: bool) -> None:
    """Kills a rewind after a while; with ``begun`` counted from its first temporary file."""
    deadline = time.monotonic() + 60
    while begun and process.poll() is None and time.monotonic() < deadline:
        names = [name for inner in root.iterdir() if inner.is_dir() for name in os.listdir(inner)]
        if any(os.fsencode(name).startswith(SCRATCH) for name in names):
            break
        time.sleep(0.0005)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait(60)


def test_30_kill_at_any_moment(cli: Cli, workspace: Path) -> None:
    """kill -9 at any moment of a rewind: each file old or new, never torn; the next command
    finishes or rolls back and says which; undo still works. (A sample; tests/crash has the
    campaign.)"""
    _three_hundred_files(workspace, "old")
    old, at_old = checkpoint(cli), tree_state(workspace)
    _clear(workspace)
    _three_hundred_files(workspace, "new")
    new, at_new = checkpoint(cli), tree_state(workspace)
    repository = git_state(workspace)
    started = time.monotonic()
    cli.ok("--json", "rewind", old, "--yes")
    duration = time.monotonic() - started
    cli.ok("--json", "undo", "--yes")
    same(at_new, tree_state(workspace))

    chance = random.Random()
    interrupted = 0
    for kill in range(12):
        begun = kill >= 4
        delay = chance.uniform(0, duration / 3 if begun else duration)
        about = f"kill {kill} after {delay:.4f} s, begun {begun}"
        with cli.start("--json", "rewind", old, "--yes") as process:
            _kill_after(process, workspace, delay, begun=begun)
        killed = tree_state(workspace)
        _assert_old_or_new(killed, at_old, at_new, about)
        found = cli.ok("--json", "status").json["interrupted"]
        assert found or killed in (at_old, at_new), about
        interrupted += found

        command = (["checkpoint"], ["undo", "--yes"], ["rewind", old, "--yes"])[kill % 3]
        answer = cli.run("--json", *command)
        if command[0] != "undo":
            allowed = 0
        elif found:
            allowed = 4  # what was asked no longer means the same, so it was not done
        else:
            allowed = 0 if killed == at_old else 13
        assert answer.status == allowed, f"{about}\n{answer}"
        says = "interrupted rewind" in answer.stderr and (
            ("finished" in answer.stderr) != ("rolled back" in answer.stderr)
        )
        assert says == found, f"{about}\n{answer}"
        now = tree_state(workspace)
        assert now in (at_old, at_new), (about, differences(at_old, now), differences(at_new, now))
        if now == at_old:
            assert cli.ok("--json", "undo", "--yes").json["verified"] is True
        same(at_new, tree_state(workspace))
    assert interrupted, "no kill fell into a rewind: this proves nothing"
    cli.ok("--json", "rewind", new, "--yes")
    same(repository, git_state(workspace))
    assert_store_verifies(cli)


def _assert_old_or_new(
    now: dict[bytes, Entry], old: dict[bytes, Entry], new: dict[bytes, Entry], about: str
) -> None:
    for path in old.keys() | new.keys():
        versions = [old.get(path), new.get(path)]
        found = now.get(path)
        if found is not None and found.kind == "directory":
            found = found._replace(mode=0)
            versions = [entry and entry._replace(mode=0) for entry in versions]
        parent = path.rpartition(b"/")[0]
        if found is None and now.get(parent) is None:
            continue  # its parent makes way: that one is judged
        assert found in versions, (about, path)
    strangers = [
        path
        for path in now.keys() - old.keys() - new.keys()
        if not any(part.startswith(SCRATCH) for part in path.split(b"/"))
    ]
    assert strangers == [], about


# -- 31


@contextmanager
def _mounted(place: Path, *options: str) -> Iterator[Path]:
    """Mounts something over a directory or file; skips the test where that is not allowed."""
    made = subprocess.run(
        ["mount", *options, str(place)], capture_output=True, check=False, text=True
    )
    if made.returncode != 0:
        pytest.skip(f"cannot mount here: {made.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@contextmanager
def _small_disk(place: Path, *, size: str = "8m", inodes: int = 0) -> Iterator[Path]:
    """A file system of its own, small enough to be filled."""
    if not sys.platform.startswith("linux"):
        pytest.skip("needs tmpfs")
    place.mkdir(mode=0o700, exist_ok=True)
    options = f"size={size},mode=700" + (f",nr_inodes={inodes}" if inodes else "")
    with _mounted(place, "-t", "tmpfs", "-o", options, "takeback-test"):
        yield place


def _fill_bytes(filler: Path, *, leave: int) -> None:
    """Fills the disk that ``filler`` is made on, all but ``leave`` bytes."""
    status = os.statvfs(filler.parent)
    filler.write_bytes(b"\1" * max(0, status.f_bavail * status.f_frsize - leave))


def _fill_inodes(filler: Path, *, leave: int) -> None:
    """Uses up the inodes of a disk, all but ``leave``."""
    filler.mkdir()
    for number in range(os.statvfs(filler).f_ffree - leave):
        (filler / str(number)).touch()


@pytest.fixture
def no_floor(cli: Cli) -> None:
    """takeback may use the store's disk to its end; by default it stops 100 MB before."""
    cli.ok("config", "disk_floor_mb", "0")


@pytest.mark.parametrize("what", ["bytes", "bytes, noticed late", "inodes"])
@pytest.mark.usefixtures("no_floor")
def test_31_the_disk_of_the_workspace_is_full(tmp_path: Path, what: str) -> None:
    """Disk full (bytes or inodes) during a rewind: a clear error, the old content still there,
    the store verifies, the next command works."""
    # 1,000 inodes, and a MB in pages of which only a byte each counts as content
    files, size = {"bytes": (6, 500_000), "bytes, noticed late": (250, 1), "inodes": (250, 1)}[what]
    with _small_disk(tmp_path / "small", inodes=1000) as root:
        cli = Cli(root)
        (root / ".gitignore").write_text("filler\n")
        (root / "edited").write_text("then\n")
        for number in range(files):
            (root / f"{number}").write_bytes(noise(size, number))
        target, then = checkpoint(cli), tree_state(root)
        for number in range(files):
            (root / f"{number}").unlink()
        (root / "edited").write_text("now\n")
        (root / "later").write_text("later\n")
        newest = checkpoint(cli)
        if what == "inodes":
            _fill_inodes(root / "filler", leave=50)
        else:
            _fill_bytes(root / "filler", leave=200_000)
        now = tree_state(root)

        answer = cli.run("--json", "rewind", target, "--yes")
        assert answer.status in (1, 13), str(answer)
        error = answer.error
        assert "space" in error["message"].lower() or "free" in error["message"], str(answer)
        assert error["hint"], str(answer)
        same(now, tree_state(root))
        assert_store_verifies(cli)
        assert cli.ok("--json", "status").json["interrupted"] is False
        # The disk is still full: what needs no space works.
        cli.ok("--json", "rewind", newest, "--yes")
        cli.ok("--json", "checkpoint")
        same(now, tree_state(root))

        subprocess.run(["rm", "-rf", str(root / "filler")], check=True)
        assert cli.ok("--json", "rewind", target, "--yes").json["verified"] is True
        same(then, tree_state(root))
        cli.ok("--json", "undo", "--yes", "--allow-mass-delete")
        assert (root / "edited").read_text() == "now\n"


@pytest.mark.parametrize("what", ["bytes", "inodes"])
@pytest.mark.usefixtures("no_floor")
def test_31_the_disk_of_the_store_is_full(cli: Cli, workspace: Path, what: str) -> None:
    """Disk full during a capture, or where the undo snapshot is to be saved: a clear error,
    nothing changed, the store verifies, the next command works."""
    home = workspace.parent / "takeback"
    filler = home / "filler"
    with _small_disk(home, inodes=600):
        (workspace / "file").write_bytes(noise(300_000, "then"))
        target, then = checkpoint(cli), tree_state(workspace)
        (workspace / "file").write_bytes(noise(300_000, "now"))
        (workspace / "later").write_text("later\n")
        now = tree_state(workspace, identity=True)
        for leave in (0, 1, 3, 8) if what == "inodes" else (0, 4096, 40_000, 200_000):
            if what == "inodes":
                _fill_inodes(filler, leave=leave)
            else:
                _fill_bytes(filler, leave=leave)
            # Each of them needs space that is not there, or just finds enough: both are well.
            for command in (["checkpoint"], ["rewind", target, "--yes"]):
                answer = cli.run("--json", *command)
                if answer.status == 0:
                    continue
                assert answer.status == 1, str(answer)
                assert "space" in answer.error["message"].lower(), str(answer)
                assert answer.error["hint"], str(answer)
                assert answer.stdout == "", str(answer)  # no id, and no half of an answer
            cli.ok("--json", "log")
            subprocess.run(["rm", "-rf", str(filler)], check=True)
            assert_store_verifies(cli)
            if tree_state(workspace, identity=True) != now:
                same(then, tree_state(workspace))
                cli.ok("--json", "undo", "--yes")
                now = tree_state(workspace, identity=True)
                assert now[b"file"].content == noise(300_000, "now")
        made = cli.ok("--json", "checkpoint").json
        assert made["complete"] is True
        cli.ok("--json", "rewind", target, "--yes")
        same(then, tree_state(workspace))
        cli.ok("--json", "rewind", made["id"], "--yes")
        same(
            {path: entry._replace(inode=0, mtime_ns=0) for path, entry in now.items()},
            tree_state(workspace),
        )


def test_31_the_floor_of_free_space_is_kept(cli: Cli, workspace: Path) -> None:
    """The last 100 MB of the store's disk are not used unless told so: a clear error."""
    with _small_disk(workspace.parent / "takeback"):
        (workspace / "file").write_text("1\n")
        answer = cli.run("--json", "checkpoint")
        assert answer.status == 1, str(answer)
        assert "floor" in answer.error["message"], str(answer)
        assert "disk_floor_mb" in answer.error["hint"], str(answer)
        cli.ok("config", "disk_floor_mb", "0")
        checkpoint(cli)


def test_31_a_read_only_directory(cli: Cli, workspace: Path) -> None:
    """A directory that may not be written to: named, the old content still there, the rest is
    done, and the next command works."""
    cli = unprivileged(cli)
    closed = workspace / "closed"
    closed.mkdir()
    for name in ("closed/file", "open"):
        (workspace / name).write_text("then\n")
    closed.chmod(0o555)
    target, then = checkpoint(cli), tree_state(workspace)
    (closed / "file").write_text("now\n")  # in place: that is allowed
    (workspace / "open").write_text("now\n")
    try:
        assert_partly_done(cli.run("--json", "rewind", target, "--yes"), {b"closed/file"})
        assert (closed / "file").read_text() == "now\n"
        assert (workspace / "open").read_text() == "then\n"
        assert sorted(os.listdir(closed)) == ["file"]
        assert_store_verifies(cli)
        cli.ok("--json", "undo", "--yes")
        assert (workspace / "open").read_text() == "now\n"
        closed.chmod(0o755)
        cli.ok("--json", "rewind", target, "--yes")
        same(then, tree_state(workspace))
    finally:
        closed.chmod(0o755)


def test_31_a_read_only_store(cli: Cli, workspace: Path) -> None:
    """A store that may not be written to: a clear error, nothing changed; afterwards it works."""
    cli = unprivileged(cli)
    (workspace / "file").write_text("then\n")
    target = checkpoint(cli)
    (workspace / "file").write_text("now\n")
    home = workspace.parent / "takeback"
    modes = {inner: inner.stat().st_mode for inner in (home, *home.rglob("*")) if inner.is_dir()}
    before = tree_state(workspace, identity=True)
    try:
        for inner in reversed(modes):
            inner.chmod(0o500)
        for command in (["checkpoint"], ["rewind", target, "--yes"]):
            answer = cli.run("--json", *command)
            assert answer.status == 1, str(answer)
            assert "permission denied" in answer.error["message"].lower(), str(answer)
            same(before, tree_state(workspace, identity=True))
    finally:
        for inner, mode in modes.items():
            inner.chmod(mode)
    cli.ok("--json", "rewind", target, "--yes")
    assert (workspace / "file").read_text() == "then\n"
    cli.ok("--json", "undo", "--yes")
    assert_store_verifies(cli)


@pytest.mark.usefixtures("no_floor")
def test_31_a_read_only_file_system(tmp_path: Path) -> None:
    """A workspace that became read-only: captures go on, a rewind changes nothing and says why."""
    with _small_disk(tmp_path / "small") as root:
        cli = Cli(root)
        (root / "file").write_text("then\n")
        target, then = checkpoint(cli), tree_state(root)
        (root / "file").write_text("now\n")
        (root / "later").write_text("later\n")
        before = tree_state(root, identity=True)
        remount = ["mount", "-o", "remount,ro", str(root)]
        if subprocess.run(remount, capture_output=True, check=False).returncode != 0:
            pytest.skip("cannot remount here")
        newest = checkpoint(cli)
        answer = cli.run("--json", "rewind", target, "--yes")
        assert answer.status in (1, 3, 13), str(answer)
        assert "read-only" in (answer.stdout + answer.stderr).lower(), str(answer)
        same(before, tree_state(root, identity=True))
        subprocess.run(["mount", "-o", "remount,rw", str(root)], check=True)
        cli.ok("--json", "rewind", target, "--yes")
        same(then, tree_state(root))
        cli.ok("--json", "rewind", newest, "--yes")
        assert (root / "later").read_text() == "later\n"
        assert_store_verifies(cli)


# -- 32

SWAPPER = """
import os, sys
from takeback import kernel
one, other = sys.argv[1:]
here = os.open("/", os.O_RDONLY)
print("ready", flush=True)
while True:
    try:
        kernel.exchange(here, os.fsencode(one), os.fsencode(other))
    except kernel.Unsupported:  # then by three renames, which leaves the name free in between
        os.rename(one, other + ".")
        os.rename(other, one)
        os.rename(other + ".", other)
    except OSError:
        pass  # the rewind holds it for a moment
"""


@contextmanager
def _swapping(one: Path, other: Path) -> Iterator[None]:
    """Exchanges two names in a tight loop, in a process of its own."""
    with Started(
        [sys.executable, "-c", SWAPPER, str(one), str(other)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


def _leftovers(root: Path) -> list[Path]:
    return [path for path in root.iterdir() if os.fsencode(path.name).startswith(SCRATCH)]


def test_32_a_directory_swapped_for_a_link(cli: Cli, workspace: Path) -> None:
    """A directory swapped for a symlink during the rewind: nothing is written or deleted
    outside. (20 rounds; tests/crash has the campaign.)"""
    outside = workspace.parent / "outside"
    aside = workspace.parent / "aside"
    victim = workspace / "victim"

    def fill(root: Path, text: str, *, later: bool) -> None:
        (root / "sub").mkdir(parents=True, exist_ok=True)
        for number in range(12):
            (root / f"{number}").write_text(f"{text} {number}\n")
            (root / "sub" / f"{number}").write_text(f"{text} {number}\n")
            if later:
                (root / f"later {number}").write_text("later\n")
                (root / "sub" / f"later {number}").write_text("later\n")

    fill(outside, "outside", later=True)
    (outside / "empty").mkdir()
    theirs = tree_state(outside, identity=True)
    fill(victim, "then", later=False)
    (workspace / "other").write_text("then\n")
    target, then = checkpoint(cli), tree_state(workspace)
    said = ""
    for turn in range(20):
        (workspace / "other").write_text("now\n")
        fill(victim, "now", later=True)
        (victim / "empty").mkdir()
        aside.symlink_to(outside)
        with _swapping(victim, aside):
            answer = cli.run("--json", "rewind", target, "--yes")
        same(theirs, tree_state(outside, identity=True))
        # 1 and 13: it could not be captured while it moved; 3: paths were left alone
        assert answer.status in (0, 1, 3, 13), str(answer)

        said += str(answer)

        subprocess.run(["rm", "-rf", str(aside), str(victim)], check=True)
        if turn % 5 == 4:  # the attacker gone, everything is as ever
            said += str(cli.ok("--json", "rewind", target, "--yes"))
            # what the attacker put under a temporary name of ours may be kept, but is named
            for kept in _leftovers(workspace):
                assert SCRATCH.decode() in said, (kept, said)
                subprocess.run(["rm", "-rf", str(kept)], check=True)
            same(then, tree_state(workspace))
            same(theirs, tree_state(outside, identity=True))
            said = ""
    assert_store_verifies(cli)


# -- 33


@contextmanager
def _immutable(*places: Path) -> Iterator[None]:
    """Makes files immutable, as only root can; skips the test where nothing can."""
    made: list[Path] = []
    try:
        for place in places:
            try:
                done = subprocess.run(
                    ["chattr", "+i", str(place)], capture_output=True, check=False, text=True
                )
            except FileNotFoundError:
                pytest.skip("there is no chattr")
            if done.returncode != 0:
                pytest.skip(f"cannot make a file immutable here: {done.stderr.strip()}")
            made.append(place)
        yield
    finally:
        for place in made:
            subprocess.run(["chattr", "-i", str(place)], check=True)


def test_33_an_immutable_file_is_named_and_the_rest_is_done(cli: Cli, workspace: Path) -> None:
    """A path that cannot be replaced (immutable) is named, the rest is done, exit 3."""
    for name in ("a", "fixed", "z"):
        (workspace / name).write_text("then\n")
    (workspace / "closed").mkdir()
    (workspace / "closed" / "file").write_text("then\n")
    target, then = checkpoint(cli), tree_state(workspace)
    for name in ("a", "fixed", "z", "closed/file"):
        (workspace / name).write_text("now\n")
    for name in ("fixed and later", "later"):
        (workspace / name).write_text("later\n")
    fixed = [workspace / name for name in ("fixed", "fixed and later", "closed")]
    left = {b"fixed", b"fixed and later", b"closed/file"}
    now = tree_state(workspace, identity=True)
    with _immutable(*fixed):
        assert_partly_done(cli.run("--json", "rewind", target, "--yes"), left)
        after = tree_state(workspace, identity=True)
        for path in left:
            assert after[path] == now[path], path
        assert after.keys() == then.keys() | {b"fixed and later"}
        for path in (b"a", b"z"):
            assert after[path].content == b"then\n"
        said = cli.run("rewind", target, "--yes")
        assert said.status == 3, str(said)
        assert all(path.decode() in said.stdout for path in left), str(said)
        # The second one could change nothing, so it is no step to walk back over. The way back
        # meets the same paths, and they are as they should be.
        cli.ok("--json", "undo", "--yes")
        same(
            {path: entry._replace(inode=0, mtime_ns=0) for path, entry in now.items()},
            tree_state(workspace),
        )
    cli.ok("--json", "rewind", target, "--yes")
    same(then, tree_state(workspace))


def test_33_a_bind_mounted_file_is_named_and_the_rest_is_done(cli: Cli, workspace: Path) -> None:
    """A path that cannot be replaced (a file that is a mount point) is named, the rest is done,
    exit 3; what is mounted there is not written to."""
    elsewhere = workspace.parent / "elsewhere"
    elsewhere.write_text("theirs\n")
    for name in ("a", "mounted", "z"):
        (workspace / name).write_text("then\n")
    target, then = checkpoint(cli), tree_state(workspace)
    for name in ("a", "z"):
        (workspace / name).write_text("now\n")
    before = elsewhere.stat()
    with _mounted(workspace / "mounted", "--bind", str(elsewhere)):
        assert_partly_done(cli.run("--json", "rewind", target, "--yes"), {b"mounted"})
        assert (workspace / "mounted").read_text() == "theirs\n"
        assert (workspace / "a").read_text() == (workspace / "z").read_text() == "then\n"
    after = elsewhere.stat()
    assert elsewhere.read_text() == "theirs\n"
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    same(then, tree_state(workspace))


@pytest.mark.parametrize("kind", ["bind", "tmpfs"])
def test_33_a_mounted_directory_is_named_and_the_rest_is_done(
    cli: Cli, workspace: Path, kind: str
) -> None:
    """A directory that is a mount point is not crossed: named, the rest is done, exit 3; what is
    mounted there (it lies outside the workspace) is neither written nor deleted."""
    elsewhere = workspace.parent / "elsewhere"
    elsewhere.mkdir()
    mounted = workspace / "mounted"
    mounted.mkdir()
    for name in ("a", "mounted/file", "mounted/hidden", "z"):
        (workspace / name).write_text("then\n")
    target, then = checkpoint(cli), tree_state(workspace)
    for name in ("a", "z"):
        (workspace / name).write_text("now\n")
    options = ["--bind", str(elsewhere)] if kind == "bind" else ["-t", "tmpfs", "tmpfs"]
    with _mounted(mounted, *options):
        (mounted / "file").write_text("theirs\n")
        (mounted / "later").write_text("theirs\n")
        theirs = tree_state(mounted, identity=True)
        answer = cli.run("--json", "rewind", target, "--yes")
        assert answer.status == 3, str(answer)
        left = paths(answer.json["left_alone"])
        assert left, str(answer)
        assert all(path.split(b"/")[0] == b"mounted" for path in left), str(answer)
        same(theirs, tree_state(mounted, identity=True))
        assert (workspace / "a").read_text() == (workspace / "z").read_text() == "then\n"
    same(then, tree_state(workspace))


# -- 34


def _objects(cli: Cli) -> Path:
    """Returns the objects directory of the store."""
    return store_of(cli) / "store.git" / "objects"


def _flip_a_bit(objects: Path, oid: bytes) -> None:
    """Changes one bit in the compressed bytes of an object, in each pack that has it."""
    packs = Packs(str(objects))
    found = packs.find(oid)
    packs.close()
    assert found is not None
    name, offset = found
    pack = objects / "pack" / f"{name}.pack"
    data = bytearray(pack.read_bytes())
    data[offset + 12] ^= 0x40
    _overwrite(pack, bytes(data))


def _overwrite(file: Path, data: bytes) -> None:
    file.chmod(0o600)
    file.write_bytes(data)


def _make_loose(objects: Path, oid: bytes) -> Path:
    """Turns all packs into loose objects and returns the file of one of them."""
    for pack in list((objects / "pack").glob("*.pack")):
        data = pack.read_bytes()
        for part in (pack, pack.with_suffix(".idx")):
            part.unlink()
        git(objects.parent, "unpack-objects", "-q", stdin=data)
    loose = objects / oid.hex()[:2] / oid.hex()[2:]
    assert loose.is_file()
    return loose


def _remove(objects: Path, oid: bytes) -> None:
    _make_loose(objects, oid).unlink()


def _empty(objects: Path, oid: bytes) -> None:
    _overwrite(_make_loose(objects, oid), b"")


def _misname(objects: Path, oid: bytes) -> None:
    """Another object's bytes under this one's name."""
    loose = _make_loose(objects, oid)
    other = next(p for p in objects.glob("??/*") if p != loose and len(p.name) == 38)
    _overwrite(loose, other.read_bytes())


DAMAGE = pytest.mark.parametrize(
    "damage", [_flip_a_bit, _remove, _empty, _misname], ids=lambda f: f.__name__.strip("_")
)


@DAMAGE
def test_34_a_damaged_object_is_reported_and_the_rest_restored(
    cli: Cli, workspace: Path, damage: Callable[[Path, bytes], None]
) -> None:
    """A damaged or missing object: that path is reported, the rest is restorable; never "the
    file did not exist"."""
    lost = noise(4000, "lost")
    for name in ("a", "z"):
        (workspace / name).write_text("then\n")
    for name in ("damaged", "damaged and deleted since"):
        (workspace / name).write_bytes(lost)
    target = checkpoint(cli)
    for name in ("a", "z", "damaged"):
        (workspace / name).write_text("now\n")
    (workspace / "damaged and deleted since").unlink()
    (workspace / "later").write_text("later\n")
    newest, now = checkpoint(cli), tree_state(workspace)
    damage(_objects(cli), object_id(BLOB, lost))

    left = {b"damaged", b"damaged and deleted since"}
    answer = cli.run("--json", "rewind", target, "--yes")
    assert_partly_done(answer, left)
    assert not left & (paths(answer.json["written"]) | paths(answer.json["deleted"]))
    after = tree_state(workspace)
    assert after.keys() == {b"a", b"z", b"damaged"}
    assert after[b"a"].content == after[b"z"].content == b"then\n"
    assert after[b"damaged"] == now[b"damaged"]  # never deleted, never half of it
    assert cli.run("--json", "verify", "--read-data").json["problems"] != []

    # The other checkpoint and the undo snapshot are whole.
    cli.ok("--json", "undo", "--yes")
    same(now, tree_state(workspace))
    (workspace / "a").write_text("else\n")
    cli.ok("--json", "rewind", newest, "--yes")
    same(now, tree_state(workspace))

    # The same bytes seen again heal the store: what is there must not be believed blindly.
    (workspace / "found again").write_bytes(lost)
    checkpoint(cli)
    cli.ok("--json", "rewind", target, "--yes")
    assert (workspace / "damaged").read_bytes() == lost
    assert (workspace / "damaged and deleted since").read_bytes() == lost


@DAMAGE
def test_34_a_damaged_directory_is_reported_and_the_rest_restored(
    cli: Cli, workspace: Path, damage: Callable[[Path, bytes], None]
) -> None:
    """The same for an object that lists a directory: nothing below it is taken for absent."""
    (workspace / "directory" / "inner").mkdir(parents=True)
    names = ("a", "directory/file", "directory/inner/file", "z")
    for name in names:
        (workspace / name).write_text(f"{name} then\n")
    target = checkpoint(cli)
    oid = bytes.fromhex(
        git(
            _objects(cli).parent,
            "rev-parse",
            f"{cli.ok('--json', 'show', target).json['snapshot']}:directory",
        ).decode()
    )
    for name in names:
        (workspace / name).write_text(f"{name} now\n")
    (workspace / "directory" / "later").write_text("later\n")
    now = tree_state(workspace)
    checkpoint(cli)
    damage(_objects(cli), oid)

    answer = cli.run("--json", "rewind", target, "--yes")
    assert answer.status == 3, str(answer)
    left = paths(answer.json["left_alone"])
    assert left, str(answer)
    assert all(path.split(b"/")[0] == b"directory" for path in left), str(answer)
    after = tree_state(workspace)
    assert after.keys() == now.keys()
    for path in after:
        if path in (b"a", b"z"):
            assert after[path].content == path + b" then\n"
        else:
            assert after[path] == now[path], path
    cli.ok("--json", "undo", "--yes")
    same(now, tree_state(workspace))
