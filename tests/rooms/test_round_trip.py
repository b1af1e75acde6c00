"""The round trip that ``doctor`` makes, and what is left of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback import durable
from takeback.check.doctor import check_round_trip
from takeback.git.process import find_git
from takeback.store.lock import Lock
from tests.support.engine import KillAt, Killed


def git() -> str:
    return find_git(os.environ)


@pytest.fixture
def home() -> Path:
    return Path(os.environ["TAKEBACK_HOME"])


def test_it_goes_there_and_back_and_leaves_nothing(home: Path) -> None:
    found = check_round_trip(os.environ, git)
    assert (found.state, found.about) == ("ok", "round trip"), found
    assert list(home.glob("doctor-*")) == []


@pytest.mark.parametrize("step", ["exchange", "rename", "unlink"])
def test_what_a_killed_one_left_is_removed_by_the_next(
    home: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    class KillAll(KillAt):
        """After a signal nothing cleans up."""

        def step(self, name: str) -> None:
            super().step(name)
            if self._left <= 0:
                raise Killed

    monkeypatch.setattr(durable, "faults", KillAll(step, 2))
    with pytest.raises(Killed):
        check_round_trip(os.environ, git)
    monkeypatch.setattr(durable, "faults", None)
    assert len(list(home.glob("doctor-*"))) == 1
    assert check_round_trip(os.environ, git).state == "ok"
    assert list(home.glob("doctor-*")) == []


def test_only_what_a_trip_made_is_taken_for_its_leftover(home: Path, tmp_path: Path) -> None:
    """A link by such a name leads to somebody's files; a note is a note."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "work").write_text("x")
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "doctor-0123456789ab").symlink_to(theirs)
    (home / "doctor-notes").mkdir()
    (home / "doctor-notes" / "mine").write_text("x")
    (home / "doctor-ffffffffffff").write_text("no directory")
    assert check_round_trip(os.environ, git).state == "ok"
    assert [path.name for path in theirs.iterdir()] == ["work"]
    assert (home / "doctor-notes" / "mine").exists()


def test_one_that_is_under_way_is_left_alone(home: Path) -> None:
    other = home / "doctor-0123456789ab"
    other.mkdir(parents=True)
    lock = Lock(str(other / "lock"))
    lock.acquire("another doctor", wait=0)
    assert check_round_trip(os.environ, git).state == "ok"
    assert other.exists()
    lock.release()
    check_round_trip(os.environ, git)
    assert not other.exists()


def test_a_disk_that_does_not_take_it_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def step(self, name: str) -> None:
            if name == "write":
                raise OSError(28, os.strerror(28))

    monkeypatch.setattr(durable, "faults", Full())
    found = check_round_trip(os.environ, git)
    assert found.state == "broken"
    assert "space" in found.message
    monkeypatch.setattr(durable, "faults", None)
    assert list(home.glob("doctor-*")) == []


def test_no_git_but_the_one_that_was_found_is_run(tmp_path: Path) -> None:
    """The real workspaces are not known to the scratch home; a PATH may lead into one."""
    planted = tmp_path / "project" / "bin"
    planted.mkdir(parents=True)
    (planted / "git").write_text(f'#!/bin/sh\ntouch {tmp_path}/witness\nexec {git()} "$@"\n')
    (planted / "git").chmod(0o755)
    environ = {**os.environ, "PATH": f"{planted}:{os.environ['PATH']}"}
    assert check_round_trip(environ, git).state == "ok"
    assert not (tmp_path / "witness").exists()
