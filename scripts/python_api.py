"""The methods of ``Takeback``, for docs/python.md."""

from __future__ import annotations

import ast
from pathlib import Path

APP = Path(__file__).parents[1] / "src" / "takeback" / "app"
PARTS = [APP / "public" / f"{name}.py" for name in ("keeping", "looking", "moving", "upkeep")]
PAGE = (APP / "api.py", *PARTS)


def table() -> str:
    """Returns a table of the page: a group of rows for each of its headings."""
    return "\n".join(row for part in PAGE for row in _rows(part.read_text()))[1:]


def _rows(source: str) -> list[str]:
    lines = source.splitlines()
    [page] = [n for n in ast.parse(source).body if isinstance(n, ast.ClassDef)]
    made = []
    for at, node in ((n.lineno, n) for n in page.body if isinstance(n, ast.FunctionDef)):
        heading = next((x[9:] for x in lines[_above(node) - 3 : at - 1] if x[4:9] == "# -- "), None)
        if heading is not None:
            made += ["", f"**{heading.capitalize()}**", "", "| | |", "|---|---|"]
        if not node.name.startswith("_"):
            about = (ast.get_docstring(node) or "").splitlines()[0].replace("``", "`")
            made.append(f"| `{_call(node)}` | {about} |")
    return made


def _above(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _call(node: ast.FunctionDef) -> str:
    """Returns how it is called; for a property, only its name."""
    if any(isinstance(one, ast.Name) and one.id == "property" for one in node.decorator_list):
        return node.name
    args = node.args
    words = [one.arg for one in args.args if one.arg not in ("self", "cls")]
    first_optional = len(words) - len(args.defaults)
    shown = [w if n < first_optional else f"{w}=…" for n, w in enumerate(words)]
    if args.vararg is not None:
        shown.append(f"*{args.vararg.arg}")
    elif args.kwonlyargs:
        shown.append("*")
    shown += [f"{one.arg}=…" for one in args.kwonlyargs]
    return f"{node.name}({', '.join(shown)})"
