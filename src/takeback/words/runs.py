"""What is said of a protected run."""

from __future__ import annotations

import shlex
import time

from takeback.words.text import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST = 60


def turn_words(command: Sequence[str], began: float) -> str:
    """Returns the words of a turn that nobody typed: when the first change came, and what ran."""
    line = shlex.join(command)
    line = line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
    return f"{time.strftime('%H:%M:%S', time.localtime(began))} {line}"


def end_line(turns: int, failure: str | None) -> str | None:
    """Returns what the person is told at the end; None if there is nothing to tell."""
    if failure is not None:
        return f"takeback: what changed last is not kept: {failure}. More: takeback status"
    if not turns:
        return None
    return f"takeback: {count(turns, 'turn')} kept. Take the last one back: takeback rewind"
