"""Sandboxes as agents put their tools into: a command line is run inside one of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_LANDLOCK = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)

def call(number, *args):
    answer = libc.syscall(number, *args)
    if answer < 0:
        sys.exit("landlock: " + os.strerror(ctypes.get_errno()))
    return answer

READ, DEVICE, ALL = 0b1101, 0b110, 0x1FFF
handled = ctypes.c_uint64(ALL)
ruleset = call(444, ctypes.byref(handled), ctypes.c_size_t(8), 0)
at = sys.argv.index("--")
devices = [(f"/dev/{name}", DEVICE) for name in ("full", "null", "tty", "urandom", "zero")]
places = [(path, ALL) for path in ("/dev/pts", *sys.argv[1:at])]  # and nothing in /dev/shm
for path, rights in [("/", READ), *devices, *places]:
    rule = rights.to_bytes(8, sys.byteorder)
    rule += os.open(path, os.O_PATH).to_bytes(4, sys.byteorder)
    call(445, ruleset, 1, ctypes.c_char_p(rule), 0)
if os.geteuid() != 0:  # root does without, so that nothing but the domain tells it apart
    libc.prctl(38, 1, 0, 0, 0)
call(446, ruleset, 0)
os.execvp(sys.argv[at + 1], sys.argv[at + 1:])
"""


def landlocked(*writable: Path) -> list[str]:
    """Returns the beginning of a command line that may read all and write in these places."""
    words = [sys.executable, "-c", _LANDLOCK, *map(str, writable), "--"]
    return _if_possible(words, "Landlock")


def unshared(*more: str) -> list[str]:
    """Returns the beginning of a command line with user, mounts and processes of its own."""
    words = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", *more]
    return _if_possible(words, "namespaces")


def closed(*places: Path) -> list[str]:
    """Returns the beginning of a command line that has those, and may not write in these places."""
    closing = "".join(
        f"mount --bind '{place}' '{place}' && mount -o remount,ro,bind '{place}' && "
        for place in places
    )
    return _if_possible([*unshared("sh", "-c", f'{closing}exec "$@"', "sh")], "read-only mounts")


def _if_possible(words: list[str], what: str) -> list[str]:
    tried = subprocess.run([*words, "true"], capture_output=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no {what} here: {tried.stderr.decode(errors='replace').strip()}")
    return words
