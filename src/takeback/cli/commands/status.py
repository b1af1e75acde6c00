"""takeback status"""

from __future__ import annotations

import time

from takeback.cli.options import Call, verb
from takeback.words import documents, earlier, render
from takeback.words.connections import agent_lines


@verb("status")
def command(call: Call) -> int:
    """Say what is kept, where, and what went wrong."""
    with call.open("status", note=False) as tb:
        found, agents, before = tb.status(), tb.agents(), tb.earlier_stores
    output, now = call.output, time.time()
    fields = {
        **documents.status(found),
        "earlier": [earlier.document(one) for one in before],
        "agents": [documents.agent(one) for one in agents],
    }
    output.document("status", fields)
    output.lines(render.status_lines(found, output.paint, now))
    output.lines(filter(None, [output.paint.warning(earlier.offer(before, now))]))
    output.lines(agent_lines(agents, output.paint, now))
    return 0
