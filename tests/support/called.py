"""Runs takeback inside the test's own process: as ``Cli`` does, without what a start costs."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from takeback.cli.main import run
from tests.support.cli import Answer


class Keyboard(io.StringIO):
    """A terminal at which everything has been typed already."""

    def isatty(self) -> bool:
        return True


def called(
    directory: Path,
    *args: str,
    typed: str | None = None,
    by: Callable[[Sequence[str]], int] = run,
) -> Answer:
    """Runs ``takeback *args`` in a directory and returns its answer.

    Nothing is on stdin, unless somebody at a terminal typed something. ``by`` is what runs it.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    mask = os.umask(0o022)
    os.umask(mask)
    before, sys.stdin = sys.stdin, io.StringIO() if typed is None else Keyboard(typed)
    try:
        with (
            contextlib.chdir(directory),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            status = by(args)
    finally:
        sys.stdin = before
        os.umask(mask)
    return Answer(args, status, *(_bytes(stream) for stream in (out, err)))


def done(directory: Path, *args: str) -> Answer:
    """Runs as ``called`` does and fails the test unless the exit status is 0."""
    answer = called(directory, *args)
    assert answer.status == 0, str(answer)
    return answer


def _bytes(stream: io.TextIOWrapper) -> bytes:
    held = stream.buffer
    assert isinstance(held, io.BytesIO)
    return held.getvalue()
