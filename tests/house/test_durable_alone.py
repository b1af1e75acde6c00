"""durable.py alone changes a disk: what it does is a step, and tests/crash can stop at each."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.source import tree_of

SOURCE = Path(__file__).parents[2] / "src" / "takeback"

OS = {
    "chflags",
    "chmod",
    "chown",
    "copy_file_range",
    "fchmod",
    "fchown",
    "ftruncate",
    "lchflags",
    "lchmod",
    "lchown",
    "link",
    "makedirs",
    "mkdir",
    "mkfifo",
    "mknod",
    "posix_fallocate",
    "pwrite",
    "pwritev",
    "remove",
    "removedirs",
    "removexattr",
    "rename",
    "renames",
    "replace",
    "rmdir",
    "setxattr",
    "symlink",
    "truncate",
    "unlink",
    "utime",
}
SHUTIL = {
    "chown",
    "copy",
    "copy2",
    "copyfile",
    "copyfileobj",
    "copymode",
    "copystat",
    "copytree",
    "make_archive",
    "move",
    "rmtree",
    "unpack_archive",
}
PATHLIB = {
    "chmod",
    "hardlink_to",
    "lchmod",
    "mkdir",
    "rename",
    "rmdir",
    "symlink_to",
    "touch",
    "unlink",
    "write_bytes",
    "write_text",
}
KERNEL = {"exchange", "rename_to_free_name"}
OPENING = ("O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC", "O_TMPFILE")
EXEMPT = {
    "durable.py": "it is the one",
    "kernel.py": "it has the calls that only durable.py may make",
    "cli/commands/demo.py": "it plays an agent, in a directory that is thrown away",
    "testing.py": "tests run it, in a directory of theirs",
}
ALLOWED = {
    ("handover.py", "posix.open(proof, posix.O_RDWR | posix.O_CLOEXEC)"): "to prove that it can",
    (
        "ledger/file.py",
        "sqlite3.connect(path, timeout=self._patience, isolation_level=None, "
        "check_same_thread=False)",
    ): "SQLite",
    ("worktree/watch.py", "os.pwrite(self.fd, data, at)"): "it is memory, without a name",
    ("ledger/file.py", "sqlite3.connect(path, timeout=0, isolation_level=None)"): "SQLite",
}


def writes(tree: ast.Module) -> Iterator[str]:
    """Yields the calls in a module that change a disk, or open what they could change."""
    imports = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    imports |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    constants = {
        target.id: ast.unparse(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("os", "posix", "shutil"):
            bad = {alias.name for alias in node.names} & (OS | SHUTIL | {"open", "fdopen"})
            yield from (f"from {node.module} import {name}" for name in sorted(bad))
        if not isinstance(node, ast.Call):
            continue
        if _changes(node, constants, has_pathlib="pathlib" in imports):
            yield ast.unparse(node)


def _changes(node: ast.Call, constants: dict[str, str], *, has_pathlib: bool) -> bool:
    called = node.func
    if isinstance(called, ast.Name):
        return called.id == "open" and _opens(node, 1)
    if not isinstance(called, ast.Attribute):
        return False
    owner = ast.unparse(called.value)
    if owner in ("os", "posix"):
        if called.attr == "open":
            return _opens_flags(node, constants)
        return called.attr in OS or (called.attr == "fdopen" and _opens(node, 1))
    if owner == "shutil":
        return called.attr in SHUTIL
    if owner in ("tempfile", "sqlite3"):
        return called.attr not in ("Connection", "Row", "gettempdir")
    if owner in ("kernel", "ctypes"):
        return called.attr in KERNEL
    if called.attr == "bind":
        return "socket" in owner.lower() or owner == "door"
    return has_pathlib and (called.attr in PATHLIB or (called.attr == "open" and _opens(node, 0)))


def _opens(node: ast.Call, position: int) -> bool:
    """Tells whether ``open`` opens for writing; a mode that is not written out counts as that."""
    modes = [key.value for key in node.keywords if key.arg == "mode"] + node.args[position:][:1]
    if not modes or (node.args and ast.unparse(node.args[0]) == "os.devnull"):
        return False
    mode = modes[0]
    return not isinstance(mode, ast.Constant) or bool(set(str(mode.value)) & set("wax+"))


def _opens_flags(node: ast.Call, constants: dict[str, str]) -> bool:
    if ast.unparse(node.args[0]) == "os.devnull":
        return False
    flags = " ".join(ast.unparse(arg) for arg in node.args[1:])
    for name, value in constants.items():
        if name in flags:
            flags += f" {value}"
    return any(flag in flags for flag in OPENING)


def test_nothing_else_changes_a_disk() -> None:
    found = {
        (str(path.relative_to(SOURCE)), call)
        for path in SOURCE.rglob("*.py")
        if str(path.relative_to(SOURCE)) not in EXEMPT
        for call in writes(tree_of(path))
    }
    assert found - set(ALLOWED) == set()
    assert set(ALLOWED) <= found  # an exception that nobody needs any more goes
    assert all((SOURCE / name).exists() for name in EXEMPT)


def test_each_change_in_durable_is_a_step() -> None:
    """What is not announced to tests/crash cannot be tried there."""
    tree = tree_of(SOURCE / "durable.py")
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        calls = [call for call in writes(ast.Module([function], [])) if "umask" not in call]
        if calls and function.name not in ("replace_file", "create_file", "make_directories"):
            steps = [ast.unparse(node) for node in ast.walk(function) if isinstance(node, ast.Call)]
            assert any(step.startswith("_step(") for step in steps), function.name


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("os.rename(a, b)", True),
        ("from os import replace", True),
        ("from shutil import rmtree", True),
        ("shutil.rmtree(a)", True),
        ("open(a, 'w')", True),
        ("open(a, mode='ab')", True),
        ("open(a, how)", True),
        ("open(a)", False),
        ("open(a, 'rb')", False),
        ("open(os.devnull, 'w')", False),
        ("F = os.O_RDWR\nos.open(a, F)", True),
        ("os.open(a, os.O_RDONLY | os.O_CREAT)", True),
        ("os.open(a, os.O_RDONLY)", False),
        ("from pathlib import Path\nPath(a).write_text(b)", True),
        ("import pathlib\na.open('w')", True),
        ("formatter.write_text(b)", False),
        ("os.setxattr(a, b, c)", True),
        ("posix.unlink(a)", True),
        ("self._socket.bind(a)", True),
        ("import tempfile\ntempfile.mkdtemp()", True),
        ("os.write(fd, b)", False),
    ],
)
def test_what_changes_a_disk_is_seen(code: str, found: bool) -> None:
    assert bool(list(writes(ast.parse(code)))) is found


def test_the_names_are_those_of_python() -> None:
    missing = {name for name in OS if not hasattr(os, name)}
    assert missing <= {"chflags", "lchflags", "lchmod"}  # those of macOS
