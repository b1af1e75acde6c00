"""takeback serve"""

from __future__ import annotations

import os

import click

from takeback.cli.call import Call
from takeback.cli.options import verb
from takeback.cli.output import flush
from takeback.errors import UsageError
from takeback.words.errors import said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.errors import TakebackError
    from takeback.serve.run import Running


@verb("serve")
@click.option("--open", "browser", is_flag=True, help="Open the page in a browser.")
@click.option("--socket", is_flag=True, help="On a Unix socket instead, for programs alone.")
def command(call: Call, browser: bool, socket: bool) -> int:
    """Serve the page and the HTTP API on this machine, until Ctrl-C.

    All workspaces of yours, in a browser or for an editor: the same operations as here. It
    listens on 127.0.0.1 alone, on a free port, and answers nobody who does not have the secret of
    this run, which is in a file that only you can read.
    """
    call.refuse_dry_run("serve")
    if browser and socket:
        raise UsageError("no browser can be opened on a socket", hint="say --open or --socket")
    from takeback.serve.application import to_stderr  # 150 ms, most of it uvicorn
    from takeback.serve.run import Says, ServerOptions, serve

    output = call.output

    def say(running: Running) -> None:
        fields = {"url": running.url, "pid": running.pid, "secret_file": running.secret_file}
        output.document("serve", fields)
        output.lines(_lines(running))
        output.note("Ctrl-C ends it.")
        flush()

    def left(error: TakebackError) -> None:
        output.error(said(error))

    says = Says(say, left, to_stderr if call.verbose else _nothing)
    serve(os.environ, ServerOptions(socket=socket, browser=browser), says)
    return 0


def _lines(running: Running) -> Iterator[str]:
    yield f"Serving: {running.url}"
    if running.entrance is not None and not running.opened:
        yield f"Open this file in a browser within a minute: {running.entrance}"
    if running.entrance is None:
        yield f"The secret is in: {running.secret_file}"


def _nothing(line: str) -> None:
    """Keeps no log."""
