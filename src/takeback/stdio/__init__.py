"""A conversation with an agent's extension over stdin and stdout, one JSON document per line.

    {"id": 1, "call": "event", "event": {...}}        ->  {"id": 1, "ok": true, "result": {...}}
    {"id": 2, "call": "rewind", "checkpoint": "x"}    ->  {"id": 2, "ok": false, "error": {...}}

For agents whose extensions live as long as the agent: with one process, an event costs a capture
but no start of Python. The words are those of the command line (docs/scripting.md); what that
refuses is refused here too, with the same code, and the extension shows the sentence.
"""

from __future__ import annotations

import os
import sys
from select import select

from takeback import durable
from takeback.adapters import adapter_named
from takeback.model import json_text
from takeback.stdio.server import StdioServer

_PAUSE = 0.2
"""After so many seconds without a request nobody is asking just now."""


def main(agent: str) -> int:
    """Answers until stdin ends; returns 0."""
    durable.unmask_owner()
    if sys.stdin is None or sys.stdout is None:  # closed by the caller: nobody will ask
        return 0
    try:
        server = StdioServer(adapter_named(agent), os.getcwd())
        for line in sys.stdin.buffer:
            if line.strip():
                sys.stdout.write(json_text.dumps(server.answer(line)) + "\n")
                sys.stdout.flush()
                if not select([sys.stdin], [], [], _PAUSE)[0]:
                    server.do_later()
    except KeyboardInterrupt:
        return 0
    except OSError:  # nobody reads the answers any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # not even the last one
    return 0
