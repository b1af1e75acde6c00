"""Words of a closed vocabulary are types and constants, never strings that are compared bare."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import takeback
from tests.support.source import tree_of

SOURCE = Path(takeback.__file__).parent


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), tree_of(path)


def texts(node: ast.AST) -> Iterator[str]:
    """Yields the strings that stand in an expression by themselves or in a collection."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        for element in node.elts:
            yield from texts(element)


def vocabulary() -> frozenset[str]:
    """Returns every word of every ``Literal`` type in the source."""
    return frozenset(
        word
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == "Literal"
        for word in texts(node.slice)
    )


def compared(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yields each string that something is compared with, or matched by, and its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                yield from ((node.lineno, word) for word in texts(side))
        if isinstance(node, ast.MatchValue):
            yield from ((node.lineno, word) for word in texts(node.value))


def test_kinds_scopes_phases_and_states_are_literal_types() -> None:
    words = vocabulary()
    assert {"rewind", "both", "running", "oversized", "turn_end", "during_turn"} <= words


def test_no_bare_string_is_compared_with_a_word_of_a_vocabulary() -> None:
    words = vocabulary()
    found = [
        f"{name}:{line}: {word!r}"
        for name, tree in trees()
        # what an agent calls things is that agent's vocabulary
        if not name.startswith("adapters/")
        for line, word in compared(tree)
        if word in words
    ]
    assert not found
