"""Which commands say by their exit status that tests passed, and of which files."""

from __future__ import annotations

from takeback.model.coverage import TEST_COMMANDS
from takeback.model.event import EDIT, OTHER, READ, SHELL, RanTests, ToolCall
from takeback.model.tested import is_test, ran_tests

PREFIXES = tuple(tuple(prefix.split()) for prefix in TEST_COMMANDS)

TESTS = (
    "pytest",
    "pytest -q tests/test_a.py -k 'a or b'",
    ".venv/bin/pytest -x",
    "/usr/bin/python3 -m pytest",
    "cd app && npm test",
    "npm test && npm run build",
    "CI=1 FOO=2 cargo test --all 2>&1",
    "make test",
    "./gradlew test",
    "go test ./...",
)
OTHERS = (
    "",
    "echo pytest",
    "make tests-not",
    "makes test",
    "pytest | tail -5",
    "pytest || true",
    "pytest; echo done",
    "pytest &",
    "pytest\necho done",
    "pytest --collect-only",
    "go test --help",
    "echo $(pytest)",
    "true # && pytest",
)


def test_commands_are_told_apart() -> None:
    assert [one for one in TESTS if not is_test(one, PREFIXES)] == []
    assert [one for one in OTHERS if is_test(one, PREFIXES)] == []


def ran(command: str, status: int | None) -> ToolCall:
    return ToolCall("Bash", SHELL, (), command, status)


def test_the_last_thing_that_may_have_changed_files_must_be_the_tests() -> None:
    edit, read, other = (ToolCall(kind, kind) for kind in (EDIT, READ, OTHER))
    passed = RanTests("pytest -q", 0)
    for tools, expected in (
        ([], None),
        ([ran("pytest -q", None)], None),
        ([ran("pytest  -q", 0)], passed),
        ([edit, ran("pytest -q", 0), read], passed),
        ([ran("pytest -q", 0), edit], None),
        ([ran("pytest -q", 0), other], None),
        ([ran("pytest -q", 0), ran("echo x > a", 0)], None),
        ([ran("pytest -q", 0), ran("make test", 2)], RanTests("make test", 2)),
        ([ran("make test", 2), ran("pytest -q", 0)], RanTests("make test", 2)),
        ([ran("x" * 500, 0)], None),
    ):
        assert ran_tests(tools, TEST_COMMANDS) == expected, tools
    assert ran_tests([ran("just check", 0)], ("just check",)) == RanTests("just check", 0)
