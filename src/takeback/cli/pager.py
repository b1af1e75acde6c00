"""The pager: long answers at a terminal are read page by page, as git's are.

``$TAKEBACK_PAGER``, else ``$PAGER``, else ``less``, which ends by itself if all fits on the screen.
Each is a program with its arguments, no line for a shell; ``cat`` or nothing means no pager. One
that lies in a workspace is not run: an agent could have put it there.
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

    from takeback.app import Takeback
    from takeback.cli.options import Call

_NONE = ("", "cat")


@contextmanager
def paged(call: Call, tb: Takeback) -> Iterator[None]:
    """Lets what is written to stdout meanwhile be read through the pager, where there is one."""
    argv = _pager(call, tb)
    if not argv:
        yield
        return
    from subprocess import PIPE, Popen

    environ = {"LESS": "FRX", "LV": "-c", **os.environ, "PATH": tb.trusted_path}
    screen = sys.stdout
    screen.flush()
    try:
        pager = Popen(argv, stdin=PIPE, env=environ)
    except OSError as error:
        call.output.note(f"{argv[0]} could not be started: {os.strerror(error.errno or 0)}")
        yield
        return
    assert pager.stdin is not None
    page = io.TextIOWrapper(pager.stdin, encoding="utf-8", errors="backslashreplace")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the pager's: it stops a search, say
    sys.stdout = page
    try:
        yield
        page.flush()
    except BrokenPipeError:  # read enough
        pass
    finally:
        sys.stdout = screen
        _close(page)
        pager.wait()
        signal.signal(signal.SIGINT, before)


def _close(page: io.TextIOWrapper) -> None:
    try:
        page.close()
    except BrokenPipeError:
        pass


def _pager(call: Call, tb: Takeback) -> list[str]:
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
