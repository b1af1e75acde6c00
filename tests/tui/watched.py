"""The picker at a terminal of which every moment is seen: each cell, with its colours."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

import pyte

from tests.support.processes import reap

END_OF_FRAME = b"\x1b[?7h"
_FRAMES = re.compile(b"(?<=" + re.escape(END_OF_FRAME) + b")")
_PATIENCE = 60.0
_REST = 0.7
Cell = tuple[str, str, str, bool, bool, bool]
Picture = list[list[Cell]]


class Watched:
    """A picker in a workspace; what it draws at once is kept in ``pictures``, one after the other.

    A slow watcher reads several of them at once: they are told apart where a frame ends.
    """

    def __init__(
        self,
        workspace: Path,
        size: tuple[int, int],
        environ: Mapping[str, str] | None = None,
        *,
        first: str = "",
    ) -> None:
        """Starts it; ``first`` is run by its Python before the picker."""
        self.size = size
        self.pictures: list[Picture] = []
        self._drawn: list[int] = []  # how many bytes were there at each
        self.bytes = b""
        self.status: int | None = None
        """How it ended."""
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        wanted = {"TERM": "xterm-256color", "COLORTERM": "truecolor", **(environ or {})}
        whole = {name: value for name, value in {**os.environ, **wanted}.items() if value}
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.chdir(workspace)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
            code = f"{first}\nfrom takeback.__main__ import main\nmain()"
            os.execve(sys.executable, [sys.executable, "-I", "-c", code], whole)

    def __enter__(self) -> Watched:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            error.add_note(f"The screen was:\n{self.text}")
        os.close(self._terminal)  # which ends it, if it has not ended
        self.status = os.waitstatus_to_exitcode(reap(self.pid))

    @property
    def text(self) -> str:
        return "\n".join(self._screen.display)

    def until(self, holds: Callable[[str], bool]) -> None:
        """Watches until something can be said of the words on the screen."""
        while not holds(self.text):
            assert self._watch(), "it ended"

    def first_frame(self) -> Picture:
        """Watches until the first frame is there, and returns it as it was then."""
        self.until(lambda text: END_OF_FRAME in self.bytes)
        end = self.bytes.index(END_OF_FRAME) + len(END_OF_FRAME)
        return self.pictures[next(at for at, drawn in enumerate(self._drawn) if drawn >= end)]

    def shows(self, words: str) -> None:
        self.until(lambda text: words in text)

    def settles(self) -> None:
        """Watches until nothing has been drawn for a while."""
        while select.select([self._terminal], [], [], _REST)[0]:
            assert self._watch(), "it ended"

    def ends(self) -> None:
        """Watches until the program has ended."""
        while self._watch():
            pass

    def type(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def resize(self, width: int, height: int) -> None:
        self.size = (width, height)
        self._screen.resize(height, width)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def _watch(self) -> bool:
        assert select.select([self._terminal], [], [], _PATIENCE)[0], "nothing more is drawn"
        try:
            data = os.read(self._terminal, 1 << 16)
        except OSError:  # Linux says EIO when the other side is closed
            return False
        for piece in _FRAMES.split(data):
            self.bytes += piece
            self._stream.feed(piece)
            self.pictures.append(self._picture())
            self._drawn.append(len(self.bytes))
        return bool(data)

    def _picture(self) -> Picture:
        width, height = self.size
        return [[_cell(self._screen.buffer[y][x]) for x in range(width)] for y in range(height)]


def _cell(char: pyte.screens.Char) -> Cell:
    """Returns what can be seen of a cell: a blank has no colour but that behind it."""
    blank = char.data == " " and not char.reverse
    return (
        char.data,
        "" if blank else char.fg,
        char.bg,
        char.bold and not blank,
        char.reverse,
        char.italics and not blank,
    )


def words_of(picture: Picture) -> list[str]:
    return ["".join(cell[0] for cell in line).rstrip() for line in picture]
