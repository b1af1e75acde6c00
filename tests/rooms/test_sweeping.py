"""Sweeps that nobody asks for: when they are started, and how far they go."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from takeback import config, durable, kernel
from takeback.app.engine import Engine
from takeback.errors import UsageError
from takeback.events import hear
from takeback.model.operation import Pruned
from takeback.model.retention import DAY
from takeback.paths import config_file
from takeback.retention import sweep as sweep_room
from takeback.retention.sweep import sweep
from takeback.store import store
from takeback.store.repack import size_on_disk
from tests.support.agent import speaker
from tests.support.engine import TestClock
from tests.support.faults import Faults

LONG_AGO = time.time() - 40 * DAY


@pytest.fixture
def old(workspace: Path) -> Iterator[Engine]:
    """A workspace with three turns of long ago."""
    (workspace / "a").write_text("0")
    with Engine.open(workspace, clock=TestClock(LONG_AGO)) as tb:
        work(tb, workspace)
        yield tb


def work(tb: Engine, workspace: Path) -> None:
    session = tb.session(agent="mine", native="old")
    for number in range(3):
        with session.turn(f"turn {number}"):
            (workspace / "a").write_bytes(os.urandom(1_000_000))


def settings(**values: object) -> None:
    place = Path(config_file(os.environ))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("".join(f"{name} = {_toml(value)}\n" for name, value in values.items()))


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def told(workspace: Path, event: str) -> None:
    """An event that an agent tells, all of its way."""
    heard = hear(
        speaker(),
        lambda: {"event": event, "agent": "mine", "session": "new", "cwd": str(workspace)},
    )
    assert heard.failure is None


def is_swept(tb: Engine) -> bool:
    return any(isinstance(one, Pruned) and one.swept for one in tb.operations())


def within(seconds: float, is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_a_session_that_starts_is_a_time_for_a_sweep_within_its_budget(
    old: Engine, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    settings(startup_budget_ms=0, keep_newest=0)
    told(workspace, "session_start")
    assert not within(1.0, lambda: is_swept(old))
    settings(startup_budget_ms=60_000, keep_newest=0)
    told(workspace, "session_start")
    assert within(30, lambda: is_swept(old))


def test_so_is_one_that_ends_and_a_turn_that_ends_fifty_checkpoints_later(
    old: Engine, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    settings(startup_budget_ms=0, keep_newest=0)
    told(workspace, "session_start")
    told(workspace, "session_end")
    assert within(30, lambda: is_swept(old))
    work(old, workspace)
    swept = len([one for one in old.operations() if isinstance(one, Pruned)])
    number = f"151 {kernel.run_of_machine()}\n"  # others may have taken number 150
    Path(old.store_directory, "sequence").write_text(number)
    told(workspace, "prompt")
    told(workspace, "turn_end")
    assert within(
        30, lambda: len([one for one in old.operations() if isinstance(one, Pruned)]) > swept
    )


def test_a_sweep_whose_time_is_over_does_nothing(old: Engine) -> None:
    keeping = old._upkeep().replace(clock=TestClock(time.time()))
    keeping = keeping.replace(bounds=keeping.bounds.replace(keep_newest=0))
    assert sweep(keeping.replace(until=time.monotonic() - 1)) is None
    assert not is_swept(old)
    made = sweep(keeping.replace(until=time.monotonic() + 60))
    assert made is not None
    assert made.dropped


def test_the_budget_bounds_the_sweep_at_a_start_and_no_other(old: Engine) -> None:
    settings(startup_budget_ms=0.001, keep_newest=0)
    sweep_room.run(old.store_directory, at_start=True)
    assert not is_swept(old)
    sweep_room.run(old.store_directory, at_start=False)
    assert is_swept(old)


def test_a_sweep_that_fails_on_a_full_disk_ends_quietly_and_says_so_when_there_is_room_for_it(
    old: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(Faults):
        """Nothing can be written but a line of the log."""

        def step(self, name: str) -> None:
            if name != "append":
                super().step(name)

    monkeypatch.setattr(durable, "faults", Full(at=1, errno=errno.ENOSPC, sticky=True))
    sweep_room.run(old.store_directory, at_start=False)
    monkeypatch.setattr(durable, "faults", None)
    assert "a sweep failed" in Path(old.store_directory, "log").read_text()
    settings(keep_newest=0)
    sweep_room.run(old.store_directory, at_start=False)
    assert is_swept(old)


def test_a_sweep_never_waits_for_somebody_who_works_here(old: Engine, workspace: Path) -> None:
    settings(keep_newest=0, lock_wait_seconds=24 * 3600)
    with old._context.locked():
        sweep_room.run(old.store_directory, at_start=False)
    assert not is_swept(old)
    sweep_room.run(old.store_directory, at_start=False)
    assert is_swept(old)


def test_all_workspaces_together_have_a_bound_the_least_used_first(
    old: Engine, workspace: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with Engine.open(other) as tb:
        work(tb, other)
        size = tb.status().bytes
        os.utime(Path(old.store_directory, "sequence"), (1, 1))
        settings(max_age_days=0, keep_newest=0, thin=True, max_total_bytes=0)
        sweep_room.run(tb.store_directory, at_start=False)
        assert not is_swept(old)
        settings(max_age_days=0, keep_newest=0, max_total_bytes=size + old.status().bytes - 500_000)
        sweep_room.run(tb.store_directory, at_start=False)
        assert is_swept(old)
        assert not is_swept(tb)


def at_rest() -> None:
    """Waits for the processes in the background that events of this one have started."""
    assert within(60, _has_none_running)


def _has_none_running() -> bool:
    store._wait_for_ended()
    return not store._running


def turn_of(size: int, workspace: Path, name: str = "a") -> None:
    told(workspace, "prompt")
    (workspace / name).write_bytes(os.urandom(size))
    told(workspace, "turn_end")


def bytes_of_store(tb: Engine) -> int:
    return size_on_disk(tb._context.store).all


@pytest.fixture
def bounded(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.chdir(workspace)
    settings(startup_budget_ms=0, keep_newest=2, undo_grace_days=0, max_bytes=BOUND)
    with Engine.open(workspace) as tb:
        yield tb
    at_rest()


BOUND = 4 << 20
TURN = 400_000


def test_a_session_of_large_turns_is_never_over_its_bound_by_more_than_a_quarter(
    bounded: Engine, workspace: Path
) -> None:
    for _ in range(24):
        turn_of(TURN, workspace)
        at_rest()
        assert bytes_of_store(bounded) <= BOUND * 5 // 4 + TURN
    assert is_swept(bounded)


def test_so_is_one_of_checkpoints_by_hand(bounded: Engine, workspace: Path) -> None:
    for _ in range(24):
        (workspace / "a").write_bytes(os.urandom(TURN))
        bounded.checkpoint()
        at_rest()
        assert bytes_of_store(bounded) <= BOUND * 5 // 4 + TURN


def test_the_next_event_begins_a_sweep_again_that_was_killed(
    bounded: Engine, workspace: Path
) -> None:
    for number in range(24):
        turn_of(TURN, workspace)
        if number % 2:
            kill_what_began(delay=0.05 * number)
    turn_of(1, workspace, "b")
    at_rest()
    turn_of(1, workspace, "b")  # the one before may have found the sweep of one killed too often
    at_rest()
    assert bytes_of_store(bounded) <= BOUND * 9 // 8
    assert bounded.verify().problems == ()


def kill_what_began(delay: float) -> None:
    """Kills the processes in the background, wherever they are by then."""
    time.sleep(delay)
    store._wait_for_ended()
    for process in store._running:
        os.kill(process, signal.SIGKILL)
    at_rest()


def test_what_cannot_be_dropped_is_named_and_not_swept_for_at_each_capture(
    bounded: Engine, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(startup_budget_ms=0, keep_newest=100, max_bytes=BOUND)
    for _ in range(14):
        turn_of(TURN, workspace)
        at_rest()
    assert bounded.status().over_budget
    started: list[str] = []
    spawn = store.spawn

    def counted(module: str, directory: str, function: str = "main") -> None:
        started.append(module)
        spawn(module, directory, function)

    monkeypatch.setattr(store, "spawn", counted)
    for _ in range(6):
        turn_of(TURN // 10, workspace, "b")
        at_rest()
    assert len(started) <= 1
    assert bounded.status().is_at_floor


def test_sizes_are_said_in_words_or_numbers() -> None:
    said: dict[str | float, int] = {
        "2GB": 2 << 30,
        "500 MB": 500 << 20,
        "1.5k": 1536,
        7: 7,
        "7": 7,
        "1 TiB": 1 << 40,
    }
    assert {text: config.bytes_of(text) for text in said} == said
    for wrong in ("", "GB", "two", "-1GB", "nan", True, ["1"]):
        with pytest.raises(UsageError, match="max_bytes must be a number of bytes"):
            config.checked("max_bytes", wrong)
