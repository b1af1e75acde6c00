"""takeback completion"""

from __future__ import annotations

import click

from takeback.cli.main import COMPLETE, takeback
from takeback.cli.options import Call, verb


@verb("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(call: Call, shell: str) -> int:
    """Print the completion script of a shell.

    For bash, in ~/.bashrc:  eval "$(takeback completion bash)"
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    script = found(takeback, {}, "takeback", COMPLETE).source()
    call.output.document("completion", {"shell": shell, "script": script})
    call.output.line(script)
    return 0
