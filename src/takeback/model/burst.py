"""Bursts: when changes that come without notice have come to rest; pure, time is handed in."""

from __future__ import annotations

from takeback.model.value import Value

QUIET = 1.0
"""Seconds without a change after which a burst is over."""


class Burst(Value):
    """Changes since ``first``, the newest at ``newest``; by the clock of whoever hears them.

    ``since`` is when it was last kept, ``first`` if it was not.
    """

    first: float
    newest: float
    since: float

    @classmethod
    def begin(cls, now: float) -> Burst:
        return cls(now, now, now)

    def goes_on(self, now: float) -> Burst:
        """Returns it with a change just now."""
        return self.replace(newest=now)

    def kept(self, now: float) -> Burst:
        """Returns it with everything up to now kept."""
        return self.replace(since=now)

    def is_over(self, now: float) -> bool:
        return now - self.newest >= QUIET

    def is_long(self, now: float, every: float) -> bool:
        """Tells whether something has to be kept although it goes on."""
        return now - self.since >= every

    def rest(self, now: float, every: float) -> float:
        """Returns how many seconds there are until one of both can be true."""
        return max(0.0, min(self.newest + QUIET, self.since + every) - now)
