"""takeback sessions"""

from __future__ import annotations

import time

from takeback.cli.call import Call
from takeback.cli.options import verb
from takeback.cli.terminal import paged
from takeback.words import documents
from takeback.words.sessions import session_line


@verb("sessions")
def command(call: Call) -> int:
    """List the sessions of the agents, the latest first."""
    with call.open("sessions") as tb:
        found = tb.sessions()
        output, now = call.output, time.time()
        with paged(call, tb):
            for entry in found:
                output.document("session", documents.session(entry))
                output.line(session_line(entry, output.paint, now))
    if not found and not call.json:
        output.line("No agent has worked here yet.")
    return 0
