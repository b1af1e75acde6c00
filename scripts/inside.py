"""What can be typed inside an agent: cog makes the table of docs/inside.md from the vocabulary."""

from __future__ import annotations

from takeback.prompt_command.vocabulary import usage


def table(command: str = "/takeback") -> str:
    """Returns the table of all that can be typed."""
    rows = ["| type | and |", "|---|---|"]
    return "\n".join([*rows, *(f"| `{form}` | {does} |" for form, does in usage(command))])
