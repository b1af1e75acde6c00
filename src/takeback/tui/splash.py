"""The first frame, drawn before the picker's library is there: it takes 250 ms to import.

What is typed meanwhile is not shown and not lost: the picker reads it when it is there.
"""

from __future__ import annotations

import os
import signal
import sys
import termios

from takeback.visible import shown
from takeback.words.rows import READING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, TextIO

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[2J\x1b[H"
_LEAVE = "\x1b[?1049l\x1b[?25h\x1b[0m"


class Splash:
    """Holds the terminal: an empty screen with a title at first, and as it was in the end.

    The picker's library enters the other screen again, which changes nothing, and leaves it. What
    it finds as the terminal's settings is ours by then, so they are put back here.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._stream: TextIO = sys.__stderr__  # type: ignore[assignment] # where the library draws
        self._settings: list[Any] | None = None

    def __enter__(self) -> Splash:
        fd = sys.__stdin__.fileno()  # type: ignore[union-attr]
        self._settings = termios.tcgetattr(fd)
        quiet = termios.tcgetattr(fd)
        quiet[3] &= ~(termios.ECHO | termios.ICANON)
        quiet[6][termios.VSUSP] = os.fpathconf(fd, "PC_VDISABLE")  # no shell while it is drawn
        signal.signal(signal.SIGTERM, _end)
        termios.tcsetattr(fd, termios.TCSANOW, quiet)
        self._write(_ENTER + first_frame(self._where, *os.get_terminal_size(fd)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:  # else the library has left the screen already
            self._write(_LEAVE)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self.put_back()

    def put_back(self) -> None:
        """Gives the terminal the settings that it had at first."""
        if self._settings is not None:
            fd = sys.__stdin__.fileno()  # type: ignore[union-attr]
            termios.tcsetattr(fd, termios.TCSANOW, self._settings)

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _end(number: int, frame: object) -> None:
    """Lets a process that is told to end leave the terminal as it was."""
    raise SystemExit(128 + number)


def first_frame(where: str, width: int, height: int) -> str:
    """Returns the title, and below it that something is coming; no colours. Pure."""
    title = f" takeback  {shown(where)}"[:width]
    return f"\x1b[1;7m{title:<{width}}\x1b[0m\r\n\r\n  {READING[: max(0, width - 2)]}"
