"""Questions to the ledger: Python 3.12 refuses numbered parameters that do not begin at 1."""

from __future__ import annotations

import ast
import re

import pytest

from tests.docs.test_house import PACKAGE
from tests.support.source import tree_of

MODULES = sorted((PACKAGE / "ledger").glob("*.py"))
IN_TWO_PARTS = {"ledger.point_before", "lists.last_told", "lists.told_since", "lists._newest"}
"""Whose question another function completes."""


def texts(node: ast.AST, known: dict[str, str]) -> str:
    """Returns all text in a function, with that of the module's constants that it names."""
    found = []
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            found.append(known.get(one.id, ""))
        elif isinstance(one, ast.Constant) and isinstance(one.value, str):
            found.append(one.value)
    return "\n".join(found)


def questions() -> dict[str, set[int]]:
    """Returns the numbers of the parameters in each function's questions."""
    found = {}
    for path in MODULES:
        tree = tree_of(path)
        known: dict[str, str] = {}
        for one in tree.body:
            if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
                known[one.targets[0].id] = texts(one.value, known)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                numbers = {int(number) for number in re.findall(r"\?(\d)", texts(node, known))}
                if numbers:
                    found[f"{path.stem}.{node.name}"] = numbers
    return found


@pytest.mark.parametrize("name", sorted(questions().keys() - IN_TWO_PARTS))
def test_numbered_parameters_begin_at_one_and_leave_none_out(name: str) -> None:
    numbers = questions()[name]
    assert numbers == set(range(1, max(numbers) + 1))
