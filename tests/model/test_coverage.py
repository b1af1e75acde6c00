"""What a snapshot vouches for, and what it does not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.model import coverage
from takeback.model.coverage import Coverage, NotHeld

_NAMES = st.binary(min_size=1, max_size=8).filter(lambda name: b"\0" not in name)
_ITEMS = st.lists(st.builds(NotHeld, _NAMES, st.sampled_from(coverage.REASONS)))


def test_a_path_is_not_held_for_its_own_reason_or_that_of_a_parent() -> None:
    found = Coverage([NotHeld(b"a/b", coverage.IGNORED), NotHeld(b"a/b/c", coverage.OVERSIZED)])
    assert found.reason_for(b"a/b") == "ignored"
    assert found.reason_for(b"a/b/x/y") == "ignored"
    assert found.reason_for(b"a/b/c") == "oversized"
    for held in (b"a", b"a/bc", b"b", b"a/b.txt"):
        assert found.reason_for(held) is None


def test_a_root_that_could_not_be_listed_vouches_for_nothing() -> None:
    found = Coverage([NotHeld(b"", coverage.UNREADABLE)])
    assert found.reason_for(b"any/path") == "unreadable"
    assert not found.complete


def test_complete_means_that_nothing_wanted_is_missing() -> None:
    by_rule = [NotHeld(b"a", coverage.IGNORED), NotHeld(b"b", coverage.SPECIAL)]
    assert Coverage(by_rule).complete
    assert Coverage(by_rule).skipped == ()
    missing = NotHeld(b"c", coverage.UNSTABLE)
    assert not Coverage([*by_rule, missing]).complete
    assert Coverage([*by_rule, missing]).skipped == (missing,)


@settings(max_examples=100)
@given(_ITEMS)
def test_coverage_survives_being_kept(items: list[NotHeld]) -> None:
    kept = Coverage(items)
    assert Coverage.decode(kept.encode()) == kept
    assert Coverage(reversed(kept.not_held)).encode() == kept.encode()
    assert hash(Coverage.decode(kept.encode())) == hash(kept)


@pytest.mark.parametrize(
    "data",
    [b"garbage", b"no tab\0", b"ignored\ta\0ignored\tb", b"\xff\xfe\ta\0", b"ignored\ta\0\0"],
)
def test_coverage_that_is_cut_short_or_garbled_is_not_believed(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"coverage|decode"):
        Coverage.decode(data)
