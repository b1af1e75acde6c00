"""takeback cat"""

from __future__ import annotations

import os

import click

from takeback.cli.call import Call
from takeback.cli.options import completed_by, name_text, session_option, verb
from takeback.errors import UsageError
from takeback.words import documents


@verb("cat")
@click.argument(
    "checkpoint", metavar="CP", type=name_text, shell_complete=completed_by("checkpoints")
)
@click.argument("path", metavar="[PATH]", default="", shell_complete=completed_by("paths"))
@click.option("--conversation", is_flag=True, help="The conversation as it was there instead.")
@click.option("--messages", is_flag=True, help="With --conversation: as a person reads it.")
@session_option
def command(
    call: Call, checkpoint: str, path: str, conversation: bool, messages: bool, session: str | None
) -> int:
    """Print one file, or the conversation, as it is in a checkpoint."""
    if conversation == bool(path) or (messages and not conversation):
        raise UsageError(
            "name a path, or say --conversation", hint="how it is called: takeback cat --help"
        )
    if messages:
        return _messages(call, checkpoint, session)
    with call.open("cat") as tb:
        found = call.look_up(tb, checkpoint, session)
        data = tb.conversation(found) if conversation else tb.cat(found, path)
    if not call.json:
        call.output.raw(data)
        return 0
    from base64 import b64encode

    fields = {"bytes_b64": b64encode(data).decode()}
    if not conversation:
        fields = {**documents.file_fields(os.fsencode(path)), **fields}
    call.output.document("conversation" if conversation else "file", fields)
    return 0


def _messages(call: Call, checkpoint: str, session: str | None) -> int:
    """Prints the conversation as messages, each with who said it and what it is the prompt of."""
    from takeback.words import documents as words

    with call.open("cat") as tb:
        page = tb.messages(call.look_up(tb, checkpoint, session))
    if call.json:
        call.output.document("messages", words.page(page))
        return 0
    for placed in page.messages:
        call.output.lines(words.lines(placed))
    return 0
