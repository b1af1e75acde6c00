"""The commands for contributors: cog makes CONTRIBUTING.md's table from the Makefile."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def targets() -> dict[str, str]:
    """Returns the targets of the Makefile that say what they do."""
    text = (ROOT / "Makefile").read_text()
    return dict(re.findall(r"^([a-z-]+):.*?## (.*)$", text, re.MULTILINE))


def table() -> str:
    """Returns the table of the commands, with the script that CI runs."""
    rows = ["| command | does |", "|---|---|"]
    rows += [f"| `make {name}` | {does} |" for name, does in targets().items() if name != "help"]
    ci = re.findall(r"^stage ([\w-]+) make", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    rows.append(f"| `.ci/run` | what CI runs: {', '.join(ci)} |")
    return "\n".join(rows)
