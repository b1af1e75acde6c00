"""takeback completion"""

from __future__ import annotations

import click

from takeback.cli.call import COMPLETE, Call
from takeback.cli.main import takeback
from takeback.cli.options import verb


@verb("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(call: Call, shell: str) -> int:
    """Print the completion script of a shell.

    For bash, in ~/.bashrc:  eval "$(takeback completion bash)"

    It knows commands and options, labels, turns, sessions, settings, agents, and the paths that
    a checkpoint holds.
    """
    from takeback.cli.completing import completion_class

    found = completion_class(shell)
    script = found(takeback, {}, "takeback", COMPLETE).source()
    call.output.document("completion", {"shell": shell, "script": script})
    call.output.line(script)
    return 0
