"""What a test notes of an agent: the columns of the table in docs/agents, and whether they hold.

A run of the tests notes in its report, of each test, which agent it had and whether what it tried
held (``scripts/real_agents.py`` reads that).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from scripts.tried import COLUMNS

AGENT = "agent"
"""The note of a test's agent."""

Note = Callable[[str, object], None]
"""Notes a fact in the report of the run."""


def nowhere(name: str, value: object) -> None:
    """Notes nothing."""


class Tried:
    """What one test tries of the columns: one that does not hold does not end it.

    A context manager; what did not hold fails the test at its end.
    """

    def __init__(self, note: Note) -> None:
        self._note = note
        self._failures: list[AssertionError] = []

    def __enter__(self) -> Tried:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            for failure in self._failures:
                error.add_note(f"Before that: {failure}")
        elif self._failures:
            raise self._failures[0]

    @contextmanager
    def that(self, column: str) -> Iterator[None]:
        """Notes whether what is asserted in the block holds."""
        try:
            yield
        except AssertionError as failure:
            failure.add_note(f"{column}: {COLUMNS[column]}")
            self._failures.append(failure)
            self._note(column, "no")
        else:
            self._note(column, "yes")
