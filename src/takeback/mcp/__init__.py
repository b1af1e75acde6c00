"""A server for models: the Model Context Protocol on stdin and stdout, one JSON object a line.

    server.py   requests and answers (JSON-RPC 2.0), the version that both sides speak
    tools.py    the table of tools: all of them look, and one makes a checkpoint

A model may look at what is kept of the workspace that the server was started in, and make a
checkpoint. Going back is for the person: there is no tool for it.
"""

from __future__ import annotations

import os
import sys

from takeback import durable
from takeback.mcp.server import McpServer

_LONGEST_LINE = 4 << 20


def serve(directory: str) -> int:
    """Answers until stdin ends; returns 0."""
    durable.unmask_owner()
    if sys.stdin is None or sys.stdout is None:  # closed by the caller: nobody will ask
        return 0
    server, source = McpServer(directory), sys.stdin.buffer
    try:
        while line := source.readline(_LONGEST_LINE):
            whole = line.endswith(b"\n") or len(line) < _LONGEST_LINE
            while not line.endswith(b"\n") and (more := source.readline(_LONGEST_LINE)):
                line = more  # the rest of one that is too long
            answer = server.answer(line) if whole else server.too_long()
            if answer:
                sys.stdout.write(f"{answer}\n")
                sys.stdout.flush()
    except KeyboardInterrupt:
        return 0
    except OSError:  # nobody reads the answers any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # not even the last one
    return 0
