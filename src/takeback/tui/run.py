"""Starts the picker: a first frame at once, the rest behind it."""

from __future__ import annotations

import os
import signal
import sys
import termios
import time
from functools import partial

from takeback.errors import TakebackError
from takeback.tui import pieces as keys
from takeback.tui.pieces import BARS, cell_len, key_pieces, known_styles, list_width, title_pieces
from takeback.tui.timeline.lines import TimelineLines, centered, first_page
from takeback.visible import shown
from takeback.words.listing import READING
from takeback.words.text import quoted, shown_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Any

    from takeback.app.engine import Engine
    from takeback.app.threads import PolledReporter
    from takeback.model.checkpoint import Resume
    from takeback.tui.picker import PickerApp
    from takeback.tui.timeline.lines import Page

    Piece = tuple[str, str]
    """Text, and the name of its style."""

# -- holds the terminal while the picker's library is loaded, which takes 250 ms
#
# What is typed meanwhile is neither shown nor lost: the picker reads it later.


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


# -- the first frame: the rows as the picker will show them, drawn before its library is loaded
#
# What each line says, and how wide it is, comes from where the picker itself takes it; here it only
# becomes codes for a terminal. The thumb of the scroll bar and the detail come with the library.


_LEAST_WIDTH, _LEAST_HEIGHT = 40, 6
"""On a smaller screen there is nothing but the title."""
_KEEP_LINES, _BREAK_LINES = "\x1b[?7l", "\x1b[?7h"
"""A character that is wider than we think must not push the next line down."""


def title_frame(where: str, width: int, height: int) -> str:
    """Returns the title, and below it a note that more is coming; no colours. Pure."""
    title = f" takeback  {shown(where)}"[:width]
    return f"\x1b[1;7m{title:<{width}}\x1b[0m\r\n\r\n  {READING[: max(0, width - 2)]}"


class FirstFrame:
    """Draws a page for a screen of any size; ``styles`` are the codes of each style."""

    def __init__(self, page: Page, where: str, styles: Mapping[str, str], now: float) -> None:
        self._page = page
        self._where = where
        self._styles = styles
        self._now = now
        self._lines = TimelineLines(page.browsed, page.rows)

    def __call__(self, width: int, height: int) -> str:
        if width < _LEAST_WIDTH or height < _LEAST_HEIGHT:
            return title_frame(self._where, width, height)
        lines = [
            self._title(width),
            *self._rows(list_width(width), height - BARS),
            self._keys(width),
        ]
        drawn = (
            f"\x1b[{at};1H{self._painted(line, width)}" for at, line in enumerate(lines, start=1)
        )
        return f"{_KEEP_LINES}{''.join(drawn)}{_BREAK_LINES}"

    def _title(self, width: int) -> list[Piece]:
        name, *rest = title_pieces(self._where, self._page.summary, width)
        return [(name, keys.TITLE_NAME), *((text, keys.TITLE) for text in rest)]

    def _keys(self, width: int) -> list[Piece]:
        pieces = key_pieces(keys.TIMELINE, width)
        drawn = [(text, keys.KEY if is_key else keys.KEYS) for text, is_key in pieces]
        return [*drawn, (" " * (width - sum(cell_len(text) for text, _ in pieces)), keys.KEYS)]

    def _rows(self, width: int, height: int) -> Iterable[list[Piece]]:
        """Yields the lines in view, the cursor's in the middle."""
        rows, cursor = self._lines.rows, self._lines.start
        has_bar = rows.height > height
        top = min(centered(rows.tops[cursor], height), max(0, rows.height - height))
        for line in range(top, top + height):
            found = self._lines.line(
                line,
                width=width - has_bar,
                now=self._now,
                cursor=cursor,
                entry_of=self._page.entries.get,
            )
            pieces, chosen = found or ([], False)
            yield [(text, keys.on_cursor(name) if chosen else name) for text, name in pieces]

    def _painted(self, pieces: list[Piece], width: int) -> str:
        """Returns a line with its codes, filled to the width of the screen."""
        rest = width - sum(cell_len(text) for text, _ in pieces)
        whole = [*pieces, (" " * rest, keys.BASE)]
        return "".join(f"\x1b[{self._styles[name]}m{text}\x1b[0m" for text, name in whole if text)


# -- opens the picker, and when it has closed, runs the agent to continue with


def open_picker(
    open_workspace: Callable[[], Engine],
    *,
    environ: Mapping[str, str],
    reporter: PolledReporter | None = None,
) -> int:
    """Shows the picker until it is closed; returns the exit status.

    The workspace is opened before the screen: what is wrong with it is said in the terminal, as by
    every other command. If the person continues with a session, this does not return.
    """
    workspace = open_workspace()
    where = _tilde(shown_path(workspace.root), environ)
    seen = workspace.at_a_glance(first_page)
    with Splash(_first_frame(seen, where, environ)) as splash:
        app = _show(workspace, reporter, where, splash, seen)
    if app.failure is not None:
        raise app.failure
    if app.resume_with is not None:
        _go_on(app.resume_with, environ)
    sys.stdout.writelines(f"{line}\n" for line in app.farewell())
    return app.return_code or 0


def _first_frame(
    seen: Page | None, where: str, environ: Mapping[str, str]
) -> Callable[[int, int], str]:
    """Returns what draws the screen until the library does: the rows, if they are known."""
    styles = known_styles(environ)
    if seen is None or styles is None or not seen.browsed.rows:
        return partial(title_frame, where)
    return FirstFrame(seen, where, styles, time.time())


def _show(
    workspace: Engine,
    reporter: PolledReporter | None,
    where: str,
    splash: Splash,
    seen: Page | None,
) -> PickerApp:
    """Runs the picker; the splash is shown until its library is imported."""
    # 250 ms, most of it Textual
    from takeback.app.threads import WorkspaceThread
    from takeback.tui.picker import PickerApp

    thread = WorkspaceThread(lambda: workspace, reporter)
    try:
        # Read while the screen is being prepared. During the imports it would only be in the way: a
        # thread waits 5 ms for its turn each time it has accessed the disk.
        first = thread.start(first_page)
        app = PickerApp(thread, where=where, first=first, seen=seen, put_back=splash.put_back)
        app.run()
    finally:
        thread.close()
    return app


def _tilde(path: str, environ: Mapping[str, str]) -> str:
    home = environ.get("HOME", "").rstrip("/")
    return f"~{path[len(home) :]}" if home and path.startswith(f"{home}/") else path


def _go_on(resume: Resume, environ: Mapping[str, str]) -> None:
    """Becomes the agent, in its directory; raises TakebackError with the line to type instead."""
    try:
        os.chdir(resume.cwd)
        os.execvpe(resume.argv[0], list(resume.argv), dict(environ))
    except OSError as error:
        line = " ".join(quoted(word) for word in resume.argv)
        raise TakebackError(
            f"{resume.argv[0]} could not be started: {os.strerror(error.errno or 0)}",
            hint=f"go on with it by hand: cd {quoted(resume.cwd)} && {line}",
        ) from None
