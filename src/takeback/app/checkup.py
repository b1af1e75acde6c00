"""Checks that what connects the agents is there, is ours, and runs."""

from __future__ import annotations

import os
import subprocess
import time

from takeback.adapters import launcher
from takeback.app import connect
from takeback.errors import TakebackError
from takeback.ops.doctor import BROKEN, OK, Finding
from takeback.paths import takeback_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from takeback.adapters.connecting import Connection

_NOTHING = b'{"hook_event_name": "takeback doctor asks", "session_id": "none"}'
_TOO_SLOW = 0.5
_PATIENCE = 20.0


def check_agents(environ: Mapping[str, str], root: str) -> list[Finding]:
    """Returns what is found about the launcher and every agent that is there."""
    home = takeback_home(environ)
    connections = connect.agents_here(environ)
    joined = [c for c in connections if _is_connected(c, environ, home, root)]
    found = [_agent(c, joined=c in joined) for c in connections]
    if joined:
        found.append(_launcher(environ, home, joined[0].name))
        found += _installed_in_project(environ, home)
    return [*found, *_versions(environ, home)]


def _is_connected(connection: Connection, environ: Mapping[str, str], home: str, root: str) -> bool:
    try:
        return any(connection.is_connected(environ, home, here) for here in (None, root))
    except TakebackError:
        return False


def _agent(connection: Connection, *, joined: bool) -> Finding:
    if joined:
        return Finding(connection.title, OK, "its settings call takeback")
    return Finding(
        connection.title,
        BROKEN,
        "it is installed and not connected, or its settings were written anew",
        f"connect it: takeback init {connection.name}",
    )


def _launcher(environ: Mapping[str, str], home: str, agent: str) -> Finding:
    """Runs the launcher as an agent does, with an event that it passes over."""
    path = launcher.launcher_path(home)
    if not launcher.is_sound(home):
        return Finding(
            "hooks", BROKEN, f"{path} does not lead to a takeback", "mend it: takeback init"
        )
    start = time.monotonic()
    try:
        done = subprocess.run(
            [path, agent],
            input=_NOTHING,
            env=dict(environ),
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("hooks", BROKEN, f"{path} does not run: {error}", "mend it: takeback init")
    took = time.monotonic() - start
    if done.returncode != 0 or done.stdout or done.stderr:
        return Finding("hooks", BROKEN, f"{path} ended with {done.returncode} and had words to say")
    state = OK if took < _TOO_SLOW else BROKEN
    standby = "with" if launcher.has_standby(home) else "without"
    return Finding("hooks", state, f"{path} runs in {took * 1000:.0f} ms, {standby} a standby")


def _installed_in_project(environ: Mapping[str, str], home: str) -> list[Finding]:
    """Warns of hooks that run a takeback out of a workspace: agents there can change it."""
    recorded = launcher.recorded(home)
    if recorded is None:
        return []
    inside = connect.workspace_above(home, recorded)
    if inside is None:
        return []
    return [
        Finding(
            "hooks",
            BROKEN,
            f"they run a takeback that is installed inside the project {inside}",
            "install it for yourself: uv tool install takeback; then run: takeback init",
        )
    ]


def _versions(environ: Mapping[str, str], home: str) -> list[Finding]:
    """Names several takebacks on one machine: a command and the hooks may differ."""
    places = []
    for folder in environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, "takeback")
        if folder and os.access(path, os.X_OK) and os.path.realpath(path) not in places:
            places.append(os.path.realpath(path))
    if len(places) < 2:
        return []
    recorded = launcher.recorded(home)
    hooks = f"; the hooks run the one in {recorded[1]}" if recorded is not None else ""
    return [Finding("versions", OK, f"several are installed: {', '.join(places)}{hooks}")]
