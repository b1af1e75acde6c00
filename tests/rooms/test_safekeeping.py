"""What stands in the way and is in no snapshot is saved, or it is said that it cannot be."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from takeback.capture.capture import capture
from takeback.context import Context
from takeback.model.coverage import Policy
from takeback.rewind.safekeeping import Safekeeping, Unsavable
from takeback.store.trees import Held
from takeback.worktree.read import Intake
from takeback.worktree.rules import LeftOut
from tests.support.engine import file_entry


def safekeeping(context: Context, *, save: bool = True) -> Safekeeping:
    with context.locked() as locked:
        captured = capture(locked)
        captured.keep()
    held = Held(context.store, captured.tree)
    intake, left_out = Intake(captured.sink), LeftOut(Policy())
    return Safekeeping(context.workspace.fd, intake, held, left_out, save=save)


@pytest.mark.parametrize("save", [True, False])
def test_an_ignored_file_is_kept_with_the_bits_of_its_parents(
    workspace: Path, context: Context, save: bool
) -> None:
    (workspace / ".gitignore").write_text("build/\n")
    (workspace / "build").mkdir()
    (workspace / "build").chmod(0o711)
    (workspace / "build" / "x").write_text("1")
    safe = safekeeping(context, save=save)
    assert safe.kept(b"build/x") == file_entry(b"1")
    assert safe.extra == {b"build/x": file_entry(b"1")}
    assert {path: entry.mode for path, entry in safe.parents.items()} == {b"build": 0o40711}


def test_a_directory_is_kept_however_deep_it_is(workspace: Path, context: Context) -> None:
    """Neither recursion nor one descriptor a level."""
    (workspace / ".gitignore").write_text("top/\n")
    fd = os.open(workspace, os.O_RDONLY)
    for name in ("top", *["d"] * 1200):
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("leaf", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=fd))
    os.close(fd)
    safe = safekeeping(context)
    inside = safe.inside(b"top")
    subprocess.run(["rm", "-rf", workspace / "top"], check=True)  # pytest's own way recurses
    assert [path for path, _ in inside] == [
        *(b"/".join([b"d"] * depth) for depth in range(1, 1201)),
        b"/".join([b"d"] * 1200) + b"/leaf",
    ]


@pytest.mark.parametrize("what", ["fifo", "repository"])
def test_what_is_never_read_cannot_be_saved(workspace: Path, context: Context, what: str) -> None:
    (workspace / "d" / "deep").mkdir(parents=True)
    if what == "fifo":
        os.mkfifo(workspace / "d" / "deep" / "pipe")
    else:
        (workspace / "d" / "deep" / ".git").mkdir()
    safe = safekeeping(context)
    with pytest.raises(Unsavable):
        safe.inside(b"d")
    assert safe.extra == {}


@pytest.mark.parametrize(
    ("change", "still"), [("nothing", True), ("bytes", False), ("mode", False), ("gone", False)]
)
def test_what_an_operation_made_is_still_that_or_not(
    workspace: Path, context: Context, change: str, still: bool
) -> None:
    (workspace / "f").write_text("1")
    (workspace / "f").chmod(0o644)
    safe = safekeeping(context)
    if change == "bytes":
        (workspace / "f").write_text("2")
    elif change == "mode":
        (workspace / "f").chmod(0o600)
    elif change == "gone":
        (workspace / "f").unlink()
    assert safe.is_still(b"f", file_entry(b"1")) is still
