"""The examples in docstrings run, each as the program of somebody who copied it."""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from takeback import Takeback

_SOURCE = Path(__file__).parents[2] / "src" / "takeback"
_AGENT = {
    "with": 'def run_my_agent(turn):\n    open("app.py", "w").write("the agent\'s")\n',
    "async with": 'async def run_my_agent(turn):\n    open("app.py", "w").write("the agent\'s")\n',
}
_HAVE_DOCSTRINGS = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _examples() -> Iterator[tuple[str, str]]:
    """Yields the name of a file and each example in its docstrings."""
    for path in sorted(_SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            said = ast.get_docstring(node) if isinstance(node, _HAVE_DOCSTRINGS) else None
            parts = (said or "").split("\n\n")
            at = [n for n, part in enumerate(parts) if part.startswith("from takeback")]
            if at:
                code = "\n\n".join(takewhile(_is_code, parts[at[0] :]))
                yield str(path.relative_to(_SOURCE)), code


def _is_code(part: str) -> bool:
    try:
        ast.parse(part)
    except SyntaxError:
        return part.startswith("async with")
    return True


EXAMPLES = dict(_examples())


def test_the_public_api_has_examples() -> None:
    assert set(EXAMPLES) >= {"app/api.py", "app/async_api.py", "client/__init__.py"}


@pytest.mark.parametrize("where", EXAMPLES)
def test_an_example_runs_and_leaves_what_it_took_back(where: str, workspace: Path) -> None:
    file = workspace / "app.py"
    file.write_text("0")
    with Takeback.open(workspace) as tb:
        session = tb.session(agent="mine", native="before")
        for number in range(1, 5):
            with session.turn(f"turn {number}"):
                file.write_text(str(number))
    code = EXAMPLES[where]
    kind = "async with" if "async with" in code else "with"
    if kind == "async with":
        body = textwrap.indent(code, "    ")
        code = f"import asyncio\nasync def main():\n{body}\nasyncio.run(main())\n"
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", _AGENT[kind] + code],
        cwd=workspace,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    # the client goes back to before turn 3; the others take back their own rewind, too
    assert file.read_text() == ("2" if where.startswith("client") else "the agent's")
