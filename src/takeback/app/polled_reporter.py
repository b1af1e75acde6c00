"""What the workspace reports while it works, kept until the screen polls."""

from __future__ import annotations

_NOTES_KEPT = 100
"""Who never asks for them is told only the newest."""


class PolledReporter:
    """The picker's ``Reporter``. The workspace's thread writes to it, the screen's reads it."""

    def __init__(self) -> None:
        self.step: tuple[str, int, int] | None = None
        self._notes: list[str] = []

    def progress(self, what: str, done: int, total: int) -> None:
        self.step = (what, done, total)

    def note(self, text: str) -> None:
        self._notes = [*self._notes[1 - _NOTES_KEPT :], text]

    def take_notes(self) -> list[str]:
        """Returns what was noted since the last time."""
        taken, self._notes = self._notes, []
        return taken
