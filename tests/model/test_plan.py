"""Plans and the changes that they are made of."""

from __future__ import annotations

import pytest

from takeback.model.checkpoint import DIRECTORY, Change, Checkpoint, Entry, entry_mode
from takeback.model.ids import CheckpointId, SessionId, SnapshotId
from takeback.model.operation import Goal, LeftAlone, Plan
from tests.support.engine import file_entry, link_entry

TARGET = Checkpoint(
    CheckpointId("c"), SessionId("s"), "manual", 0.0, SnapshotId(""), b"", complete=True, files=1
)
GOAL = Goal(SnapshotId(""), checkpoint=TARGET)
ONE, OTHER = file_entry(b"1"), file_entry(b"2")


def test_a_plan_is_empty_when_it_writes_and_deletes_nothing() -> None:
    left = (LeftAlone(b"x", "ignored"),)
    assert Plan(GOAL, (), (), left_alone=left).is_empty
    assert not Plan(GOAL, (Change(b"a", None, ONE),), ()).is_empty
    assert not Plan(GOAL, (), (Change(b"a", ONE, None),)).is_empty


def test_two_plans_do_the_same_if_they_change_the_same_paths_in_the_same_way() -> None:
    write, delete = Change(b"a", ONE, OTHER), Change(b"b", ONE, None)
    plan = Plan(GOAL, (write,), (delete,))
    assert plan.same_changes(plan.replace(warnings=("another branch",)))
    assert not plan.same_changes(plan.replace(writes=()))
    assert not plan.same_changes(plan.replace(deletes=()))
    edited = Change(b"a", file_entry(b"edited meanwhile"), OTHER)
    assert not plan.same_changes(plan.replace(writes=(edited,)))


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (None, ONE, "added"),
        (ONE, None, "deleted"),
        (ONE, OTHER, "modified"),
        (ONE, file_entry(b"1", 0o755), "mode"),
        (ONE, file_entry(b"2", 0o755), "modified"),
        (ONE, link_entry(b"1"), "type"),
        (ONE, Entry(DIRECTORY | 0o755, b""), "type"),
        (Entry(DIRECTORY | 0o755, b"t" * 20), Entry(DIRECTORY | 0o700, b"u" * 20), "mode"),
        (link_entry(b"1"), link_entry(b"2"), "modified"),
    ],
)
def test_a_change_says_what_kind_it_is(old: Entry | None, new: Entry | None, kind: str) -> None:
    assert Change(b"p", old, new).kind == kind


@pytest.mark.parametrize(
    ("st_mode", "kept"),
    [
        (0o100644, 0o100644),
        (0o106755, 0o100755),
        (0o041777, 0o040777),
        (0o120777, 0o120000),
        (0o100000, 0o100000),
    ],
)
def test_all_permission_bits_are_kept_and_nothing_else(st_mode: int, kept: int) -> None:
    assert entry_mode(st_mode) == kept


def test_two_plans_that_go_to_two_places_are_not_the_same_whatever_they_change() -> None:
    plan = Plan(GOAL, (), ())
    other = Goal(SnapshotId(""), checkpoint=TARGET.replace(id=CheckpointId("d")))
    assert not plan.same_changes(plan.replace(goal=other))
    assert not plan.same_changes(plan.replace(goal=Goal(SnapshotId(""))))
    assert not Plan(Goal(SnapshotId("1")), (), ()).same_changes(Plan(Goal(SnapshotId("2")), (), ()))
