"""Writes src/takeback/app/awaited from src/takeback/app/public; with --check only compares it.

Each method of ``Takeback`` has the same name, arguments and words in ``AsyncTakeback``, and is
awaited: what is written in one place is decided in one place. A property that looks becomes a
method, as nobody can wait for a property.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

APP = Path(__file__).resolve().parents[1] / "src" / "takeback" / "app"
PARTS = ("keeping", "looking", "moving", "upkeep")

LOOKS = {
    "agents",
    "cat",
    "checkpoints",
    "conversation",
    "find",
    "messages",
    "operations",
    "search",
    "sessions",
    "show",
    "status",
    "trash",
    "tree",
}
"""Those that look only at what is kept: beside an operation. The others are done in their turn."""

MADE = (
    "Made by scripts/async_api.py of ``app/public/{part}.py``: change that, and run ``make docs``."
)
_LAMBDA = "lambda tb: "


def twin(part: str) -> str:
    """Returns the source of the twin of one part."""
    source = (APP / "public" / f"{part}.py").read_text()
    module = ast.parse(source)
    [page] = [node for node in module.body if isinstance(node, ast.ClassDef)]
    lines = source.splitlines()
    about = (ast.get_docstring(module) or "").replace("the Python API", "the awaited Python API")
    head = lines[len((ast.get_docstring(module, clean=False) or "").splitlines()) :]
    head = head[: _first_line(page) - 1 - (len(lines) - len(head))]
    made = [f'"""{about}', "", MADE.format(part=part), '"""', *head, ""]
    made += ["@checked", f"class {page.name.replace('Public', 'Awaited')}:"]
    made += [f'    """{ast.get_docstring(page)}"""', "", "    _asking: Asking", ""]
    for node in page.body:
        if isinstance(node, ast.FunctionDef):
            made += [*_comments_above(lines, node), *_method(source, node), ""]
    return _tidied("\n".join(made))


def _first_line(node: ast.ClassDef | ast.FunctionDef) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _comments_above(lines: list[str], node: ast.FunctionDef) -> list[str]:
    above = lines[_first_line(node) - 3]
    return [above, ""] if above.startswith("    # -- ") else []


def _method(source: str, node: ast.FunctionDef) -> list[str]:
    lines = source.splitlines()
    decorators = {one.id for one in node.decorator_list if isinstance(one, ast.Name)}
    last = node.body[-1]
    assert isinstance(last, (ast.Return, ast.Expr))
    assert last.value is not None
    call = ast.get_source_segment(source, last.value) or ""
    above = lines[node.lineno - 1 : last.lineno - 1]
    above[0] = above[0].replace("def ", "async def ", 1)
    if "staticmethod" in decorators:
        return ["    @staticmethod", *above, f"        return await beside(lambda: {call})"]
    assert call.startswith("self.engine."), f"{node.name} is not that of the engine alone"
    how = "look" if node.name in LOOKS else "aside" if "aside" in decorators else "work"
    asked = f"await self._asking.{how}({_LAMBDA}{call.replace('self.engine.', 'tb.')})"
    return [*above, f"        {'return ' if isinstance(last, ast.Return) else ''}{asked}"]


def _tidied(source: str) -> str:
    """Returns the source with the imports that it needs, formatted."""
    source = re.sub(r"from takeback\.app\.alone import .*\n", "", source)
    if "beside(" in source:
        first = "from __future__ import annotations\n"
        source = source.replace(first, f"{first}from takeback.app.threads import beside\n")
    typed = "if TYPE_CHECKING:\n"
    source = source.replace(typed, f"{typed}    from takeback.app.threads import Asking\n")
    for words in (["check", "--fix", "--select", "F401,I"], ["format"]):
        source = subprocess.run(
            [sys.executable, "-m", "ruff", *words, "--quiet", "--stdin-filename", __file__, "-"],
            input=source,
            text=True,
            capture_output=True,
            check=True,
        ).stdout
    return source


def main() -> int:
    old = [part for part in PARTS if twin(part) != _text(APP / "awaited" / f"{part}.py")]
    if "--check" not in sys.argv:
        for part in old:
            (APP / "awaited" / f"{part}.py").write_text(twin(part))
        return 0
    if old:
        print(f"app/awaited is not current ({', '.join(old)}): make docs", file=sys.stderr)
    return 1 if old else 0


def _text(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


if __name__ == "__main__":
    sys.exit(main())
