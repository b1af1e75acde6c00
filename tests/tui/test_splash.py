"""The first frame: drawn at once, and the terminal as it was in the end."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest

_CODE = """
import sys, termios
from takeback.tui.run import Splash
try:
    with Splash(lambda width, height: f"<{width}x{height}>\\x1b[0m"):
        assert not termios.tcgetattr(0)[3] & termios.ECHO
        if sys.argv[1]:
            raise KeyboardInterrupt
except KeyboardInterrupt:
    pass
"""


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


_WAIT = """
import sys
from takeback.tui.run import Splash
with Splash(lambda width, height: f"<{width}x{height}>"):
    sys.stdin.read(1)
"""


def test_the_frame_is_drawn_again_for_another_size() -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    child = subprocess.Popen(
        [sys.executable, "-c", _WAIT],
        preexec_fn=lambda: os.login_tty(theirs),
        pass_fds=(theirs,),
    )
    seen = b""
    for width, height in ((80, 24), (100, 30), (10, 3), (200, 60)):
        fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        while f"<{width}x{height}>".encode() not in seen:
            seen += os.read(ours, 65536)
    os.write(ours, b"x")
    assert child.wait(60) == 0
    os.close(ours)
    os.close(theirs)


_KEY = """
import os
from takeback.tui.run import Splash
with Splash(lambda width, height: f"<{width}x{height}>"):
    typed = os.read(0, 1)
os._exit(typed[0])
"""


def test_control_c_is_a_key_like_others_and_waits_for_the_picker() -> None:
    """Between the library's first line and its first screen, an interrupt could be swallowed."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", _KEY],
        preexec_fn=lambda: os.login_tty(theirs),
        pass_fds=(theirs,),
    )
    seen = b""
    while b"x" not in seen:
        seen += os.read(ours, 65536)
    os.write(ours, b"\x03")
    assert child.wait(60) == 3
    os.close(ours)
    os.close(theirs)
