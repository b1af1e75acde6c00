"""A program: wrecks a workspace and travels there and back, comparing every byte at each stop.

It runs where a test has mounted a file system for itself alone. ``fill DIR`` only makes the first
tree; ``travel DIR`` makes it unless it is there, prints ``exact`` and ends with 0 if it was.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tests.support.cli import Cli
from tests.support.trees import differences, tree_state


def fill(root: Path) -> None:
    """Makes every kind of path, as far as the file system has it."""
    (root / "flip" / "sub" / "empty").mkdir(parents=True)
    (root / "flip" / "sub" / "f").write_bytes(b"inside")
    (root / "back").write_bytes(b"a file")
    (root / "edited").write_bytes(b"one\n" * 5000)
    (root / "gone").write_bytes(b"comes back")
    (root / "Name").write_bytes(b"with a capital")
    (root / "many").mkdir()
    for number in range(80):
        (root / "many" / f"f{number}").write_bytes(b"then %d" % number)
    sparse = root / "sparse"
    with sparse.open("wb") as file:
        file.seek(1 << 20)
        file.write(b"end")
    try:
        (root / "link").symlink_to("edited")
    except OSError:
        pass  # vfat has none
    (root / "edited").chmod(0o755)


def wreck(root: Path) -> None:
    shutil.rmtree(root / "flip")
    (root / "flip").write_bytes(b"now a file")
    (root / "back").unlink()
    (root / "back" / "deep").mkdir(parents=True)
    (root / "back" / "deep" / "y").write_bytes(b"y")
    (root / "edited").write_bytes(b"two\n")
    (root / "gone").unlink()
    (root / "new").write_bytes(b"new")
    (root / "Name").write_bytes(b"changed")
    for number in range(80):
        (root / "many" / f"f{number}").write_bytes(b"now")
    (root / "sparse").write_bytes(b"short")


def travel(root: Path) -> None:
    cli = Cli(root)
    if not (root / "edited").exists():
        fill(root)
    cli.ok("checkpoint", "-m", "then")
    then = tree_state(root)
    wreck(root)
    now = tree_state(root)
    for words, wanted in (
        (("rewind", "then", "--files", "--yes", "--force"), then),
        (("undo", "--yes"), now),
        (("redo", "--yes"), then),
        (("undo", "--yes"), now),
    ):
        answer = cli.ok(*words)
        lines = differences(wanted, tree_state(root))
        assert not lines, "\n".join([str(answer), *lines])
    sys.stdout.write("exact\n")


if __name__ == "__main__":
    {"fill": fill, "travel": travel}[sys.argv[1]](Path(os.path.abspath(sys.argv[2])))
