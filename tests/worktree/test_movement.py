"""What is renamed while a capture looks is in it, or is named: never in neither place."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from takeback.context import Context
from takeback.git.objects import BLOB, object_id
from takeback.store import trees
from takeback.worktree.scan import Scanned
from tests.support.cli import Cli
from tests.support.engine import settle
from tests.support.git import git
from tests.support.processes import Started
from tests.support.scanner import Moment, Scanner


def once(act: Callable[[], object], marker: bytes | None = None) -> Moment:
    """Acts at the first moment, or at the first one in which ``marker`` is named."""
    done: list[bool] = []

    def moment(what: bytes) -> None:
        if not done and (marker is None or marker in what):
            done.append(True)
            act()

    return moment


@pytest.fixture
def scanner(context: Context) -> Scanner:
    return Scanner(context)


@pytest.fixture
def root(workspace: Path) -> Path:
    """Directories that are looked at in the order of their names, and one file to be moved."""
    for name in ("a", "m/deep", "z"):
        (workspace / name).mkdir(parents=True)
        (workspace / name / "other").write_text(name)
    (workspace / "z" / "f").write_text("moved")
    settle()
    return workspace


def held(scanner: Scanner, scanned: Scanned) -> set[bytes]:
    tree = trees.walk(scanner.context.store, scanned.tree)
    return {path for path, entry in tree if not entry.is_directory}


OTHERS = {b"a/other", b"m/deep/other", b"z/other"}


@pytest.mark.parametrize("target", ["a/f", "m/f", "m/deep/f", "f", "new/f"])
def test_a_file_moved_into_a_directory_that_was_listed_before_is_held_by_a_first_capture(
    root: Path, scanner: Scanner, target: str
) -> None:
    def move() -> None:
        (root / target).parent.mkdir(exist_ok=True)
        (root / "z" / "f").rename(root / target)

    scanner.when_asked = once(move, b"z/f")
    scanned = scanner.run()
    assert held(scanner, scanned) == OTHERS | {target.encode()}
    assert scanned.coverage.complete


@pytest.mark.parametrize("target", ["a/f", "m/deep/f", "f", "new/f"])
def test_a_file_moved_between_looking_and_listing_is_held_by_a_later_capture(
    root: Path, scanner: Scanner, target: str
) -> None:
    """The target's directory was found unchanged, before; the source is listed for another edit."""
    scanner.run()
    (root / "z" / "new").write_text("z")
    settle()

    def move() -> None:
        (root / target).parent.mkdir(exist_ok=True)
        (root / "z" / "f").rename(root / target)

    scanner.when_asked = once(move)
    scanned = scanner.run()
    here = held(scanner, scanned)
    assert OTHERS | {b"z/new"} <= here
    assert here & {b"z/f", target.encode()}
    scanner.when_asked = lambda _: None
    assert held(scanner, scanner.run()) == OTHERS | {b"z/new", target.encode()}


def test_a_file_that_is_gone_when_it_is_to_be_read_is_found_where_it_went(
    root: Path, scanner: Scanner
) -> None:
    scanner.run()
    (root / "m" / "deep" / "other").write_text("first to be read")
    (root / "z" / "f").write_text("edited")
    settle()
    first = object_id(BLOB, b"first to be read")
    scanner.when_read = once(lambda: (root / "z" / "f").rename(root / "a" / "f"), first)
    scanned = scanner.run()
    assert held(scanner, scanned) == OTHERS | {b"a/f"}
    assert scanned.coverage.complete


@pytest.mark.parametrize("first", [True, False], ids=["first capture", "later capture"])
@pytest.mark.parametrize("target", ["a/moved", "moved", "z/moved"])
def test_a_whole_directory_that_moves_is_held_in_its_new_place(
    root: Path, scanner: Scanner, target: str, first: bool
) -> None:
    if not first:
        scanner.run()
        (root / "m" / "deep" / "other").write_text("m/deep!")
        (root / "m" / "deep" / "new").write_text("new")
        settle()
    scanner.when_asked = once(lambda: (root / "m" / "deep").rename(root / target), b"m/deep")
    scanned = scanner.run()
    assert held(scanner, scanned) >= {b"a/other", b"z/other", b"z/f", target.encode() + b"/other"}
    assert scanned.coverage.complete


def test_a_directory_that_takes_the_place_of_another_is_listed(
    root: Path, scanner: Scanner
) -> None:
    scanner.run()
    (root / "new").write_text("x")
    settle()

    def exchange() -> None:
        (root / "z").rename(root / "y")
        (root / "a").rename(root / "z")
        (root / "y").rename(root / "a")

    scanner.when_asked = once(exchange)
    scanned = scanner.run()
    assert held(scanner, scanned) >= {b"a/f", b"a/other", b"z/other", b"m/deep/other", b"new"}
    assert b"z/f" not in held(scanner, scanned)


def test_a_directory_that_never_holds_still_is_named_and_the_rest_is_held(
    root: Path, scanner: Scanner
) -> None:
    scanner.run()
    (root / "a" / "x0").write_text("x")
    settle()
    count = 0

    def stir(_: bytes) -> None:
        nonlocal count
        (root / "a" / f"x{count}").rename(root / "a" / f"x{count + 1}")
        count += 1

    scanner.when_asked = stir
    scanned = scanner.run()
    gaps = {item.path: item.reason for item in scanned.coverage.not_held}
    assert gaps == {b"a": "unstable"}
    assert held(scanner, scanned) >= OTHERS | {b"z/f"}
    scanner.when_asked = lambda _: None
    scanned = scanner.run()
    assert scanned.coverage.complete
    assert held(scanner, scanned) == OTHERS | {b"z/f", b"a/x%d" % count}


