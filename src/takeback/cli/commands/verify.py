"""takeback verify"""

from __future__ import annotations

import click

from takeback.cli.options import Call, verb
from takeback.visible import shown
from takeback.words.text import count


@verb("verify")
@click.option("--read-data", is_flag=True, help="Read every byte of every object, too.")
def command(call: Call, read_data: bool) -> int:
    """Check that everything that was kept reads back."""
    with call.open("verify") as tb:
        found = tb.verify(read_data=read_data)
    output = call.output
    problems = [{"what": problem.what, "detail": problem.detail} for problem in found.problems]
    fields = {
        "checkpoints": found.checkpoints,
        "objects": found.objects,
        "problems": problems,
    }
    output.document("verify", fields)
    checked = count(found.checkpoints, "checkpoint")
    if read_data:
        checked += f" and {count(found.objects, 'object')}"
    if not problems:
        output.done([f"Checked {checked}: everything reads back."])
        return 0
    output.line(f"Checked {checked}: {count(problems, 'problem')}.")
    output.lines(f"  {shown(p.what)}: {shown(p.detail)}" for p in found.problems)
    return 1
