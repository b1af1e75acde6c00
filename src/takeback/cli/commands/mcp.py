"""takeback mcp"""

from __future__ import annotations

import os

from takeback.cli.call import Call
from takeback.cli.options import verb


@verb("mcp")
def command(call: Call) -> int:
    """Serve models: the Model Context Protocol on stdin and stdout.

    Started by an agent, as its settings say, for the workspace it runs in or that of -C. The
    tools are status, log, show, diff, cat and search, which only look, and checkpoint. There is
    none that goes back: that is for you.
    """
    call.refuse_dry_run("mcp")
    from takeback.mcp import serve

    return serve(os.getcwd())
