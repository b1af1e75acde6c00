"""takeback acp"""

from __future__ import annotations

import os

from takeback.cli.call import Call
from takeback.cli.options import verb
from takeback.errors import UsageError


@verb("acp", words=True)
def command(call: Call, words: tuple[str, ...]) -> int:
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
