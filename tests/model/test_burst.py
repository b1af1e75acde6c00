"""Changes that come without notice are one burst until nothing has come for a while."""

from __future__ import annotations

from takeback.bisect.bisect import QUIET, Burst


def test_a_burst_is_over_when_nothing_has_come_for_a_while() -> None:
    burst = Burst.begin(10.0).goes_on(10.5)
    assert not burst.is_over(10.5 + QUIET / 2)
    assert burst.is_over(10.5 + QUIET)
    assert burst.first == 10.0


def test_one_that_goes_on_is_long_until_it_is_kept() -> None:
    burst = Burst.begin(10.0).goes_on(39.9)
    assert not burst.is_long(39.9, every=30.0)
    assert burst.is_long(40.0, every=30.0)
    assert not burst.kept(40.0).is_long(69.0, every=30.0)


def test_the_rest_is_until_either_can_be_true() -> None:
    burst = Burst.begin(10.0)
    assert burst.rest(10.0, every=30.0) == QUIET
    assert burst.goes_on(39.8).rest(39.8, every=30.0) < QUIET
    assert burst.rest(99.0, every=30.0) == 0.0
