"""All records of a store, read at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from takeback.context import Context
from takeback.store.history import Chains
from takeback.store.records import Record, read_record
from tests.support.engine import checkpoint


def texts(value: object) -> Iterator[str | bytes]:
    """Every text in a part of a record, keys too."""
    if isinstance(value, (str, bytes)):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from (*texts(key), *texts(one))
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)


def said(record: Record) -> Iterator[str | bytes]:
    yield from texts(record.meta)
    yield from record.entries


def test_what_records_say_alike_is_in_memory_once(context: Context, workspace: Path) -> None:
    """A sweep has thousands of records in memory, and most of what they say is the same."""
    for number in range(4):
        (workspace / "f").write_text(str(number))
        made = checkpoint(context)
    records = Chains(context.store).records_of(made.session)
    assert len(records) == 4
    for record in records:
        alone = read_record(context.store, record.oid)
        assert (record.meta, record.entries) == (alone.meta, alone.entries)
    found = [text for record in records for text in said(record)]
    assert len(set(map(id, found))) == len(set(found)) < len(found) / 2
