"""takeback off"""

from __future__ import annotations

from takeback.cli.call import Call
from takeback.cli.options import verb
from takeback.cli.switch import switch


@verb("off")
def command(call: Call) -> int:
    """Stop recording what agents do in this workspace.

    What is kept stays, and checkpoints by hand, rewind and undo go on working. `takeback on`
    records again. For one agent: start it with TAKEBACK=off. For many directories: the
    settings never, only.
    """
    return switch(call, capture="off")
