"""The examples for frameworks, for docs/frameworks.md: what one copies, without what shows it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
_SHOWN_FROM_HERE = re.compile(r"(?m)^(?:async def main|def work)\b")


def example(name: str) -> str:
    """Returns an example as a block of Markdown, up to where it is tried out."""
    source = (EXAMPLES / name / "agent.py").read_text()
    after_docstring = source.splitlines()[_end_of_docstring(source) :]
    code = _SHOWN_FROM_HERE.split("\n".join(after_docstring))[0].strip()
    return f"```python\n{code}\n```"


def _end_of_docstring(source: str) -> int:
    return ast.parse(source).body[0].end_lineno or 0
