"""Colours, or their absence."""

from __future__ import annotations


class Paint:
    """Colours text, or leaves it as it is."""

    def __init__(self, *, on: bool) -> None:
        self.on = on

    def _painted(self, text: str, codes: str) -> str:
        return f"\x1b[{codes}m{text}\x1b[0m" if self.on and text else text

    def added(self, text: str) -> str:
        return self._painted(text, "32")

    def deleted(self, text: str) -> str:
        return self._painted(text, "31")

    def id(self, text: str) -> str:
        return self._painted(text, "36")

    def strong(self, text: str) -> str:
        return self._painted(text, "1")

    def faint(self, text: str) -> str:
        return self._painted(text, "2")

    def warning(self, text: str) -> str:
        return self._painted(text, "33")
