"""takeback serve"""

from __future__ import annotations

import os

from takeback.cli.options import Call, verb
from takeback.cli.output import flush

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.serve.run import Running


@verb("serve")
def command(call: Call) -> int:
    """Serve the page and the HTTP API on this machine, until Ctrl-C.

    All workspaces of yours, in a browser or for an editor: the same operations as here. It
    listens on 127.0.0.1 alone, on a free port, and answers nobody who does not have the secret of
    this run, which is in a file that only you can read.
    """
    call.refuse_dry_run("serve")
    from takeback.serve.application import to_stderr  # 150 ms, most of it uvicorn
    from takeback.serve.run import serve

    output = call.output

    def say(running: Running) -> None:
        fields = {"url": running.url, "pid": running.pid, "secret_file": running.secret_file}
        output.document("serve", fields)
        output.lines([f"The page: {running.url}", f"Its secret: {running.secret_file}"])
        output.note("Ctrl-C ends it.")
        flush()

    serve(os.environ, say=say, log=to_stderr if call.verbose else _nothing)
    return 0


def _nothing(line: str) -> None:
    """Keeps no log."""
