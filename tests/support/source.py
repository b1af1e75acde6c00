"""The source as trees: each file is parsed once for all the tests that look through it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def tree_of(path: Path) -> ast.Module:
    """Returns the tree of a file; it is shared, and nobody changes it."""
    return ast.parse(path.read_text())
