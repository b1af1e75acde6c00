"""The name of a machine: made once, kept through moves, and never shared by a copy."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from takeback import durable
from takeback.store.location import known_machine, machine_of
from tests.support.engine import KillAt, Killed


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "one home"
    made.mkdir()
    return made


def test_it_is_made_once_and_looking_makes_none(home: Path) -> None:
    assert known_machine(str(home)) is None
    assert list(home.iterdir()) == []
    made = machine_of(str(home))
    assert machine_of(str(home)) == known_machine(str(home)) == made
    assert [path.name for path in home.iterdir()] == ["machine"]
    assert (home / "machine").stat().st_mode & 0o777 == 0o600
    assert os.uname().nodename not in re.split("[ \n-]", (home / "machine").read_text())


def test_a_home_that_is_moved_stays_the_same_machine(home: Path) -> None:
    made = machine_of(str(home))
    moved = home.rename(home.parent / "elsewhere")
    assert known_machine(str(moved)) == made


def test_a_copy_is_a_machine_of_its_own(home: Path) -> None:
    """Also one that was restored from a backup: what it does goes on from what it came with."""
    made = machine_of(str(home))
    copy = home.parent / "copy"
    shutil.copytree(home, copy, copy_function=shutil.copy2)
    assert known_machine(str(copy)) is None
    other = machine_of(str(copy))
    assert other not in (None, made)
    assert (machine_of(str(copy)), machine_of(str(home))) == (other, made)


def test_a_file_that_was_put_into_another_home_names_another(home: Path, tmp_path: Path) -> None:
    machine_of(str(home))
    (tmp_path / "other").mkdir()
    (home / "machine").rename(tmp_path / "other" / "machine")
    assert known_machine(str(tmp_path / "other")) is None


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"abc", b"../../x 1-2\n", b"x" * 10_000])
def test_what_is_no_name_is_none(home: Path, data: bytes) -> None:
    (home / "machine").write_bytes(data)
    assert known_machine(str(home)) is None
    assert machine_of(str(home)) == known_machine(str(home))


def test_a_link_or_a_fifo_is_no_name_and_nobody_waits(home: Path, tmp_path: Path) -> None:
    (tmp_path / "target").write_text("untouched")
    (home / "machine").symlink_to(tmp_path / "target")
    assert known_machine(str(home)) is None
    machine_of(str(home))
    assert (tmp_path / "target").read_text() == "untouched"
    (home / "machine").unlink()
    os.mkfifo(home / "machine")
    assert known_machine(str(home)) is None
    assert machine_of(str(home)) == known_machine(str(home))


@pytest.mark.parametrize("step", ["create", "write", "sync", "rename"])
def test_a_kill_leaves_a_name_or_none(
    home: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(durable, "faults", KillAt(step))
        try:
            machine_of(str(home))
        except Killed:
            pass
    left = known_machine(str(home))
    made = machine_of(str(home))
    assert left in (None, made)
    assert [path.name for path in home.iterdir()] == ["machine"]


def test_a_directory_in_the_place_of_the_name_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "machine").mkdir()
    (tmp_path / "machine" / "of somebody").write_text("x")
    made = machine_of(str(tmp_path))
    assert known_machine(str(tmp_path)) == made
    [aside] = tmp_path.glob("machine.*")
    assert (aside / "of somebody").read_text() == "x"
