"""takeback status"""

from __future__ import annotations

import time

from takeback.cli.options import Call, verb
from takeback.words import documents, render


@verb("status")
def command(call: Call) -> int:
    """Say what is kept, where, and what went wrong."""
    with call.open("status", note=False) as tb:
        found = tb.status()
    output = call.output
    output.document("status", documents.status(found))
    output.lines(render.status_lines(found, output.paint, time.time()))
    return 0
