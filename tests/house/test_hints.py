"""The core names no option and no command in a sentence: those are data, worded by each face."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import takeback
from takeback.cli.main import COMMANDS
from tests.support.source import tree_of

SOURCE = Path(takeback.__file__).parent
FACES = ("cli/", "tui/", "stdio/", "acp/", "mcp/", "words/", "prompt_command/", "hook.py")
SAYS = re.compile(rf"\btakeback (?:{'|'.join(COMMANDS)})\b|(?:^|[\s(])--[a-z][a-z-]+")
MADE = re.compile(
    r"(Error|Refused|Refusal|Finding|(?<!Git)Failed|Checkpoint|Damaged|Workspace|InUse)$"
)


def sentences(call: ast.Call) -> Iterator[tuple[int, str]]:
    """Yields the texts in the arguments of a call, those of commands and options apart."""
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        inside = [argument]
        while inside:
            node = inside.pop()
            if isinstance(node, ast.Call):
                continue
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.lineno, node.value
            inside.extend(n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr))


def test_no_error_of_the_core_names_an_option_or_a_command_in_its_words() -> None:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name.startswith(FACES):
            continue
        for node in ast.walk(tree_of(path)):
            if not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
            called = called.id if isinstance(called, ast.Name) else called
            if isinstance(called, str) and MADE.search(called):
                found += [
                    f"{name}:{at}: {text}" for at, text in sentences(node) if SAYS.search(text)
                ]
    assert not found
