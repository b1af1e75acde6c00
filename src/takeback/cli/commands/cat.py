"""takeback cat"""

from __future__ import annotations

import click

from takeback.cli import documents
from takeback.cli.options import Call, name_text, verb


@verb("cat")
@click.argument("checkpoint", metavar="CP", type=name_text)
@click.argument("path", metavar="PATH")
def command(call: Call, checkpoint: str, path: str) -> int:
    """Print one file as it is in a checkpoint."""
    with call.open("cat") as tb:
        data = tb.cat(checkpoint, path)
        relative = tb.path(path)
    if not call.json:
        call.output.raw(data)
        return 0
    from base64 import b64encode

    fields = {**documents.path_fields(relative), "bytes_b64": b64encode(data).decode()}
    call.output.document("file", fields)
    return 0
