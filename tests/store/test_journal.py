"""The journal of an operation that is under way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import durable
from takeback.context import Context, LockedContext
from takeback.errors import StoreDamaged
from takeback.store import journal


@pytest.fixture
def context(context: Context) -> Iterator[LockedContext]:
    """The workspace, opened, and locked for as long as a test lasts."""
    with context.locked() as locked:
        yield locked


def test_a_journal_is_there_from_its_writing_to_its_removal(context: LockedContext) -> None:
    store = context.store
    assert not journal.exists(store)
    assert journal.read(store) is None
    journal.write(context.lock, {"id": "x", "paths": ["\udcff"]})
    assert journal.exists(store)
    assert journal.read(store) == {"v": 1, "id": "x", "paths": ["\udcff"]}
    journal.write(context.lock, {"id": "y"})
    assert journal.read(store) == {"v": 1, "id": "y"}
    journal.remove(context.lock)
    assert not journal.exists(store)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"v": 2}', b'{"id": "x"}', b"\xff\xfe"])
def test_a_journal_that_does_not_read_back_is_damage_and_can_be_set_aside(
    context: LockedContext, data: bytes
) -> None:
    path = Path(context.store.path("journal"))
    path.write_bytes(data)
    with pytest.raises(StoreDamaged, match="not readable") as raised:
        journal.read(context.store)
    assert raised.value.hint == "run: takeback doctor --fix"
    aside = journal.set_aside(context.lock)
    assert Path(aside).read_bytes() == data
    assert not journal.exists(context.store)


def test_each_flipped_bit_of_a_journal_is_damage(context: LockedContext) -> None:
    """It says which files to replace by what: a name with another letter is another file."""
    journal.write(context.lock, {"id": "x", "units": [{"path": "a.txt", "old": None}]})
    path = Path(context.store.path("journal"))
    good = path.read_bytes()
    for bit in range(8 * len(good)):
        data = bytearray(good)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        with pytest.raises(StoreDamaged, match="not readable"):
            journal.read(context.store)
    path.write_bytes(good)
    assert journal.read(context.store) is not None


def test_a_journal_is_flushed_before_it_is_relied_on(
    context: LockedContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []

    class Recorder:
        def step(self, name: str) -> None:
            steps.append(name)

    monkeypatch.setattr(durable, "faults", Recorder())
    journal.write(context.lock, {})
    assert steps == ["create", "write", "sync", "rename", "sync"]
    steps.clear()
    journal.remove(context.lock)
    assert steps == ["unlink", "sync"]
