"""The environment that every test runs in: nothing of the machine's owner reaches it."""

from __future__ import annotations

import os
from pathlib import Path

from takeback import handover

# What a program needs to start at all, and what steers the test run itself. Everything else
# (an agent's session id, GIT_*, XDG_*, colours, pagers, proxies) is left out.
_KEPT = ("PATH", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TAKEBACK_SOAK")
_KEPT_PREFIXES = ("PYTEST_", "COVERAGE_", "HYPOTHESIS_")


def end_standby(home: Path) -> None:
    """Ends the standby that hooks of this home have left behind, if they have."""
    for socket in (home / "bin").glob(f"{handover.PREFIX}*"):
        socket.unlink(missing_ok=True)


def sealed_environment(base: Path) -> dict[str, str]:
    """Returns a whole environment whose every place is in ``base``, and makes those places."""
    places = {
        "HOME": base / "home",
        "XDG_CACHE_HOME": base / "home" / ".cache",
        "XDG_CONFIG_HOME": base / "home" / ".config",
        "XDG_DATA_HOME": base / "home" / ".local" / "share",
        "XDG_STATE_HOME": base / "home" / ".local" / "state",
        "XDG_RUNTIME_DIR": base / "run",
        "TAKEBACK_HOME": base / "takeback",
    }
    for name, place in places.items():
        # takeback makes its own home, so that its mode is takeback's doing.
        if name != "TAKEBACK_HOME":
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.startswith(_KEPT_PREFIXES)
    }
    return kept | {
        **{name: str(place) for name, place in places.items()},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "TZ": "UTC",
    }
