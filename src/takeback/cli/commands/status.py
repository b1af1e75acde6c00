"""takeback status"""

from __future__ import annotations

import click

from takeback.cli.call import Call
from takeback.cli.options import verb
from takeback.cli.plain_words import status


@verb("status", shows=("--dry-run",))
@click.option("--seen", is_flag=True, help="You have read the failures: show only later ones.")
def command(call: Call, seen: bool) -> int:
    """Say where the files stand, what is kept, and what went wrong."""
    return status(call, seen=seen)
