"""takeback hook"""

from __future__ import annotations

import os
import sys

import click

from takeback.cli.call import Call
from takeback.cli.options import verb
from takeback.programs import takeback


@verb("hook")
@click.argument("agent", metavar="AGENT")
@click.option("--stdio", is_flag=True, help="Answer requests, one a line, until stdin ends.")
def command(call: Call, agent: str, stdio: bool) -> int:
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
