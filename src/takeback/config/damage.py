"""Damaged settings: a typo must not keep a person from going back, nor change what is captured.

A file that does not read as settings is taken as far as it can be: each assignment that reads by
itself counts, and where one does not, the value that the file last gave (``compiled.py``). If that
is not known either, nobody can say what the person wanted to keep out of the store, or in it. Then
commands that look go on with the defaults; nothing is captured and nothing is dropped.
"""

from __future__ import annotations

from takeback.errors import TakebackError
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from takeback.errors import Hint

_LINES = 200
"""The longest value that is looked for, in lines."""


class Damage(Value):
    """What is wrong with a file of settings; ``is_known`` says that its values are known anyway."""

    path: str
    reason: str
    is_known: bool
    hint: Hint = ""

    def __str__(self) -> str:
        force = "what else it says, or last said, is in force"
        if not self.is_known:
            force = "until it is mended nothing is captured or dropped"
        return f"the settings in {self.path} do not read: {self.reason}; {force}"


def salvaged(text: str, check: Callable[[str, Any], Any]) -> dict[str, Any]:
    """Returns the settings of a damaged text that read by themselves and that ``check`` takes."""
    found = {}
    lines = text.splitlines()
    for start, line in enumerate(lines):
        if line.lstrip().startswith("["):
            break  # what follows is in a table, and no setting is
        for name, value in _assignment(lines, start):
            try:
                found[name] = check(name, value)
            except TakebackError:
                continue
    return found


def _assignment(lines: list[str], start: int) -> Iterator[tuple[str, Any]]:
    """Yields the assignment that begins at a line, if one does; it may span several lines."""
    import tomllib

    if "=" not in lines[start]:
        return
    for end in range(start + 1, min(len(lines), start + _LINES) + 1):
        try:
            yield from tomllib.loads("\n".join(lines[start:end])).items()
        except ValueError:
            continue
        return
