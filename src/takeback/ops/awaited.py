"""Awaited: tests that an agent ran, and how they ended, as its transcript says a little later.

    round    pytest         nothing is known yet: the checkpoint awaits it
    round    edit a.py      the transcript has it by now: "tests passed" is about the round above
    end

What is not there by the next prompt is given up. It delays nothing: only the end of the
conversation is searched, only for what is awaited.
"""

from __future__ import annotations

from takeback.model.event import PROMPT, RanTests
from takeback.model.tested import ran_tests, verdict
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.event import AgentEvent, AwaitedTests
    from takeback.model.ids import CheckpointId

    StatusIn = Callable[[bytes, str], int | None]
    """Tells from the end of a transcript how the command of a call ended."""

_TAIL = 1 << 20
_MOST = 16
"""How many tests are awaited at once; of more than that in one round nothing is known."""
_STATUS = 1 << 31


class Ended(Value):
    """What is known of tests at a moment: of its own files, of earlier ones, and what is not."""

    tested: RanTests | None
    earlier: tuple[RanTests, ...]
    awaited: tuple[AwaitedTests, ...]


def how_tests_ended(
    event: AgentEvent,
    before: Checkpoint | None,
    read_tail: Callable[[int], bytes] | None,
    *,
    prefixes: Sequence[str],
    status_in: StatusIn | None,
) -> Ended:
    """Returns how the tests ended that an event reports, and those that were awaited before it.

    ``before`` is the checkpoint before the event, ``read_tail`` returns so many last bytes of the
    conversation.
    """
    own = ran_tests(event.tools, prefixes)
    tested = own if isinstance(own, RanTests) else None
    awaited = [*_awaited_by(before), *(own if isinstance(own, tuple) else ())]
    tail = b"" if read_tail is None else read_tail(_TAIL)
    earlier: list[RanTests] = []
    still: list[AwaitedTests] = []
    for checkpoint, group in _by_checkpoint(awaited).items():
        if len(group) > _MOST:
            continue
        ran = _ran(group, tail, status_in)
        if ran is None:
            still = [*still, *group] if len(still) + len(group) <= _MOST else group
        elif checkpoint is None:
            tested = ran
        else:
            earlier.append(ran)
    return Ended(tested, tuple(earlier), () if event.kind == PROMPT else tuple(still))


def _awaited_by(before: Checkpoint | None) -> Iterator[AwaitedTests]:
    """Yields what a checkpoint awaits, each with the checkpoint whose files it is about."""
    if before is not None:
        for one in before.awaited:
            yield one if one.checkpoint else one.replace(checkpoint=before.id)


def _by_checkpoint(
    awaited: Sequence[AwaitedTests],
) -> dict[CheckpointId | None, list[AwaitedTests]]:
    found: dict[CheckpointId | None, list[AwaitedTests]] = {}
    for one in awaited:
        found.setdefault(one.checkpoint, []).append(one)
    return found


def _ran(
    awaited: Sequence[AwaitedTests], tail: bytes, status_in: StatusIn | None
) -> RanTests | None:
    """Returns what tests of the same files say together; None until all of them have ended."""
    ran = []
    for one in awaited:
        status = None if status_in is None else status_in(tail, one.call)
        if status is None or not -_STATUS <= status < _STATUS:
            return None
        ran.append(RanTests(one.command, status, one.checkpoint))
    return verdict(ran)
