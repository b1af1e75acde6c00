"""takeback acp, mcp, hook, serve: programs that others talk to."""

from __future__ import annotations

import os
import re
import sys

import click

from takeback.cli.call import Call
from takeback.cli.options import verb
from takeback.cli.terminal import flush, is_terminal
from takeback.errors import TakebackError, UsageError
from takeback.programs import takeback
from takeback.words.choices import said
from takeback.words.text import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from takeback.serve.run import Running


# -- takeback acp


@verb("acp", words=True)
def acp_command(call: Call, words: tuple[str, ...]) -> int:
    """Stand between an editor and its agent; prompts become turns.

    It speaks the Agent Client Protocol on stdin and stdout. In the settings of an editor such as
    Zed, in front of the agent's own command: `takeback acp -- gemini --acp`. `/takeback` in the
    editor lists the turns and goes back. An agent that `takeback init` has connected records
    itself, as in a terminal. All else passes as it is. The exit status is that of CMD.
    """
    call.refuse_dry_run("acp")
    if not words:
        raise UsageError(
            "acp needs the agent's command", hint="for example: takeback acp -- gemini --acp"
        )
    from takeback.acp import serve

    return serve(words, os.environ)


# -- takeback mcp


@verb("mcp")
def mcp_command(call: Call) -> int:
    """Serve models: the Model Context Protocol on stdin and stdout.

    Started by an agent, as its settings say, for the workspace it runs in or that of -C. The
    tools are status, log, show, diff, cat and search, which only look, and checkpoint. There is
    none that goes back: that is for you.
    """
    call.refuse_dry_run("mcp")
    from takeback.mcp import serve

    return serve(os.getcwd())


# -- takeback hook


@verb("hook")
@click.argument("agent", metavar="AGENT")
@click.option("--stdio", is_flag=True, help="Answer requests, one a line, until stdin ends.")
def hook_command(call: Call, agent: str, stdio: bool) -> int:
    """Take one event of an agent, in JSON on stdin.

    Called by agents, not by people. It prints nothing but what the model or the person has to
    be told, ends with status 0 whatever happens, and leaves its failures for `takeback status`.
    AGENT is generic, claude, codex, copilot, gemini, kilo, opencode, pi, qwen, an agent of another
    package, or plugin for what Claude Code's plugin tells; docs/agents/generic.md describes the
    JSON.
    """
    # The way in without click is takeback/__main__.py; this one is for options before the verb.
    words = ["hook", agent, *(["--stdio"] if stdio else [])]
    os.execv(sys.executable, takeback(*words))


# -- takeback serve


_OVER_SSH = re.compile(r"\S+ \d+ ([0-9A-Fa-f.:]+)(?:%\S+)? (\d+)")
"""How sshd says it: the client's address and port, then ours."""
_SSH_PORT = "22"


@verb("serve")
@click.option("--open", "browser", is_flag=True, help="Open the page in a browser.")
@click.option("--socket", is_flag=True, help="On a Unix socket instead, for programs alone.")
def serve_command(call: Call, browser: bool, socket: bool) -> int:
    """Serve the page and the HTTP API on this machine, until Ctrl-C.

    All workspaces of yours, in a browser or for an editor: the same operations as here. The page
    begins with the one that you are in. At a terminal a link is printed that lets a browser in
    once, over ssh with what to run on your own machine first. It listens on 127.0.0.1 alone, on a
    free port, and answers nobody who does not have the secret of this run, which is in a file that
    only you can read.
    """
    call.refuse_dry_run("serve")
    if browser and socket:
        raise UsageError("no browser can be opened on a socket", hint="say --open or --socket")
    from takeback.serve.routes import to_stderr  # 150 ms, most of it uvicorn
    from takeback.serve.run import Says, ServerOptions, serve

    output = call.output
    workspace = _workspace_here(call)

    def say(running: Running) -> None:
        fields = {
            "url": running.url,
            "pid": running.pid,
            "secret_file": running.secret_file,
            "workspace": workspace,
        }
        output.document("serve", fields)
        output.lines(_lines(running))
        output.note("Ctrl-C ends it.")
        flush()

    def left(error: TakebackError) -> None:
        output.error(said(error))

    says = Says(say, left, to_stderr if call.verbose else _nothing)
    # A link is for eyes alone: a file of what was printed must not let anybody in.
    link = not call.json and is_terminal(sys.stdout)
    options = ServerOptions(socket=socket, browser=browser, link=link, workspace=workspace)
    serve(os.environ, options, says)
    return 0


def _workspace_here(call: Call) -> str | None:
    """Returns the id of the workspace that we are in; None if nothing is kept of this directory."""
    from takeback.app.engine import Engine

    try:
        with Engine.open(create=False, reporter=call.reporter(), holder="serve") as tb:
            here = os.path.realpath(tb.store_directory)
    except TakebackError as error:  # the server is for all workspaces
        call.output.note(f"{error.message}; the page begins with another workspace.")
        return None
    known = (one.id for one in Engine.workspaces() if os.path.realpath(one.store) == here)
    return next(known, None)


def _lines(running: Running) -> Iterator[str]:
    yield f"Serving: {running.url}"
    if running.opened:
        return
    if running.link is not None:
        yield from _over_ssh(running.url, os.environ)
        yield "Open this link in a browser within ten minutes; it works once:"
        yield f"  {running.link}"
    elif running.entrance is not None:
        yield f"Open this file in a browser within a minute: {running.entrance}"
    else:
        yield f"The secret is in: {running.secret_file}"


def _over_ssh(url: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Yields how a browser on another machine gets here, if that is where the person sits."""
    found = _OVER_SSH.fullmatch(environ.get("SSH_CONNECTION", ""))
    if found is None:
        return
    address, port = found.groups()
    number = url.rstrip("/").rpartition(":")[2]
    other = "" if port == _SSH_PORT else f"-p {port} "
    user = quoted(environ.get("USER") or environ.get("LOGNAME") or "YOU")
    yield "You are here over ssh: on the machine with your browser run this, and leave it running:"
    yield f"  ssh -N -L {number}:127.0.0.1:{number} {other}{user}@{address}"


def _nothing(line: str) -> None:
    """Keeps no log."""
