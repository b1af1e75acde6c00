"""takeback verify"""

from __future__ import annotations

import click

from takeback.cli.call import Call
from takeback.cli.options import verb
from takeback.words import status
from takeback.words.text import count


@verb("verify")
@click.option("--read-data", is_flag=True, help="Read every byte of every object, too.")
def command(call: Call, read_data: bool) -> int:
    """Check that everything that was kept reads back."""
    with call.open("verify") as tb:
        found = tb.verify(read_data=read_data)
    output = call.output
    output.document("verify", status.verified(found))
    checked = count(found.checkpoints, "checkpoint")
    if read_data:
        checked += f" and {count(found.objects, 'object')}"
    if not found.problems:
        output.done([f"Checked {checked}: everything reads back."])
        return 0
    output.lines(status.problem_lines(found, checked))
    return 1
