"""A directory's permission bits are set if they are still the old ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import durable
from takeback.model.checkpoint import DIRECTORY, Entry
from takeback.worktree.apply import MODE_SET, Unit, set_directory_mode
from takeback.worktree.resume import CHANGED
from tests.support.engine import KillAt, Killed


@pytest.fixture
def parent(workspace: Path) -> Iterator[int]:
    (workspace / "d").mkdir()
    (workspace / "d" / "inside").write_text("stays")
    fd = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def unit(old: int, new: int) -> Unit:
    return Unit(0, b"d", Entry(DIRECTORY | old, b""), Entry(DIRECTORY | new, b""))


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o7777


@pytest.mark.parametrize("new", [0o700, 0o750, 0o777, 0o500])
def test_the_bits_become_the_new_ones(workspace: Path, parent: int, new: int) -> None:
    (workspace / "d").chmod(0o755)
    assert set_directory_mode(parent, unit(0o755, new)) == MODE_SET
    assert mode_of(workspace / "d") == new
    assert (workspace / "d" / "inside").read_text() == "stays"


def test_bits_that_are_right_already_are_not_touched(workspace: Path, parent: int) -> None:
    (workspace / "d").chmod(0o700)
    before = (workspace / "d").stat().st_ctime_ns
    assert set_directory_mode(parent, unit(0o755, 0o700)) is None
    assert (workspace / "d").stat().st_ctime_ns == before


def test_bits_that_somebody_changed_meanwhile_are_left_alone(workspace: Path, parent: int) -> None:
    (workspace / "d").chmod(0o711)
    assert set_directory_mode(parent, unit(0o755, 0o700)) == CHANGED
    assert mode_of(workspace / "d") == 0o711


def test_a_directory_that_became_a_link_is_not_followed(
    workspace: Path, parent: int, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir(mode=0o755)
    (tmp_path / "outside").chmod(0o755)
    (workspace / "d").rename(workspace / "away")
    (workspace / "d").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError, match="d"):
        set_directory_mode(parent, unit(0o755, 0o700))
    assert mode_of(tmp_path / "outside") == 0o755


@pytest.mark.parametrize("kind", ["gone", "file"])
def test_what_is_no_directory_any_more_is_an_error(workspace: Path, parent: int, kind: str) -> None:
    (workspace / "d").rename(workspace / "away")
    if kind == "file":
        (workspace / "d").write_text("x")
        (workspace / "d").chmod(0o755)
    with pytest.raises(OSError, match="d"):
        set_directory_mode(parent, unit(0o755, 0o700))
    if kind == "file":
        assert mode_of(workspace / "d") == 0o755


def test_a_kill_before_the_change_leaves_the_old_bits_and_nothing_open(
    workspace: Path, parent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "d").chmod(0o755)
    before = os.listdir("/proc/self/fd")
    with monkeypatch.context() as patch:
        patch.setattr(durable, "faults", KillAt("chmod"))
        with pytest.raises(Killed):
            set_directory_mode(parent, unit(0o755, 0o700))
    assert mode_of(workspace / "d") == 0o755
    assert len(os.listdir("/proc/self/fd")) == len(before)
    assert set_directory_mode(parent, unit(0o755, 0o700)) == MODE_SET


@pytest.mark.parametrize("special", [0o2000, 0o1000, 0o3000])
def test_setgid_and_sticky_stay_as_they_are(workspace: Path, parent: int, special: int) -> None:
    (workspace / "d").chmod(special | 0o755)
    assert set_directory_mode(parent, unit(0o755, 0o700)) == MODE_SET
    assert mode_of(workspace / "d") == special | 0o700


def test_the_root_itself_has_no_name(workspace: Path, parent: int) -> None:
    workspace.chmod(0o755)
    assert set_directory_mode(parent, unit(0o755, 0o710).replace(path=b"")) == MODE_SET
    assert mode_of(workspace) == 0o710
