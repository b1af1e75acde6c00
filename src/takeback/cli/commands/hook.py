"""takeback hook"""

from __future__ import annotations

import os
import sys

import click

from takeback.cli.options import Call, verb


@verb("hook")
@click.argument("agent", metavar="AGENT")
def command(call: Call, agent: str) -> int:
    """Take one event of an agent, in JSON on stdin.

    Called by agents, not by people. It prints nothing but what the model has to be told, ends
    with status 0 whatever happens, and leaves its failures for `takeback status`. AGENT is
    generic, claude, codex or gemini; docs/agents/generic.md describes the JSON.
    """
    # The way in without click is takeback/__main__.py; this one is for options before the verb.
    os.execv(sys.executable, [sys.executable, "-P", "-m", "takeback", "hook", agent])
