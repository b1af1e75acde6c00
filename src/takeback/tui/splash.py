"""The first frame, drawn before the picker's library is loaded, which takes 250 ms.

What is typed meanwhile is neither shown nor lost: the picker reads it later.
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
    """Holds the terminal: first an empty screen with a title, in the end as it was before.

    The picker's library enters the alternate screen again, which changes nothing, and leaves it.
    The terminal settings that it finds are already ours, so the original ones are restored here.
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
        quiet[6][termios.VSUSP] = os.fpathconf(fd, "PC_VDISABLE")  # no Ctrl-Z while it is drawn
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
        """Restores the terminal's original settings."""
        if self._settings is not None:
            fd = sys.__stdin__.fileno()  # type: ignore[union-attr]
            termios.tcsetattr(fd, termios.TCSANOW, self._settings)

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _end(number: int, frame: object) -> None:
    """Restores the terminal when the process is told to end."""
    raise SystemExit(128 + number)


def first_frame(where: str, width: int, height: int) -> str:
    """Returns the title, and below it a note that more is coming; no colours. Pure."""
    title = f" takeback  {shown(where)}"[:width]
    return f"\x1b[1;7m{title:<{width}}\x1b[0m\r\n\r\n  {READING[: max(0, width - 2)]}"
