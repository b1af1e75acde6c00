"""Moments in words."""

from __future__ import annotations

import pytest

from takeback.model.naming import age, ago, time_of_day
from tests.support.engine import NOON


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "now"), (0, "now"), (4, "now"), (5, "5s"), (59, "59s"), (60, "1m"), (3599, "59m"),
     (3600, "1h"), (86399, "23h"), (86400, "1d"), (86400 * 400, "400d")],
)  # fmt: skip
def test_now_is_only_a_matter_of_seconds(seconds: int, text: str) -> None:
    assert age(NOON, NOON + seconds) == text
    assert ago(NOON, NOON + seconds) == (text if text == "now" else f"{text} ago")


@pytest.mark.parametrize(
    ("ago", "text"),
    [(0, "12:00"), (3600, "11:00"), (11 * 3600, "01:00"), (13 * 3600, "2026-11-14 23:00"),
     (86400 * 30, "2026-10-16 12:00")],
)  # fmt: skip
def test_another_day_has_its_date(ago: int, text: str) -> None:
    assert time_of_day(NOON - ago, NOON) == text
