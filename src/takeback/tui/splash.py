"""Holds the terminal while the picker's library is loaded, which takes 250 ms.

What is typed meanwhile is neither shown nor lost: the picker reads it later.
"""

from __future__ import annotations

import os
import signal
import sys
import termios

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

_ENTER = b"\x1b[?1049h\x1b[?25l"
_CLEAR = "\x1b[2J\x1b[H"
_LEAVE = b"\x1b[?1049l\x1b[?25h\x1b[0m"


class Splash:
    """Holds the terminal: first with a frame that ``draw`` makes, in the end as it was before.

    The frame is drawn again when the terminal gets another size, until the picker's library takes
    that over. It enters the alternate screen again, which changes nothing, and leaves it. The
    terminal settings that it finds are already ours, so the original ones are restored here.
    """

    def __init__(self, draw: Callable[[int, int], str]) -> None:
        self._draw = draw
        self._settings: list[Any] | None = None
        self._is_drawing = self._is_stale = False

    def __enter__(self) -> Splash:
        fd = sys.__stdin__.fileno()  # type: ignore[union-attr]
        self._settings = termios.tcgetattr(fd)
        quiet = termios.tcgetattr(fd)
        # Ctrl-C is a key like the others, for the picker to read: the library's event loop would
        # take an interrupt that comes before its first screen, and might go on.
        quiet[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN)
        # Enter is what the library will take for it, and Ctrl-S stops nothing.
        quiet[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
        signal.signal(signal.SIGTERM, _end)
        signal.signal(signal.SIGWINCH, self._resized)
        termios.tcsetattr(fd, termios.TCSANOW, quiet)
        _write(_ENTER)
        self._show()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGWINCH, signal.SIG_DFL)
        if kind is not None:  # else the library has left the screen already
            _write(_LEAVE)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self.put_back()

    def put_back(self) -> None:
        """Restores the terminal's original settings."""
        if self._settings is not None:
            fd = sys.__stdin__.fileno()  # type: ignore[union-attr]
            termios.tcsetattr(fd, termios.TCSANOW, self._settings)

    def _resized(self, number: int, frame: object) -> None:
        self._is_stale = True
        if not self._is_drawing:  # else that one is drawn once more when it is done
            self._show()

    def _show(self) -> None:
        self._is_drawing = self._is_stale = True
        while self._is_stale:
            self._is_stale = False
            size = os.get_terminal_size(sys.__stdin__.fileno())  # type: ignore[union-attr]
            _write((_CLEAR + self._draw(*size)).encode(errors="replace"))
        self._is_drawing = False


def _write(data: bytes) -> None:
    """Writes to where the library draws; no stream's buffer, which a signal could come between."""
    fd = sys.__stderr__.fileno()  # type: ignore[union-attr]
    while data:
        data = data[os.write(fd, data) :]


def _end(number: int, frame: object) -> None:
    """Restores the terminal when the process is told to end."""
    raise SystemExit(128 + number)
