"""A pipe in place of a file keeps nobody waiting: files that exist are opened by one opener."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.source import tree_of

SOURCE = Path(__file__).parents[2] / "src" / "takeback"
FREE = (SOURCE / "cli" / "commands" / "demo.py",)
"""Opens only what it has made itself, in a directory of its own."""


def _waiting(tree: ast.Module) -> Iterator[ast.Call]:
    """Yields each ``open`` of a path, to read it, that would wait for somebody to write."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id != "open" or any(word.arg == "opener" for word in node.keywords):
            continue
        first = ast.unparse(node.args[0])
        kernel = first.lstrip("f").strip("'\"").startswith("/proc/")
        mode = ast.unparse(node.args[1]) if len(node.args) > 1 else "'r'"
        if not kernel and "fd" not in first and "r" in mode:
            yield node


def test_what_exists_is_opened_as_an_ordinary_file() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{call.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        if not any(path.is_relative_to(free) for free in FREE)
        for call in _waiting(tree_of(path))
    ]
    assert found == [], "give it opener=ordinary"
