"""Tells from the tools of a round whether tests were run on the files as they are after it."""

from __future__ import annotations

from takeback.model.event import READ, SHELL, AwaitedTests, RanTests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from takeback.model.event import ToolCall

_LONGEST = 200
_HARMLESS = ("2>&1", "&>/dev/null", ">/dev/null", "2>/dev/null")
_NO_TESTS = frozenset(
    ("--help", "-h", "--version", "--collect-only", "--co", "--list", "--dry-run")
)


def ran_tests(
    tools: Sequence[ToolCall], prefixes: Iterable[str]
) -> RanTests | tuple[AwaitedTests, ...] | None:
    """Returns the tests that ran last among some tools; None if files may have changed since.

    They are awaited if the agent has not said of each how it ended.
    """
    known = tuple(tuple(prefix.split()) for prefix in prefixes if prefix.strip())
    found: list[tuple[str, ToolCall]] = []
    for tool in tools:
        if tool.kind == SHELL and _has_an_end(tool) and is_test(tool.command or "", known):
            found.append((" ".join((tool.command or "").split())[:_LONGEST], tool))
        elif tool.kind != READ:
            found.clear()
    if all(tool.status is not None for _, tool in found):
        return verdict([RanTests(command, tool.status or 0) for command, tool in found])
    return tuple(AwaitedTests(command, tool.call or "") for command, tool in found)


def verdict(ran: Sequence[RanTests]) -> RanTests | None:
    """Returns what several tests of the same files say together: the first that failed counts."""
    failed = (one for one in ran if not one.passed)
    return next(failed, ran[-1] if ran else None)


def _has_an_end(tool: ToolCall) -> bool:
    """Tells whether it is known how a command ended, or will be."""
    return tool.status is not None or 0 < len(tool.call or "") <= _LONGEST


def is_test(command: str, prefixes: Iterable[Sequence[str]]) -> bool:
    """Tells whether the exit status of a command is that of tests.

    Commands that are joined by ``&&`` succeed only together. With a pipe, a semicolon or a command
    in the background the status may be that of something else, and says nothing.
    """
    for harmless in _HARMLESS:
        command = command.replace(harmless, " ")
    parts = command.split("&&")
    if any(mark in command for mark in ("|", ";", "`", "$(", "\n", "#")) or "&" in "".join(parts):
        return False
    return any(_runs_tests(part.split(), prefixes) for part in parts)


def _runs_tests(words: list[str], prefixes: Iterable[Sequence[str]]) -> bool:
    while words and "=" in words[0] and not words[0].startswith(("-", "=")):
        words = words[1:]  # a variable that is set for the command
    if not words or not _NO_TESTS.isdisjoint(words):
        return False
    named = [words[0].rpartition("/")[2], *words[1:]]
    return any(
        line[: len(prefix)] == list(prefix) for prefix in prefixes for line in (words, named)
    )
