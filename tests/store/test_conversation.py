"""Conversations in the store: every byte comes back, and an append costs what is new."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeback.context import Context, LockedContext
from takeback.errors import StoreDamaged
from takeback.git.objects import BLOB, object_id
from takeback.store.conversation import PIECE, Part, read_conversation, write_conversation
from takeback.store.sink import PackSink
from tests.support.engine import garble, packs_of

GROUP = 128 * PIECE


@pytest.fixture
def context(context: Context) -> Iterator[LockedContext]:
    """The workspace, opened, and locked for as long as a test lasts."""
    with context.locked() as locked:
        yield locked


def keep(context: LockedContext, *parts: bytes) -> bytes:
    """Keeps a conversation and returns its tree."""
    sink = PackSink(context.lock)
    tree = write_conversation(sink, [*map(Part, parts)])
    sink.publish()
    return tree


def size_of_packs(context: LockedContext) -> int:
    return sum(pack.stat().st_size for pack in packs_of(context.store))


def lines(size: int, seed: int = 0) -> bytes:
    """Returns JSON lines such as an agent writes: words, ids, a bit of code."""
    chance = random.Random(seed)
    words = [f"{chance.getrandbits(32):x}" for _ in range(2000)]
    found = []
    length = 0
    while length < size:
        text = " ".join(chance.choices(words, k=120))
        line = json.dumps({"uuid": f"{chance.getrandbits(128):032x}", "role": "x", "text": text})
        found.append(line)
        length += len(line) + 1
    return ("\n".join(found) + "\n").encode()[:size]


@pytest.mark.parametrize(
    "parts",
    [
        (),
        (b"",),
        (b"x",),
        (b'{"role": "user"}\n',),
        (bytes(range(256)) * 10,),
        (b"a" * (PIECE - 1),),
        (b"a" * PIECE,),
        (b"a" * (PIECE + 1),),
        (b"a" * GROUP,),
        (b"a" * (GROUP + 1),),
        (b"", b"second", b""),
        tuple(b"%d" % number for number in range(25)),
    ],
    ids=lambda parts: f"{len(parts)} of {sum(map(len, parts))}",
)
def test_every_byte_of_every_file_comes_back(
    context: LockedContext, parts: tuple[bytes, ...]
) -> None:
    assert read_conversation(context.store, keep(context, *parts)) == parts


def test_more_pieces_than_fit_into_a_group_come_back_in_their_order(context: LockedContext) -> None:
    data = b"".join(b"%07d\n" % number for number in range(2 * GROUP // 8 + 5000))
    assert len(data) > 2 * GROUP
    older = lines(3 * PIECE)
    assert read_conversation(context.store, keep(context, older, data)) == (older, data)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.binary(min_size=1, max_size=20), st.integers(0, 3 * PIECE)).map(
            lambda drawn: (drawn[0] * (drawn[1] // len(drawn[0]) + 1))[: drawn[1]]
        ),
        max_size=4,
    )
)
def test_any_bytes_come_back(context: LockedContext, parts: list[bytes]) -> None:
    assert read_conversation(context.store, keep(context, *parts)) == tuple(parts)


def test_an_append_to_a_long_conversation_adds_little_to_the_store(context: LockedContext) -> None:
    data = lines(20 << 20)
    keep(context, data)
    grown = data
    for number in range(5):
        before = size_of_packs(context)
        grown += lines(10 << 10, seed=number + 1)
        tree = keep(context, grown)
        assert size_of_packs(context) - before < 40 << 10
    assert read_conversation(context.store, tree) == (grown,)


def test_equal_bytes_add_nothing_at_all(context: LockedContext) -> None:
    parts = (lines(300_000), lines(70_000, seed=1))
    tree = keep(context, *parts)
    before = packs_of(context.store)
    assert keep(context, *parts) == tree
    assert packs_of(context.store) == before


def test_a_conversation_cut_short_has_the_beginning_in_common(context: LockedContext) -> None:
    data = lines(100 * PIECE)
    keep(context, data)
    before = size_of_packs(context)
    tree = keep(context, data[: 50 * PIECE + 7])
    assert size_of_packs(context) - before < 40 << 10
    assert read_conversation(context.store, tree) == (data[: 50 * PIECE + 7],)


@pytest.mark.parametrize("piece", [0, 5])
def test_a_damaged_piece_is_never_handed_out(context: LockedContext, piece: int) -> None:
    data = lines(6 * PIECE)
    tree = keep(context, data)
    garble(context.store, object_id(BLOB, data[piece * PIECE : (piece + 1) * PIECE]))
    context.store.reopen_packs()
    with pytest.raises(StoreDamaged):
        read_conversation(context.store, tree)


def test_a_damaged_tree_is_said_to_be_damaged(context: LockedContext) -> None:
    tree = keep(context, lines(1000))
    garble(context.store, tree)
    context.store.reopen_packs()
    context.store._trees.clear()
    with pytest.raises(StoreDamaged):
        read_conversation(context.store, tree)
