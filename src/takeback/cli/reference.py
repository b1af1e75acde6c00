"""The reference of the command line, written from its own help; cog puts it into docs/cli.md."""

from __future__ import annotations

import click

from takeback.cli.call import Call
from takeback.cli.main import COMMANDS, takeback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SETTINGS: Any = {"terminal_width": 88, "help_option_names": ["-h", "--help"]}


def reference() -> str:
    """Returns every command with its help, as Markdown."""
    with click.Context(takeback, info_name="takeback", obj=Call(), **_SETTINGS) as top:
        parts = [_section("takeback", takeback.get_help(top))]
        for name in COMMANDS:
            command = takeback.get_command(top, name)
            assert command is not None
            with click.Context(command, info_name=name, parent=top, **_SETTINGS) as context:
                parts.append(_section(f"takeback {name}", command.get_help(context)))
    return "\n".join(parts)


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n```text\n{text}\n```\n"
