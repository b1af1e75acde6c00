"""takeback status"""

from __future__ import annotations

import time

from takeback.cli.options import Call, verb
from takeback.words import documents, render
from takeback.words.connections import agent_lines


@verb("status")
def command(call: Call) -> int:
    """Say what is kept, where, and what went wrong."""
    with call.open("status", note=False) as tb:
        found, agents = tb.status(), tb.agents()
    output, now = call.output, time.time()
    fields = {**documents.status(found), "agents": [documents.agent(one) for one in agents]}
    output.document("status", fields)
    output.lines(render.status_lines(found, output.paint, now))
    output.lines(agent_lines(agents, output.paint, now))
    return 0
