"""Ids: random, typed once, never taken for a time."""

from __future__ import annotations

import pytest

from takeback.model.ids import ID_LENGTH, looks_like_id, new_checkpoint_id, new_operation_id
from takeback.timeline.names import parse_time


def test_no_two_ids_are_the_same_and_each_looks_like_one() -> None:
    ids = {new_checkpoint_id() for _ in range(500)} | {new_operation_id() for _ in range(500)}
    assert len(ids) == 1000
    assert all(len(i) == ID_LENGTH and looks_like_id(i) and i.isalnum() for i in ids)


def test_no_id_and_no_beginning_of_one_reads_as_a_time() -> None:
    for _ in range(200):
        made = new_checkpoint_id()
        assert not any(parse_time(made[:n], 0.0) for n in range(1, ID_LENGTH + 1))


@pytest.mark.parametrize(
    "text", ["", "2abc", "abcl", "abc1", "ABCD", "abc-d", "ab cd", "a" * (ID_LENGTH + 1), "abçd"]
)
def test_what_cannot_be_the_beginning_of_an_id_is_told_apart(text: str) -> None:
    assert not looks_like_id(text)
