"""Checks that what connects the agents exists, is ours, runs, and is of a tested version."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
from struct import Struct

from takeback import durable, programs
from takeback.adapters import launcher
from takeback.adapters.connecting import remembered
from takeback.app.connect import findings
from takeback.app.switches import OFF
from takeback.check.finding import BROKEN, FIX, MENDED, OFFER, OK, Finding
from takeback.errors import Command
from takeback.ordinary import ordinary
from takeback.paths import takeback_home
from takeback.store.location import is_known, workspace_around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from takeback.app.connect import AgentState
    from takeback.errors import Hint


# -- agents' versions: which one was tested with this takeback, and which one is installed
#
# Agents change often. What is installed is read from where it lies and never asked of the program:
# some unpack themselves, or look for updates, before they say which version they are.
#
#   .../node_modules/@openai/codex-linux-x64/package.json     npm, pnpm, bun: the package around it
#   .../share/claude/versions/2.1.325                         a version in its own path, after the
#   .../Cellar/codex/0.166.0/bin/codex                        program's name


_VERSION = re.compile(r"v?(\d{1,9}\.\d{1,9}\.\d{1,9})(?![\d.])")
_LONGEST = 1 << 20
_MODULES = "node_modules"


def check_version(environ: Mapping[str, str], home: str, state: AgentState) -> list[Finding]:
    """Says which version of a connected agent was tested, and which is installed.

    Another one than was tested is no fault, and nothing is known of it.
    """
    if not state.connected or not state.tested:
        return []
    found = programs.find(
        state.program, environ, is_workspace=lambda path: is_known(home, os.fsencode(path))
    )
    version = None if found.program is None else installed_version(found.program)
    if version == state.tested:
        message = f"{version} is installed, which this takeback was tested with"
    elif version is not None:
        age = "newer" if _numbers(version) > _numbers(state.tested) else "older"
        message = f"{version} is installed, {age} than {state.tested}, which was tested"
    else:
        message = f"{state.tested} was tested; which version is installed is not known"
        message += f": {found.passed_over}" if found.passed_over else ""
    return [Finding(state.title, OK, message)]


def installed_version(program: str) -> str | None:
    """Returns the version of a program by where it lies; None if that does not tell."""
    parts = os.path.realpath(program).split("/")
    if _MODULES in parts:
        first = len(parts) - parts[::-1].index(_MODULES)
        package = parts[: first + (2 if "@" in parts[first] else 1)]  # one of a scope has two names
        return _in_package("/".join((*package, "package.json")))
    for at, part in enumerate(parts):
        if os.path.basename(program) in parts[max(0, at - 2) : at] and _VERSION.fullmatch(part):
            return part.removeprefix("v")
    return None


def _in_package(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", opener=ordinary) as file:
            said = json.loads(file.read(_LONGEST))
    except (OSError, ValueError, RecursionError):
        return None
    version = said.get("version") if isinstance(said, dict) else None
    known = _VERSION.match(version) if isinstance(version, str) else None
    return None if known is None else known[1]  # without the machine that it is for


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(one) for one in re.findall(r"\d{1,9}", version))


# -- checks the processes that wait for hooks: are they alive, and of the takeback that hooks run?
#
# A standby itself checks whether its files have changed, so an old one serves nobody; it only stays
# in memory. One that was killed leaves its socket, which costs each hook an attempt.


_PEER = Struct("3i")  # process, user, group
_ANSWER_SECONDS = 1.0
_NAME = "standby"


def check_standbys(home: str, *, fix: bool) -> Iterator[Finding]:
    """Yields a finding for each standby that is no longer of use."""
    if not hasattr(socket, "SO_PEERCRED"):
        return  # there are none if the system cannot tell who is calling
    recorded = launcher.recorded(home)
    for path in launcher.standby_sockets(home):
        process = _listener(path)
        if process is None:
            stale = f"one was killed and left {os.path.basename(path)}"
        elif recorded is not None and not _is_of(process, recorded[1]):
            stale = f"process {process} is of another takeback than the hooks run"
        else:
            continue
        if fix:
            _take_away(path)
            yield Finding(_NAME, MENDED, f"{stale}; its socket was removed, which ends it")
        else:
            yield Finding(_NAME, OFFER, stale, ("end it: ", Command("doctor", "--fix")))


def _listener(path: str) -> int | None:
    """Returns the process that listens at a socket; None if none does."""
    folder, name = os.path.split(path)
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        try:
            door.settimeout(_ANSWER_SECONDS)
            door.connect(f"/proc/self/fd/{place}/{name}")  # a path may have at most 107 bytes
            peer = door.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
        except OSError:
            return None
        finally:
            os.close(place)
    process: int = _PEER.unpack(peer)[0]
    return process


def _is_of(process: int, package: str) -> bool:
    """Tells whether a process runs the takeback of a directory; True if unknown."""
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return True
    return os.fsencode(package) in words


def _take_away(path: str) -> None:
    try:
        durable.unlink(path)
    except FileNotFoundError:
        return


# -- checks that what connects the agents exists, is ours, and runs


_NOTHING = b'{"hook_event_name": "takeback doctor asks", "session_id": "none"}'
_TOO_SLOW = 0.5
_PROGRAM_SECONDS = 20.0


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
            timeout=_PROGRAM_SECONDS,
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