def test_of_a_root_that_never_holds_still_only_what_moves_is_named(
    root: Path, scanner: Scanner
) -> None:
    (root / "x0").write_text("x")
    settle()
    scanner.run()
    (root / "new").write_text("new")
    settle()
    count = 0

    def stir(_: bytes) -> None:
        nonlocal count
        (root / f"x{count}").rename(root / f"x{count + 1}")
        count += 1

    scanner.when_asked = stir
    scanned = scanner.run()
    gaps = {item.path: item.reason for item in scanned.coverage.not_held}
    assert gaps
    assert set(gaps.values()) == {"unstable"}
    assert gaps.keys() | held(scanner, scanned) >= {b"x%d" % number for number in range(count)}
    assert held(scanner, scanned) >= OTHERS | {b"z/f", b"new"}
    assert all(path.startswith(b"x") for path in gaps)


def test_an_ignore_file_that_changes_after_git_was_asked_is_asked_about_again(
    root: Path, scanner: Scanner
) -> None:
    (root / "z" / ".gitignore").write_text("nothing\n")
    (root / "a" / "b").write_text("read before z/.gitignore")
    settle()
    first = object_id(BLOB, b"read before z/.gitignore")
    scanner.when_read = once(lambda: (root / "z" / ".gitignore").write_text("f\n"), first)
    scanner.run()
    scanner.when_read = lambda _: None
    settle()
    scanner.run()
    assert b"z/f" in scanner.asked


def test_a_file_that_git_is_told_to_track_during_a_capture_is_held_by_the_next_one(
    root: Path, scanner: Scanner
) -> None:
    (root / ".gitignore").write_text("build/\n")
    (root / "build").mkdir()
    (root / "build" / "keep.txt").write_text("1")
    (root / "build" / "first.txt").write_text("1")
    git(root, "add", "--force", "build/first.txt")
    settle()
    first = object_id(BLOB, b"1")
    scanner.when_read = once(lambda: git(root, "add", "-f", "build/keep.txt"), first)
    scanner.run()
    scanner.when_read = lambda _: None
    assert b"build/keep.txt" in held(scanner, scanner.run())


def test_a_capture_in_which_nothing_moves_looks_at_no_directory_twice(
    root: Path, scanner: Scanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    scanner.run()
    looked: list[bytes] = []
    real = os.stat

    def counting(path: bytes, **options: object) -> os.stat_result:
        looked.append(path)
        return real(path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", counting)
    scanner.run()
    inside = [path for path in map(os.fsencode, looked) if not path.startswith(b"/")]
    assert len(inside) == len(set(inside)) == 5 + 4  # directories, files


_RACE = """
import os, sys, time
places = [os.path.join(sys.argv[1], d) for d in sys.argv[2:]]
at = 0
print("ready", flush=True)
while True:
    for name in ("f1", "f2", "f3"):
        os.rename(f"{places[at]}/{name}", f"{places[1 - at]}/{name}")
    at = 1 - at
    if time.monotonic() % 0.4 < 0.2:
        time.sleep(0.2)
"""


@pytest.mark.slow
def test_files_that_another_process_moves_to_and_fro_are_in_every_capture_or_named(
    workspace: Path, scanner: Scanner, soak: bool
) -> None:
    for name in ("a/b", "m", "z"):
        (workspace / name).mkdir(parents=True)
        for number in range(20):
            (workspace / name / f"{number}").write_text(name)
    for name in ("f1", "f2", "f3"):
        (workspace / "a" / "b" / name).write_text(name)
    settle()
    scanner.run()
    captures = 3000 if soak else 200
    named = 0
    with Started(
        [sys.executable, "-c", _RACE, workspace, "a/b", "z"], stdout=subprocess.PIPE
    ) as mover:
        assert mover.stdout is not None
        mover.stdout.readline()
        try:
            for number in range(captures):
                (workspace / "m" / "0").write_text(str(number))
                scanned = scanner.run(rehash=number % 3 == 0)
                here = {path.rpartition(b"/")[2] for path in held(scanner, scanned)}
                reason = scanned.coverage.reason_for
                for lost in {b"f1", b"f2", b"f3"} - here:
                    assert reason(b"a/b/" + lost) or reason(b"z/" + lost), number
                named += not scanned.coverage.complete
        finally:
            mover.kill()
    assert named < captures  # it comes to rest for some of them


def test_a_rewind_deletes_nothing_in_a_directory_that_did_not_hold_still(workspace: Path) -> None:
    cli = Cli(workspace)
    (workspace / "a").mkdir()
    (workspace / "a" / "f").write_text("1")
    (workspace / "keep").write_text("1")
    with Started(
        [
            sys.executable,
            "-c",
            "import os\nprint(1, flush=True)\n"
            "while True:\n os.rename('a/f', 'a/g')\n os.rename('a/g', 'a/f')",
        ],
        cwd=workspace,
        stdout=subprocess.PIPE,
    ) as mover:
        assert mover.stdout is not None
        mover.stdout.readline()
        try:
            for _ in range(20):
                made = cli.ok("--json", "checkpoint").json
                if not made["complete"]:
                    break
        finally:
            mover.kill()
    if made["complete"]:
        pytest.skip("the directory held still each time")
    (workspace / "a" / "mine").write_text("mine")
    (workspace / "b").write_text("new")
    cli.run("rewind", made["id"], "--files", "--yes")
    assert (workspace / "a" / "mine").read_text() == "mine"
    assert not (workspace / "b").exists()
