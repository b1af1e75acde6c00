"""Whoever waits for a process, a thread or an event says how long."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.source import tree_of

TESTS = Path(__file__).parents[1]
FOR_EVER = {TESTS / "house" / "test_alarm.py": "it shows what ends that"}
PRODUCT = TESTS.parent / "src" / "takeback"
REASONS = TESTS.parent / "docs" / "design" / "waits.md"
METHODS = frozenset(("acquire", "get", "join", "result", "wait"))
"""Those that wait for as long as it takes, if they are given nothing."""


def unbounded(tree: ast.Module) -> Iterator[ast.expr | ast.While]:
    """Yields the waits that have no bound, as far as that can be told from the words.

    What is awaited is none: a loop serves others meanwhile, and whoever runs it has the bound.
    """
    awaited = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Await)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and id(node) not in awaited and _waits(node):
            yield node
        elif isinstance(node, ast.With):
            yield from (one.context_expr for one in node.items if _starts(one.context_expr))
        elif isinstance(node, ast.While) and _polls(node):
            yield node


def _waits(call: ast.Call) -> bool:
    words = ast.unparse(call)
    if words.startswith(("os.wait(", "os.wait3(")):
        return True
    if words.startswith(("os.waitpid(", "os.waitid(", "os.wait4(")):
        return not any(word in words for word in ("WNOHANG", "WUNTRACED", "looking"))
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "communicate":
        return all(word.arg != "timeout" for word in call.keywords)
    return call.func.attr in METHODS and not call.args and not call.keywords


def _starts(context: ast.expr) -> bool:
    """Tells whether a block waits at its end for a process that nobody ends."""
    return isinstance(context, ast.Call) and ast.unparse(context.func).endswith("Popen")


def _polls(loop: ast.While) -> bool:
    """Tells whether a loop looks again and again, for however long nothing comes."""
    words = ast.unparse(loop)
    return "sleep(" in words and "monotonic()" not in words


def test_no_test_waits_without_a_bound() -> None:
    """``Started``, ``wait_for``, ``join`` and ``reap`` of tests/support/processes.py have one."""
    found = [
        f"{path.relative_to(TESTS)}:{node.lineno}: {ast.unparse(node).splitlines()[0]}"
        for path in sorted(TESTS.rglob("*.py"))
        if path not in FOR_EVER
        for node in unbounded(tree_of(path))
    ]
    assert found == []
    assert all(list(unbounded(tree_of(path))) for path in FOR_EVER)


def test_each_wait_of_the_product_has_a_bound_or_a_reason() -> None:
    """The reasons stand in docs/design/waits.md."""
    found = {
        (str(path.relative_to(PRODUCT)), ast.unparse(node).splitlines()[0])
        for path in sorted(PRODUCT.rglob("*.py"))
        for node in unbounded(tree_of(path))
    }
    rows = [line.split("`") for line in REASONS.read_text().splitlines() if line.startswith("| `")]
    named = {(row[1], row[3]) for row in rows}

    def is_row(wait: tuple[str, str], row: tuple[str, str]) -> bool:
        return wait[0] == row[0] and wait[1].startswith(row[1])

    assert [wait for wait in sorted(found) if not any(is_row(wait, row) for row in named)] == []
    assert [row for row in sorted(named) if not any(is_row(wait, row) for wait in found)] == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("process.wait()", True),
        ("process.wait(60)", False),
        ("process.wait(timeout=60)", False),
        ("await event.wait()", False),
        ("process.communicate()", True),
        ("process.communicate(b'yes')", True),
        ("process.communicate(b'yes', timeout=60)", False),
        ("thread.join()", True),
        ("', '.join(words)", False),
        ("future.result()", True),
        ("queue.get()", True),
        ("words.get('a')", False),
        ("lock.acquire()", True),
        ("os.wait()", True),
        ("os.waitpid(pid, 0)", True),
        ("os.waitpid(pid, os.WNOHANG)", False),
        ("with subprocess.Popen(words) as process: pass", True),
        ("with a(), Popen(words) as process: pass", True),
        ("with Started(words) as process: pass", False),
        ("while not there(): time.sleep(1)", True),
        ("while time.monotonic() < end: time.sleep(1)", False),
        ("while read(): pass", False),
    ],
)
def test_a_wait_without_a_bound_is_seen(code: str, found: bool) -> None:
    assert bool(list(unbounded(ast.parse(code)))) is found
