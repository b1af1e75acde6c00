"""Checks that what connects the agents exists, is ours, and runs."""

from __future__ import annotations

import os
import subprocess
import time

from takeback.adapters import launcher
from takeback.adapters.connecting import remembered
from takeback.app.agent_versions import check_version
from takeback.app.silence import findings
from takeback.app.standbys import check_standbys
from takeback.app.switches import OFF
from takeback.check.finding import BROKEN, FIX, MENDED, OFFER, OK, Finding
from takeback.errors import Command
from takeback.paths import takeback_home
from takeback.store.location import workspace_around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from takeback.app.connect import AgentState
    from takeback.errors import Hint

_NOTHING = b'{"hook_event_name": "takeback doctor asks", "session_id": "none"}'
_TOO_SLOW = 0.5
_PATIENCE = 20.0


def check_agents(
    environ: Mapping[str, str], states: Sequence[AgentState], *, fix: bool
) -> list[Finding]:
    """Returns the findings about the launcher and every installed agent."""
    home = takeback_home(environ)
    found = []
    for state in states:
        found += _agent(state, was_connected=bool(remembered(home, state.agent)))
        found += check_version(environ, home, state)
    joined = [state for state in states if state.connected]
    if joined:
        found += _mended_launcher(home) if fix else ()
        found.append(_launcher(environ, home, joined[0].agent))
        found += _installed_in_project(environ, home)
        found += check_standbys(home, fix=fix)
    return [*found, *_versions(environ, home)]


def check_recording(off_by: str | None) -> list[Finding]:
    """Says that recording is off, which somebody chose; nothing while it is on."""
    if off_by is None:
        return []
    hint: Hint = ("see what turns it off: ", Command("status"))
    if off_by == OFF:
        hint = (Command("on"),)
    return [Finding("recording", OFFER, "it is off here: agents' events are not kept", hint)]


def _agent(state: AgentState, *, was_connected: bool) -> list[Finding]:
    """Says how an agent is connected; one that never was is not a problem, but an offer."""
    silence = findings(state)
    if silence and (state.connected or state.hindrance is not None or not was_connected):
        return silence
    if state.connected:
        return [Finding(state.title, OK, "its settings call takeback")]
    init = ("connect it: ", Command("init", state.agent))
    if was_connected:
        message = "it was connected, its settings were changed since"
        return [Finding(state.title, BROKEN, message, init)]
    return [Finding(state.title, OFFER, "it is installed and not connected", init)]


def _mended_launcher(home: str) -> list[Finding]:
    """Lets a launcher that leads nowhere run this takeback, unless agents could change that."""
    if launcher.is_sound(home) or workspace_around(home, (launcher.package_directory(),)):
        return []
    path = launcher.write_launcher(home)
    message = f"{path} led to no takeback; it runs the one in {launcher.package_directory()} now"
    return [Finding("hooks", MENDED, message)]


def _launcher(environ: Mapping[str, str], home: str, agent: str) -> Finding:
    """Runs the launcher as an agent does, with an event that it ignores."""
    path = launcher.launcher_path(home)
    if not launcher.is_sound(home):
        return Finding("hooks", BROKEN, f"{path} does not lead to a takeback", FIX)
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
        return Finding(
            "hooks", BROKEN, f"{path} does not run: {error}", ("mend it: ", Command("init"))
        )
    took = time.monotonic() - start
    if done.returncode != 0 or done.stdout or done.stderr:
        return Finding("hooks", BROKEN, f"{path} ended with {done.returncode} and had words to say")
    has_standby = launcher.has_standby(home)
    message = f"{path} runs in {_in_ms(took)}, {'with' if has_standby else 'without'} a standby"
    if took < _TOO_SLOW:
        return Finding("hooks", OK, message)
    hint: Hint = "the machine is busy, or its disk is slow: look again later"
    if not has_standby:
        hint = ("keep one: ", Command("config", "standby_minutes", "15"))
    return Finding("hooks", BROKEN, f"{message}; agents wait for that at each event", hint)


def _in_ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"


def _installed_in_project(environ: Mapping[str, str], home: str) -> list[Finding]:
    """Warns of hooks that run a takeback installed in a workspace: agents there can change it."""
    recorded = launcher.recorded(home)
    if recorded is None:
        return []
    inside = workspace_around(home, recorded)
    if inside is None:
        return []
    return [
        Finding(
            "hooks",
            BROKEN,
            f"they run a takeback that is installed inside the project {inside}",
            ("install it for yourself: uv tool install takeback; then run: ", Command("init")),
        )
    ]


def _versions(environ: Mapping[str, str], home: str) -> list[Finding]:
    """Reports several takebacks on one machine: a command and the hooks may differ."""
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
