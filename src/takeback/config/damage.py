"""Damaged settings: a typo must not keep a person from going back, nor end what is kept.

A file is taken as far as it reads. A key that nobody knows is passed over, and named: it may be of
a newer version. Where a value does not read, what the file last gave is in force (``compiled.py``),
or else the default. What forbids something is never guessed: without a word from before, just what
it may forbid is not done (``CLOSED``). Captures go on; until the file is mended nothing is dropped.
"""

from __future__ import annotations

from takeback.config import ReadSettings
from takeback.errors import UsageError
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from takeback.errors import Hint

CLOSED: dict[str, tuple[str | None, str]] = {
    "exclude": (None, "nothing is captured"),
    "never": (None, "no event is recorded"),
    "only": (None, "no event is recorded"),
    "capture": ("off", "no event is recorded"),
    "sensitive": ("skip", "files that usually hold a secret are left out"),
    "ignored": ("off", "no ignored file is saved with a checkpoint"),
    "conversation": ("off", "no transcript is kept"),
}
"""What holds where a setting that may forbid something does not read: its value, or None where
whoever needs it refuses; and what that means."""
MEND: Hint = "mend it, or remove it"
_LINES = 200
"""The longest value that is looked for, in lines."""
_ONE_SLIP = 0.85
_LOST = "\ufffd"
"""What stands for bytes that are no text."""


class Damage(Value):
    """What is wrong with a file of settings; ``is_known`` says that captures go on all the same."""

    path: str
    reason: str
    is_known: bool
    hint: Hint = ""

    def __str__(self) -> str:
        nothing = "nothing is dropped" if self.is_known else "nothing is captured or dropped"
        return (
            f"the settings in {self.path} do not read: {self.reason}; until it is mended {nothing}"
        )


class SortedSettings:
    """Sorts what a file says into what is in force and what is wrong.

    ``check`` returns a value that a setting may have, or raises UsageError; ``before`` is what the
    file last gave when all of it was well, if that is known.
    """

    def __init__(
        self, path: str, check: Callable[[str, Any], Any], defaults: Mapping[str, Any]
    ) -> None:
        self._path, self._check, self._defaults = path, check, defaults
        self._values: dict[str, Any] = {}
        self._bad: dict[str, str] = {}
        self._wrong: list[str] = []
        self._hint: Hint = ""

    def take(self, said: Mapping[str, Any]) -> None:
        """Takes what reads."""
        for name, value in said.items():
            meant = name if name in self._defaults else _meant(name)
            if meant is None or (meant != name and meant in said):
                self._pass_over(name)
                for inner in CLOSED.keys() & value if isinstance(value, dict) else ():
                    self._bad[inner] = f"{inner} stands below [{name}], where no setting is"
                continue
            try:
                found = self._check(meant, value)
                if _LOST in repr(value):
                    raise UsageError(f"{name} is no text")
            except UsageError as error:
                self._bad[meant] = error.message
                self._hint = self._hint or error.advice
                continue
            if meant == name:
                self._values[name] = found
            elif found == self._defaults[meant]:
                self._pass_over(name)
            else:  # whatever it forbids was meant
                self._values[meant] = found
                self._wrong.append(f"there is no setting {name!r}, it is taken for {meant}")

    def take_in_part(self, text: str, reason: str) -> None:
        """Takes each assignment of a text that reads by itself; the text itself does not."""
        self._wrong.append(reason)
        said, twice = _salvaged(text)
        self.take(said)
        rest = {name for name in self._defaults if _names(text, name)} - self._values.keys()
        for name in sorted(rest | twice):
            self._values.pop(name, None)
            self._bad.setdefault(name, f"{name} does not read")

    def reading(
        self, before: Callable[[], Mapping[str, Any] | None], *, whole: bool
    ) -> ReadSettings:
        """Returns what is in force; without ``whole``, also what the file seems to say no more."""
        if not self._bad and not self._wrong:
            return ReadSettings(self._values)
        last = self._good(before() or {})
        if not whole:
            self._values = {**last, **self._values}
        closed = set()
        for name, reason in self._bad.items():
            if name in last:
                self._values[name] = last[name]
                said = "what it last said is in force"
            elif name in CLOSED:
                value, said = CLOSED[name]
                closed.add(name)
                if value is not None:
                    self._values[name] = value
            else:
                said = "its default is in force"
            self._wrong.append(f"{reason}: {said}")
        damage = Damage(
            self._path, "; ".join(self._wrong), "exclude" not in closed, self._hint or MEND
        )
        return ReadSettings(self._values, damage, frozenset(closed))

    def _good(self, last: Mapping[str, Any]) -> dict[str, Any]:
        """Returns what of an earlier reading is good still: it may be that of another version."""
        good = {}
        for name, value in last.items():
            try:
                good[name] = self._check(name, value)
            except UsageError:
                continue
        return good

    def _pass_over(self, name: str) -> None:
        from difflib import get_close_matches

        near = get_close_matches(name, self._defaults, n=1)
        asked = f" (did you mean {near[0]}?)" if near else ""
        self._wrong.append(f"there is no setting {name!r}{asked}, it is passed over")


def unreadable(path: str, reason: str, before: Mapping[str, Any] | None) -> ReadSettings:
    """Returns what is in force where nothing of a file can be read."""
    damage = Damage(path, reason, before is not None, MEND)
    if before is None:
        return ReadSettings({}, damage, frozenset(CLOSED))
    return ReadSettings(
        dict(before), damage.replace(reason=f"{reason}; what it last said is in force")
    )


def _meant(name: str) -> str | None:
    """Returns the setting that forbids something and is one slip away; None if there is none."""
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), CLOSED, n=1, cutoff=_ONE_SLIP)
    return near[0] if near else None


def _names(text: str, name: str) -> bool:
    """Tells whether a text may be about a setting: as a key, or anywhere if that may forbid."""
    import re

    pattern = rf"^[^#\n]*\b{name}\b" if name in CLOSED else rf"^\s*[\"']?{name}[\"']?\s*="
    return re.search(pattern, text, re.MULTILINE) is not None


def _salvaged(text: str) -> tuple[dict[str, Any], set[str]]:
    """Returns the assignments of a damaged text that read by themselves, and what is said twice."""
    found: dict[str, Any] = {}
    twice: set[str] = set()
    lines = text.splitlines()
    for start, line in enumerate(lines):
        if line.lstrip().startswith("["):
            break  # what follows is in a table, and no setting is
        for name, value in _assignment(lines, start):
            if found.setdefault(name, value) != value:
                twice.add(name)
    return found, twice


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
