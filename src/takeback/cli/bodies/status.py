"""Says where the files stand, what is kept, and what went wrong."""

from __future__ import annotations

import time

from takeback.errors import NotAWorkspace
from takeback.words import earlier
from takeback.words.status import agent_lines, first_steps, status_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.app.connect import AgentState
    from takeback.cli.call import Call
    from takeback.model.timeline import Earlier
    from takeback.timeline.look import Status


def status(call: Call, *, seen: bool = False) -> int:
    """Prints it; with ``seen`` the failures that were shown are not shown again.

    Where there can be no workspace it says what it can of the rest, and raises NotAWorkspace then.
    """
    from takeback.app.engine import Engine

    try:
        with call.open("status", note=False) as tb:
            found, agents, before = tb.status(look=True), tb.agents(), tb.earlier_stores
            if seen and not call.dry_run:
                tb.see_failures()
    except NotAWorkspace as error:
        unopened = Engine.unopened(after=error)
        found, agents, before = unopened.status(), unopened.agents(), unopened.earlier()
    _print(call, found, agents, before)
    if found.never is not None:
        raise found.never
    return 0


def _print(
    call: Call, found: Status, agents: Sequence[AgentState], before: Sequence[Earlier]
) -> None:
    output, now = call.output, time.time()
    if call.json:
        from takeback.words.status import whole

        output.document("status", whole(found, agents, before))
        return
    output.lines(status_lines(found, output.paint, now))
    offer = earlier.offer(before, now)
    if offer:
        output.line(output.paint.warning(offer))
    elif found.standing is None and found.never is None:
        steps = first_steps(agents)
        output.line(f"{steps[0].upper()}{steps[1:]}")
    output.lines(agent_lines(agents, now))
