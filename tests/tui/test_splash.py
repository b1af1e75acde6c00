"""The first frame: drawn at once, and the terminal as it was in the end."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios

import pytest

from takeback.tui.splash import first_frame

_CODE = """
import sys, termios
from takeback.tui.splash import Splash
try:
    with Splash("~/shop"):
        assert not termios.tcgetattr(0)[3] & termios.ECHO
        if sys.argv[1]:
            raise KeyboardInterrupt
except KeyboardInterrupt:
    pass
"""


def test_the_title_is_as_wide_as_the_screen() -> None:
    frame = first_frame("~/shop", 40, 10)
    assert frame.startswith("\x1b[1;7m takeback  ~/shop                       \x1b[0m")
    assert "reading the timeline" in frame


def test_nothing_from_outside_steers_the_terminal() -> None:
    assert "\\x1b]0;x\\x07" in first_frame("a\x1b]0;x\x07", 60, 10)


def test_a_narrow_screen() -> None:
    assert "takeb\x1b[0m" in first_frame("~/shop", 6, 2)


@pytest.mark.parametrize("interrupted", [True, False])
def test_the_settings_of_the_terminal_come_back(interrupted: bool) -> None:
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    done = subprocess.Popen(
        [sys.executable, "-c", _CODE, "1" if interrupted else ""],
        preexec_fn=lambda: os.login_tty(theirs),
        pass_fds=(theirs,),
    )
    seen = b""
    while done.poll() is None or b"\x1b[?1049h" not in seen:
        seen += os.read(ours, 65536)
        if b"\x1b[0m" in seen and done.wait(10) is not None:
            break
    assert done.returncode == 0
    assert termios.tcgetattr(theirs)[3] == before[3]
    seen += os.read(ours, 65536) if interrupted and b"1049l" not in seen else b""
    # without an error the picker's library has left the screen
    assert (b"\x1b[?1049l" in seen) is interrupted
    os.close(ours)
    os.close(theirs)
