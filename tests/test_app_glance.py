"""A glance: what can be seen by looking alone, and that nothing is left open afterwards."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from takeback import durable
from takeback.app.engine import Engine
from tests.support.engine import KillAt, Killed
from tests.support.journey import write_files
from tests.support.processes import lock_holder


@pytest.fixture
def kept(workspace: Path) -> Path:
    """A workspace with two checkpoints, and a ledger that has both."""
    with Engine.open(workspace) as tb:
        for content in (b"1\n", b"2\n"):
            write_files(workspace, {"a.txt": content})
            tb.checkpoint()
        tb.browse()
    return workspace


def listed(tb: Engine) -> list[str]:
    return [row.id for row in tb.browse().rows]


def test_what_the_ledger_has_is_seen(kept: Path) -> None:
    with Engine.open(kept) as tb:
        seen = tb.at_a_glance(listed)
        assert seen is not None
        assert len(seen) == 2
        assert seen == listed(tb)


def test_nothing_is_left_open_for_another_thread_to_stumble_over(kept: Path) -> None:
    tb = Engine.open(kept)
    seen = tb.at_a_glance(listed)
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(listed, tb).result(60) == seen
        thread.submit(tb.close).result(60)


def test_a_ledger_that_is_behind_is_not_taken_for_all_there_is(kept: Path) -> None:
    with Engine.open(kept) as tb:
        write_files(kept, {"a.txt": b"3\n"})
        tb.checkpoint()
    with Engine.open(kept) as tb:
        assert tb.at_a_glance(listed) is None
        assert len(listed(tb)) == 3
        assert tb.at_a_glance(listed) == listed(tb)


def test_without_a_ledger_none_is_made(kept: Path) -> None:
    with Engine.open(kept) as tb:
        ledger = Path(tb.store_directory, "ledger.db")
        for file in ledger.parent.glob("ledger.db*"):
            file.unlink()
        assert tb.at_a_glance(listed) is None
        assert not ledger.exists()


def test_a_damaged_ledger_is_left_as_it_is(kept: Path) -> None:
    with Engine.open(kept) as tb:
        ledger = Path(tb.store_directory, "ledger.db")
        for file in ledger.parent.glob("ledger.db-*"):
            file.unlink()
        ledger.write_bytes(b"no database" * 1000)
        assert tb.at_a_glance(listed) is None
        assert ledger.read_bytes() == b"no database" * 1000
        assert len(listed(tb)) == 2


def test_after_an_interrupted_operation_nobody_looks_before_it_is_finished(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine.open(kept) as tb, monkeypatch.context() as patch:
        patch.setattr(durable, "faults", KillAt("exchange"))
        with pytest.raises(Killed):
            tb.rewind("@~1")
    with Engine.open(kept) as tb:
        assert tb.interrupted
        assert tb.at_a_glance(listed) is None
        assert tb.interrupted


def test_the_lock_of_another_is_not_waited_for(kept: Path) -> None:
    with Engine.open(kept) as tb, lock_holder(str(Path(tb.store_directory, "lock"))):
        assert len(tb.at_a_glance(listed) or ()) == 2
