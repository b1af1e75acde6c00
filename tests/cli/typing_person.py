"""Runs takeback at a terminal: a pseudo-terminal is its stdin, stdout and stderr."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.support.cli import Cli


@dataclass(frozen=True, slots=True)
class Seen:
    """What was on the screen, and how it ended."""

    status: int
    screen: str


def at_a_terminal(
    cli: Cli,
    *args: str,
    answers: tuple[str | Callable[[], str], ...] = (),
    env: Mapping[str, str] | None = None,
    asks: tuple[bytes, ...] = (),
    looks: Callable[[str], None] | None = None,
) -> Seen:
    """Runs takeback and types one answer each time that it asks.

    An answer may be a function, which is called when the question is on the screen. ``asks`` are
    ends of questions besides the usual ones; ``looks`` is given the screen before each answer.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        cli.argv(*args),
        cwd=cli.directory,
        env=cli.environment({"TERM": "xterm", "TAKEBACK_PAGER": "", **(env or {})}),
        preexec_fn=lambda: os.login_tty(theirs),
        pass_fds=(theirs,),
    )
    os.close(theirs)
    screen = b""
    pending = list(answers)
    deadline = time.monotonic() + cli.timeout
    try:
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], 0.2)[0]:
                continue
            try:
                data = os.read(ours, 65536)
            except OSError:  # Linux says EIO when the other side is closed
                break
            if not data:
                break
            screen += data
            if pending and screen.endswith(
                (b"[y/N] ", b"to go on: ", b"[1-2] ", b"Enter: 1] ", *asks)
            ):
                if looks is not None:
                    looks(_lines(screen))
                answer = pending.pop(0)
                os.write(ours, (answer if isinstance(answer, str) else answer()).encode())
        status = process.wait(timeout=cli.timeout)
    finally:
        process.kill()
        process.wait(60)
        os.close(ours)
    return Seen(status, _lines(screen))


def _lines(screen: bytes) -> str:
    return screen.decode().replace("\r\n", "\n")
