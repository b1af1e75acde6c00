"""What becomes of an event for which there is no time."""

from __future__ import annotations

import os
from pathlib import Path

from takeback.errors import TimedOut
from takeback.model import event as events
from takeback.model.event import AgentEvent
from takeback.ops.receive import Delivery, has_waiting, receive, take_waiting
from tests.support.engine import Heard, opened
from tests.support.journey import write_files


class Ringing(Heard):
    """Hears the progress of a capture, in which the time is up once."""

    has_rung = False

    def progress(self, what: str, done: int, total: int) -> None:
        if not self.has_rung:
            self.has_rung = True
            raise TimedOut("the capture did not fit into the hook's time limit")


def test_a_capture_that_takes_too_long_is_not_begun_again_while_the_agent_waits(
    workspace: Path,
) -> None:
    write_files(workspace, {f"file{number}": b"%d" % number * 200 for number in range(3000)})
    prompt = AgentEvent(events.PROMPT, "mine", "s1", os.fspath(workspace), turn="t1", prompt="p")
    with opened(workspace, reporter=Ringing()) as context:
        received = receive(context, prompt, delivery=Delivery(context.clock.now(), 1))
        assert (received.waiting, received.timed_out) == (True, True)
        assert has_waiting(context)
        assert take_waiting(context) == 1  # as the process in the background does
        assert not has_waiting(context)
