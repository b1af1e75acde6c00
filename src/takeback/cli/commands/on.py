"""takeback on"""

from __future__ import annotations

from takeback.cli.call import Call
from takeback.cli.options import verb
from takeback.cli.switch import switch


@verb("on")
def command(call: Call) -> int:
    """Record again what agents do in this workspace."""
    return switch(call, capture="on")
