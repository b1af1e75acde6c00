"""takeback pick"""

from __future__ import annotations

from takeback.cli.call import Call
from takeback.cli.options import verb
from takeback.cli.plain_words import pick


@verb("pick")
def command(call: Call) -> int:
    """Look, choose, preview and take back, on one screen.

    The same as takeback without a command. Where there is no screen (TERM=dumb, or no terminal)
    it is a numbered list, and the answers are read line by line.
    """
    return pick(call)
