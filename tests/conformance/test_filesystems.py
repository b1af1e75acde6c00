"""Rewinds on other file systems than the one the tests lie on, each mounted for the test alone."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support.mounts import in_own_mounts

pytestmark = pytest.mark.skipif(os.uname().sysname != "Linux", reason="mounts as on Linux")

JOURNEY = Path(__file__).parents[1] / "support" / "there_and_back.py"

TMPFS = "mount -t tmpfs tmpfs ws"
OVERLAY = """
mkdir -p lower upper work ground
mount -t tmpfs tmpfs ground
mkdir ground/upper ground/work
"$py" "$journey" fill lower
mount -t overlay overlay -o lowerdir=lower,upperdir=ground/upper,workdir=ground/work ws
"""
EXT4_FOLDING = """
truncate -s 64M disk
mkfs.ext4 -q -O casefold -E encoding=utf8 disk
mount -o loop disk ws
rmdir ws/lost+found
chattr +F ws
"""
XFS = """
truncate -s 320M disk
mkfs.xfs -q disk
mount -o loop disk ws
"""
BTRFS = """
truncate -s 320M disk
mkfs.btrfs -q disk > made
mount -o loop disk ws
"""
VFAT = """
truncate -s 64M disk
mkfs.vfat disk > /dev/null
mount -o loop,fmask=0022,dmask=0022 disk ws
"""


@pytest.mark.parametrize(
    ("mount", "needs"),
    [
        pytest.param(TMPFS, (), id="tmpfs"),
        pytest.param(OVERLAY, (), id="overlay"),
        pytest.param(VFAT, ("mkfs.vfat",), id="vfat"),
        pytest.param(XFS, ("mkfs.xfs",), id="xfs"),
        pytest.param(BTRFS, ("mkfs.btrfs",), id="btrfs"),
        pytest.param(EXT4_FOLDING, ("mkfs.ext4", "chattr"), id="case-folding ext4"),
    ],
)
def test_there_and_back_is_exact(tmp_path: Path, mount: str, needs: tuple[str, ...]) -> None:
    """Capture, wreck, rewind, undo, redo: each time the tree is exactly the one it should be."""
    assert on_a_disk(tmp_path, mount, needs, '"$py" "$journey" travel ws')[-1] == "exact"


def on_a_disk(tmp_path: Path, mount: str, needs: tuple[str, ...], act: str) -> list[str]:
    """Does something in ``ws``, which is mounted so; returns the lines that are said."""
    path = os.pathsep.join((os.environ["PATH"], "/usr/sbin", "/sbin"))
    for tool in needs:
        if not any((Path(place) / tool).exists() for place in path.split(os.pathsep)):
            pytest.skip(f"{tool} is not installed, so this file system cannot be made")
    steps = "\n".join(f"{line} || exit 77" for line in mount.strip().splitlines())
    said = in_own_mounts(
        tmp_path,
        f"""
        PATH={path} py={sys.executable} journey={JOURNEY} PYTHONPATH={JOURNEY.parents[2]}
        export PATH PYTHONPATH
        mkdir ws
        if ! ( {steps} ) 2> why; then
            echo "cannot be mounted: $(cat why)"
            exit 0
        fi
        {act}
        """,
    )
    if said.startswith("cannot be mounted"):
        pytest.skip(said.strip())
    return said.splitlines()


STAYS_OPEN = """
import os, time
from pathlib import Path
from takeback import Takeback
with Takeback.open("ws") as tb:
    for number in range(5):
        with tb.session("mine", "s").turn(f"turn {number}") as turn:
            Path("ws", f"new {number}").write_bytes(b"new")
            time.sleep(0.1)  # so that no time of the directory is too young to be believed
        print(turn.after.files)
"""


def test_a_program_that_stays_open_captures_what_is_new_in_the_root(tmp_path: Path) -> None:
    """btrfs lists an open directory as it was when it was opened or rewound last."""
    (tmp_path / "stays_open.py").write_text(STAYS_OPEN)
    said = on_a_disk(tmp_path, BTRFS, ("mkfs.btrfs",), '"$py" stays_open.py')
    assert said == ["1", "2", "3", "4", "5"]


def test_a_directory_of_a_lower_layer_becomes_a_file_and_comes_back(tmp_path: Path) -> None:
    """overlayfs cannot rename it: it is emptied in its place."""
    said = in_own_mounts(
        tmp_path,
        r"""
        mkdir -p lower/flip/sub ground ws
        echo inside > lower/flip/sub/f
        echo more > lower/flip/g
        mount -t tmpfs tmpfs ground
        mkdir ground/upper ground/work
        if ! mount -t overlay overlay \
            -o lowerdir=lower,upperdir=ground/upper,workdir=ground/work ws 2> why; then
            echo "cannot be mounted: $(cat why)"; exit 0
        fi
        cd ws
        rm -r flip; echo a file > flip
        tb checkpoint -m file > ../log
        cd ..; umount ws; rm -rf ground/upper ground/work; mkdir ground/upper ground/work
        mount -t overlay overlay -o lowerdir=lower,upperdir=ground/upper,workdir=ground/work ws
        cd ws
        tb rewind file --files --yes --force > ../log 2>&1
        cat flip
        tb undo --yes --force > ../log 2>&1
        cat flip/sub/f flip/g
        tb redo --yes --force > ../log 2>&1
        cat flip
        ls -A
        """,
    )
    if said.startswith("cannot be mounted"):
        pytest.skip(said.strip())
    assert said.split("\n") == ["a file", "inside", "more", "a file", "flip", ""]
