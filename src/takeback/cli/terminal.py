"""The terminal: whether there is one, colours, questions, and the progress of long jobs."""

from __future__ import annotations

import os
import sys
import time

from takeback.cli.numbers import number_of
from takeback.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from rich.progress import Progress, TaskID

PATIENCE = 1.0
"""Seconds of silence before a progress bar appears."""
BETWEEN = 0.05
"""Seconds between two pictures of it: drawing one takes longer than most steps of a job."""


def is_terminal(stream: TextIO | None) -> bool:
    """Tells whether a person is at the other end."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def terminal_width(stream: TextIO) -> int | None:
    """Returns how many characters fit into a line; None if there is no terminal."""
    if not is_terminal(stream):
        return None
    from shutil import get_terminal_size

    return get_terminal_size().columns


def wants_color(choice: str, stream: TextIO) -> bool:
    """Decides about colour: ``always`` and ``never`` are obeyed, ``auto`` looks around."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return is_terminal(stream)


class Unanswered(KeyboardInterrupt):
    """Ctrl-C at a question: what was asked about is not done."""


def ask(question: str) -> str:
    """Asks on stderr and returns the line typed; empty at the end of the input.

    Raises Unanswered on Ctrl-C.
    """
    return _typed(question).strip()


def _typed(question: str) -> str:
    """Returns the line as it was typed: without its end if that was the end of the input."""
    make_way()
    sys.stderr.write(question)
    sys.stderr.flush()
    try:
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        raise Unanswered from None
    if not line.endswith("\n"):
        sys.stderr.write("\n")
    return line


def agrees(question: str) -> bool:
    """Asks a question whose default is No."""
    return ask(f"{question} [y/N] ").lower() in ("y", "yes")


def choose(
    question: str, choices: Sequence[str], about: Sequence[str], *, first: bool = False
) -> str:
    """Asks for one of several, each with a description; raises UsageError if none is named.

    With ``first`` an empty line means the first of them; the end of the input never does.
    """
    widest = max(map(len, choices))
    for number, (choice, words) in enumerate(zip(choices, about, strict=True), 1):
        sys.stderr.write(f"  {number}  {choice:<{widest}}  {words}\n")
    typed = _typed(f"{question} [1-{len(choices)}{', Enter: 1' if first else ''}] ")
    answer = typed.strip()
    if first and typed.endswith("\n") and not answer:
        return choices[0]
    if answer in choices:
        return answer
    chosen = number_of(answer, len(choices))
    if chosen is not None:
        return choices[chosen - 1]
    raise UsageError("none was chosen; nothing was done")


_showing: list[TerminalReporter] = []
"""Whose bar stands on the terminal, of which there is one."""


def make_way() -> None:
    """Removes the bar that stands on the terminal: something else is about to be said there."""
    for reporter in list(_showing):
        reporter.close()


class TerminalReporter:
    """Shows how a long job is going: prints notes, and on a terminal a bar after a second.

    The bar has no thread of its own (the scan forks): it moves when the job reports. The second
    counts from the first report since anything else was said or asked.
    """

    def __init__(self, say: Callable[[str], None], *, bar: bool) -> None:
        self._say = say
        self._wanted = bar
        self._since: float | None = None
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._drawn = 0.0

    def progress(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._wanted:
            return
        if self._since is None:
            self._since = now
            _showing.append(self)
        if now - self._since < PATIENCE:
            return
        if now - self._drawn < BETWEEN:
            return
        self._drawn = now
        if self._bar is None:
            self._bar = _new_bar()
        if what not in self._tasks:
            self._tasks[what] = self._bar.add_task(what, total=None)
        self._bar.update(self._tasks[what], completed=done, total=total or None)
        self._bar.refresh()

    def note(self, text: str) -> None:
        self.close()
        self._say(text)

    def close(self) -> None:
        """Removes the bar; the next one waits for a second again."""
        if self._since is not None:
            self._since = None
            _showing.remove(self)
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
            self._tasks.clear()


def _new_bar() -> Progress:
    # rich takes 48 ms to import: only once somebody has waited for a second.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True, force_terminal=True),  # the caller has checked
        transient=True,
        auto_refresh=False,
    )
    bar.start()
    return bar
