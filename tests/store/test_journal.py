"""The journal of an operation that is under way."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback import durable
from takeback.errors import StoreDamaged
from takeback.ops.context import Context
from takeback.store import journal


def test_a_journal_is_there_from_its_writing_to_its_removal(context: Context) -> None:
    store = context.store
    assert not journal.exists(store)
    assert journal.read(store) is None
    journal.write(store, {"id": "x", "paths": ["\udcff"]})
    assert journal.exists(store)
    assert journal.read(store) == {"v": 1, "id": "x", "paths": ["\udcff"]}
    journal.write(store, {"id": "y"})
    assert journal.read(store) == {"v": 1, "id": "y"}
    journal.remove(store)
    assert not journal.exists(store)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"v": 2}', b'{"id": "x"}', b"\xff\xfe"])
def test_a_journal_that_does_not_read_back_is_damage_and_can_be_set_aside(
    context: Context, data: bytes
) -> None:
    path = Path(context.store.path("journal"))
    path.write_bytes(data)
    with pytest.raises(StoreDamaged, match="not readable") as raised:
        journal.read(context.store)
    assert raised.value.hint == "run: takeback doctor"
    aside = journal.set_aside(context.store)
    assert Path(aside).read_bytes() == data
    assert not journal.exists(context.store)


def test_a_journal_is_flushed_before_it_is_relied_on(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []

    class Recorder:
        def step(self, name: str) -> None:
            steps.append(name)

    monkeypatch.setattr(durable, "faults", Recorder())
    journal.write(context.store, {})
    assert steps == ["create", "write", "sync", "rename", "sync"]
    steps.clear()
    journal.remove(context.store)
    assert steps == ["unlink", "sync"]
