"""What is mounted where."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from takeback.worktree import glance
from takeback.worktree.glance import Mounts


def test_a_workspace_without_mounts_has_none_below_it(tmp_path: Path) -> None:
    assert Mounts(os.fsencode(tmp_path), tmp_path.stat().st_dev).below == set()


def test_a_bind_mount_is_known_by_its_name_blanks_and_all(tmp_path: Path) -> None:
    elsewhere, point = tmp_path / "elsewhere", tmp_path / "workspace" / "a b\\c"
    elsewhere.mkdir()
    point.mkdir(parents=True)
    if subprocess.run(["mount", "--bind", elsewhere, point], check=False).returncode != 0:
        pytest.skip("bind mounts need root and are not allowed here")
    try:
        workspace = tmp_path / "workspace"
        found = Mounts(os.fsencode(workspace), workspace.stat().st_dev)
    finally:
        subprocess.run(["umount", point], check=True)
    assert found.below == {b"a b\\c"}


@pytest.mark.parametrize(
    ("kind", "distrusted"), [(b"ext4", False), (b"nfs4", True), (b"fuse.sshfs", True)]
)
def test_times_of_network_file_systems_are_distrusted(
    monkeypatch: pytest.MonkeyPatch, kind: bytes, distrusted: bool
) -> None:
    line = b"36 35 98:0 / /mnt rw,noatime master:1 - %s server:/home rw" % kind
    monkeypatch.setattr(glance, "_lines", lambda: [line])
    assert Mounts(b"/mnt", os.makedev(98, 0)).times_distrusted is distrusted
