"""The pager: shows answers that do not fit on the screen page by page, like git.

``$TAKEBACK_PAGER``, else ``$PAGER``, else ``less``; none is started for what fits on the screen.
Each is a program with its arguments, not a shell command; ``cat`` or nothing means no pager. One in
a workspace is not run: an agent could have put it there.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import contextmanager

from takeback.cli.terminal import is_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from subprocess import Popen
    from typing import Any, TextIO

    from _typeshed import ReadableBuffer as Buffer

    from takeback.app.engine import Engine
    from takeback.cli.call import Call

_NONE = ("", "cat")


@contextmanager
def paged(call: Call, tb: Engine) -> Iterator[None]:
    """Sends what is written to stdout meanwhile to the pager, if it is too long."""
    argv = _pager(call, tb)
    if not argv:
        yield
        return
    screen = sys.stdout
    screen.flush()
    sheet = _Sheet(screen, argv, {"LESS": "FRX", "LV": "-c", **os.environ, "PATH": tb.trusted_path})
    page = io.TextIOWrapper(
        io.BufferedWriter(sheet), encoding="utf-8", errors="backslashreplace", write_through=True
    )
    sys.stdout = page
    try:
        yield
        page.flush()
    except BrokenPipeError:  # the reader has seen enough
        pass
    finally:
        sys.stdout = screen
        failure = sheet.end()
        _close(page)
        if failure is not None:
            call.output.note(f"{argv[0]} could not be started: {failure}")


def _close(page: io.TextIOWrapper) -> None:
    try:
        page.close()
    except BrokenPipeError:
        pass


class _Sheet(io.RawIOBase):
    """Bytes for a terminal: kept while they fit on its screen, else given to the pager."""

    def __init__(self, screen: TextIO, argv: list[str], environ: Mapping[str, str]) -> None:
        self._screen = screen
        self._argv = argv
        self._environ = environ
        from shutil import get_terminal_size  # 3 ms, for the compressors that it brings along

        self._size = get_terminal_size()
        self._kept = bytearray()
        self._pager: Popen[bytes] | None = None
        self._failure: str | None = None
        self._interrupt: Any = None

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer) -> int:
        self._kept += data
        if self._pager is None and self._failure is None and self._is_full():
            self._start()
        if self._pager is not None:
            assert self._pager.stdin is not None
            self._pager.stdin.write(self._kept)
            self._kept.clear()
        return len(memoryview(data))

    def _is_full(self) -> bool:
        rows = sum(1 + len(line) // self._size.columns for line in self._kept.split(b"\n"))
        return rows > self._size.lines

    def _start(self) -> None:
        from subprocess import PIPE, Popen

        try:
            self._pager = Popen(self._argv, stdin=PIPE, env=self._environ)
        except OSError as error:
            self._failure = os.strerror(error.errno or 0)
            return
        # Ctrl-C is for the pager, to stop a search for example.
        self._interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end(self) -> str | None:
        """Waits for the pager to end, or writes what is kept; returns why there was no pager."""
        if self._pager is None:
            self._screen.buffer.write(self._kept)
            self._screen.flush()
            return self._failure
        assert self._pager.stdin is not None
        try:
            self._pager.stdin.close()
        except BrokenPipeError:
            pass
        self._pager.wait()
        signal.signal(signal.SIGINT, self._interrupt)
        return None


def _pager(call: Call, tb: Engine) -> list[str]:
    """Returns the pager with its arguments; empty if there is none, or nobody to read."""
    if call.json or not call.pager or not is_terminal(sys.stdout):
        return []
    if os.environ.get("TERM", "dumb") == "dumb":
        return []
    words = _words(os.environ)
    if not words:
        return []
    found = tb.find_program(words[0])
    if found.program is None:
        if found.passed_over:
            call.output.note(found.passed_over)
        return []
    return [found.program, *words[1:]]


def _words(environ: Mapping[str, str]) -> list[str]:
    from shlex import split

    line = next((environ[n] for n in ("TAKEBACK_PAGER", "PAGER") if n in environ), "less")
    try:
        words = split(line)
    except ValueError:  # a quotation mark without its end
        return []
    return [] if not words or words[0] in _NONE else words
