"""Moments in words: how long ago, and what the clocks here showed."""

from __future__ import annotations

import time as clock

_NOW, _MINUTE, _HOUR, _DAY = 5, 60, 3600, 86400


def age(time: float, now: float) -> str:
    """Returns how long ago: now, 42s, 5m, 3h, 2d."""
    seconds = max(0, int(now - time))
    if seconds < _NOW:
        return "now"
    if seconds < _MINUTE:
        return f"{seconds}s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE}m"
    return f"{seconds // _HOUR}h" if seconds < _DAY else f"{seconds // _DAY}d"


def ago(time: float, now: float) -> str:
    """Returns how long ago as part of a sentence: now, 5m ago."""
    how_long = age(time, now)
    return how_long if how_long == "now" else f"{how_long} ago"


def time_of_day(time: float, now: float) -> str:
    """Returns what the clocks here showed: 21:39, with the date if that was not today."""
    shown = clock.localtime(time)
    if shown[:3] == clock.localtime(now)[:3]:
        return clock.strftime("%H:%M", shown)
    return clock.strftime("%Y-%m-%d %H:%M", shown)
