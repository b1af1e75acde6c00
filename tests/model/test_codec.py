"""Values as records: what is written reads back, and what is not of the right kind does not."""

from __future__ import annotations

import pytest

from takeback.model import codec, json_text
from takeback.model.checkpoint import FILE, Change, Entry
from takeback.model.ids import SessionId
from takeback.model.value import Value


class Small(Value):
    name: SessionId
    number: int


class Thing(Small):
    """One field of every type that a record can hold."""

    size: float
    is_new: bool
    path: bytes
    paths: tuple[bytes, ...]
    word: str | None = None
    changes: tuple[Change, ...] = ()


THING = Thing(
    name=SessionId("s \u2603 caf\udce9"),
    number=3,
    size=0.5,
    is_new=True,
    path=b"caf\xe9\n",
    paths=(b"a", b"\xff/b"),
    word="w",
    changes=(Change(b"x", None, Entry(FILE | 0o600, b"\1" * 20)),),
)


def test_a_value_reads_back_from_its_record_with_the_fields_that_it_inherits() -> None:
    record = json_text.loads(json_text.dumps(codec.encode(THING)))
    assert isinstance(record, dict)
    assert list(record) == [
        "name",
        "number",
        "size",
        "is_new",
        "path",
        "paths",
        "word",
        "changes",
    ]
    assert codec.decode(Thing, record) == THING
    assert codec.decode(Small, record) == Small(SessionId("s \u2603 caf\udce9"), 3)


def test_what_a_record_lacks_has_its_default_and_what_it_has_besides_is_passed_over() -> None:
    record = codec.encode(THING)
    del record["word"], record["changes"]
    assert codec.decode(Thing, {**record, "colour": 1}) == THING.replace(word=None, changes=())
    del record["size"]
    with pytest.raises(ValueError, match="it has no size"):
        codec.decode(Thing, record)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", None),
        ("name", 7),
        ("number", 1.5),
        ("number", True),
        ("number", "1"),
        ("size", "large"),
        ("size", 10**400),
        ("is_new", 1),
        ("path", None),
        ("path", "\ud83d"),
        ("paths", "ab"),
        ("paths", {"a": 1}),
        ("paths", [1]),
        ("word", []),
        ("changes", [["a"]]),
        ("changes", [["a", 1, 2]]),
        ("changes", [["a", [1, "xy"], None]]),
    ],
)
def test_a_field_of_the_wrong_kind_is_named(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"its {field} is of the wrong kind"):
        codec.decode(Thing, {**codec.encode(THING), field: value})


def test_a_type_that_nobody_has_written_down_yet_is_noticed_at_once() -> None:
    class Odd(Value):
        shape: complex

    with pytest.raises(KeyError, match="complex"):
        codec.encode(Odd(1j))
