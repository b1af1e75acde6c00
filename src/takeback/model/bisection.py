"""A bisection: which of a row of states is the first one that a command calls bad.

    0     1     2     3     4     5     6     7     8        places; 0 is good, the last one bad
    good              .     run          .           bad     the middle of what is open is run next

What is skipped is not judged: if only such places are left between the last good one and the first
bad one, the answer is a range.
"""

from __future__ import annotations

from takeback.errors import UsageError
from takeback.model.ids import CheckpointId, SnapshotId
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Final, Literal

    VerdictWord = Literal["good", "bad", "skip"]

GOOD: Final = "good"
BAD: Final = "bad"
SKIP: Final = "skip"
TOO_LONG: Final = 124
"""The exit status of a command that took too long, as with timeout(1)."""
SKIPPED: Final = 125
"""The exit status of a command that cannot judge the files."""
_BROKEN_OFF = 128


class Judged(Value):
    """What a command said of the files of a snapshot: its exit status, and how long it took."""

    snapshot: SnapshotId
    status: int
    seconds: float
    time: float

    @property
    def word(self) -> VerdictWord:
        """Says what its exit status means, as in ``git bisect run``."""
        if self.status == 0:
            return GOOD
        return SKIP if self.status == SKIPPED else BAD


class Inquiry(Value):
    """What is asked: from where to where, with which command.

    ``copies`` are paths in the workspace that no checkpoint holds, of which the command gets a
    copy. A run of more than ``timeout`` seconds counts as bad.
    """

    good: CheckpointId
    bad: CheckpointId
    command: tuple[str, ...]
    copies: tuple[bytes, ...] = ()
    timeout: float | None = None


class Narrowed(Value):
    """How far a search has got: the last good place, the first bad one, and which is to be run.

    Without ``next`` it is over; then nothing between the two could be judged.
    """

    good: int
    bad: int
    next: int | None = None

    @property
    def runs_left(self) -> int:
        """Returns how many more runs it takes at most, if none is skipped."""
        return max(self.bad - self.good - 1, 0).bit_length()


def says_anything(status: int) -> bool:
    """Tells whether an exit status is a verdict; a command that was killed says nothing."""
    return 0 <= status < _BROKEN_OFF


def search(places: Sequence[SnapshotId], said: Mapping[SnapshotId, Judged]) -> Narrowed:
    """Returns where a search among places stands, of which the first is good and the last is bad.

    The same snapshot has the same answer, and is not run again. That the first is good is tried out
    only if nothing else was good, that the last is bad only if nothing else was bad: otherwise each
    run has shown that the command can say so. Raises UsageError if it is the other way round.
    """
    good, bad = 0, len(places) - 1
    while True:
        middle = _middle(places, said, good, bad)
        if middle is None:
            break
        found = said.get(places[middle])
        if found is None:
            return Narrowed(good, bad, middle)
        good, bad = (middle, bad) if found.word == GOOD else (good, middle)
    for place, end, wrong in ((bad, len(places) - 1, GOOD), (good, 0, BAD)):
        found = said.get(places[place])
        if found is None:
            return Narrowed(good, bad, place)
        if place == end and found.word == wrong:
            raise _the_other_way_round(wrong)
    return Narrowed(good, bad)


def _middle(
    places: Sequence[SnapshotId], said: Mapping[SnapshotId, Judged], good: int, bad: int
) -> int | None:
    """Returns the place nearest to the middle of two that was not skipped, if there is one."""
    open_places = (
        place
        for place in range(good + 1, bad)
        if (known := said.get(places[place])) is None or known.word != SKIP
    )
    return min(open_places, key=lambda place: (abs(2 * place - good - bad), place), default=None)


def _the_other_way_round(word: VerdictWord) -> UsageError:
    said, of = ("good (0)", "BAD") if word == GOOD else ("bad", "GOOD")
    return UsageError(
        f"the command says {said} of {of}, so there is nothing to be found in between",
        hint="run it by hand, or name another checkpoint",
    )
