"""Values behave like frozen, slotted dataclasses."""

from __future__ import annotations

import copy
import pickle

import pytest

from takeback.model.checkpoint import Checkpoint, Entry
from takeback.model.value import Value


class Point(Value):
    x: int
    y: int = 7


class Named(Point):
    name: str = "none"


def test_fields_come_in_order_by_name_or_from_their_defaults() -> None:
    assert Point(1) == Point(x=1, y=7) == Point(1, 7)
    assert Named(1, 2, "a") == Named(name="a", y=2, x=1)
    assert repr(Named(1)) == "Named(x=1, y=7, name='none')"


@pytest.mark.parametrize(
    ("args", "kwargs"), [((), {}), ((1, 2, 3), {}), ((1,), {"x": 2}), ((1,), {"z": 3})]
)
def test_a_missing_repeated_or_unknown_field_is_a_type_error(
    args: tuple[int, ...], kwargs: dict[str, int]
) -> None:
    with pytest.raises(TypeError, match="Point"):
        Point(*args, **kwargs)


def test_a_value_is_frozen_and_has_no_room_for_more() -> None:
    point = Point(1)
    for change in (
        lambda: setattr(point, "x", 2),
        lambda: setattr(point, "other", 2),
        lambda: delattr(point, "x"),
    ):
        with pytest.raises(AttributeError):
            change()
    assert point == Point(1)


def test_equal_means_the_same_type_and_the_same_fields() -> None:
    assert Point(1, 2) == Point(1, 2)
    assert hash(Point(1, 2)) == hash(Point(1, 2))
    assert Point(1, 2) != Point(1, 3)
    assert Point(1, 2) != Named(1, 2)
    other: object = (1, 2)
    assert Point(1, 2) != other
    assert len({Point(1), Point(1), Point(2)}) == 2


def test_replace_leaves_the_original() -> None:
    point = Named(1, 2, "a")
    assert point.replace(y=3) == Named(1, 3, "a")
    assert point == Named(1, 2, "a")
    with pytest.raises(TypeError):
        point.replace(z=1)


def test_a_value_can_be_copied_and_pickled() -> None:
    entry = Entry(0o100644, b"x" * 20)
    assert pickle.loads(pickle.dumps(entry)) == entry
    assert copy.deepcopy(entry) == entry


def test_properties_and_required_fields_live_beside_each_other() -> None:
    assert Entry(0o040755, b"").is_directory
    with pytest.raises(TypeError, match="missing field 'id'"):
        Checkpoint()  # type: ignore[call-arg]
