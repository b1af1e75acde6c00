"""The launcher: what agents call; its path and its command line never change.

``$TAKEBACK_HOME/bin/hook AGENT`` reads which Python and which takeback to run from a file beside
it. An upgrade or a moved environment changes only that file, so no agent's settings change, and
Codex, which trusts a hook by its text, keeps trusting it. If what the file names is gone, the
launcher leaves a line for ``takeback status`` and the agent goes on.

    bin/hook           the client that is written in C (native/hook.c), if this takeback has it and
                       it runs here; else the script
    bin/hook.sh        the script, which the client turns into whenever anything is odd
    bin/takeback.path  which Python, and where takeback is
    bin/git.path, bin/settings.path   the git to run, and the person's file of settings
"""

from __future__ import annotations

import os
import sys

from takeback import durable, handover
from takeback.ordinary import ordinary
from takeback.ownership import why_not_private
from takeback.paths import git_record, settings_record

_SCRIPT = "hook.sh"
_OURS = ("hook", _SCRIPT, "takeback.path", "git.path", "settings.path")
_RUNS = 5.0
_MARK = "# takeback: "
_TEXT = """\
#!/bin/sh
# takeback: called by coding agents at each event. Made by `takeback init`; do not edit.
home=${0%/bin/*}
{ IFS= read -r python && IFS= read -r package; } 2>/dev/null < "$home/bin/takeback.path"
if [ -x "$python" ] && [ -d "$package/takeback" ]; then
    TAKEBACK_HOME=$home exec "$python" -I -S -c '
import sys
sys.path.insert(0, sys.argv[1])
try:
    from takeback.__main__ import launched
    launched()
except Exception as error:
    import os, time
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    said = f"{now} hook {sys.argv[2]}: does not run ({error}); run: takeback init"
    try:
        with open(os.environ["TAKEBACK_HOME"] + "/log", "a") as log:
            log.write(" ".join(said.split()) + chr(10))
    except OSError:
        pass
' "$package" "$@"
fi
gone="the takeback that was set up is gone; run: takeback init"
{ echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) hook $1: $gone" >> "$home/log"; } 2>/dev/null
exit 0
"""
_RETIRED = f"""\
#!/bin/sh
{_MARK}it was disconnected. Agents that were started before still call this; it does nothing.
exit 0
"""


def launcher_path(home: str) -> str:
    """Returns the path that agents' settings name."""
    return os.path.join(home, "bin", "hook")


def write_launcher(home: str, *, git: str | None = None, settings: str | None = None) -> str:
    """Makes the launcher if needed, and records this takeback; returns the launcher's path.

    ``git`` and the file of ``settings`` are recorded too, so that these are used whatever variables
    an agent gives its hooks.
    """
    path = launcher_path(home)
    durable.make_directories(os.path.dirname(path))
    client = _client()
    script = os.path.join(home, "bin", _SCRIPT)
    if client is not None:
        _put(script, _TEXT.encode(), mode=0o755)  # before the client, which may turn into it
    _put(path, _TEXT.encode() if client is None else client, mode=0o755)
    if client is None:
        _remove(script)
    recorded = f"{sys.executable}\n{package_directory()}\n"
    place = os.path.join(home, "bin", "takeback.path")
    _put(place, recorded.encode(errors="surrogateescape"))
    for record, path_of in ((git_record(home), git), (settings_record(home), settings)):
        if path_of is not None:
            _put(record, f"{path_of}\n".encode(errors="surrogateescape"))
    return path


def _put(path: str, data: bytes, *, mode: int = 0o600) -> None:
    """Writes a file unless it is there already, and nobody else's."""
    if _bytes(path) != data or why_not_private(path) or not _is_allowed(path, mode):
        durable.replace_file(path, data, mode=mode)


def _is_allowed(path: str, mode: int) -> bool:
    return not mode & 0o100 or os.access(path, os.X_OK)


def _client() -> bytes | None:
    """Returns the client that is written in C; None without one that is ours and runs here."""
    path = _built()
    data = _bytes(path)
    if data is None or why_not_private(path) or why_not_private(os.path.dirname(path)):
        return None
    from subprocess import SubprocessError, run

    try:
        run([path, "--runs"], timeout=_RUNS, check=True, capture_output=True)
    except (OSError, SubprocessError):  # it was built for another machine
        return None
    return data


def _built() -> str:
    return os.path.join(package_directory(), "takeback", "native", "built", "hook")


def package_directory() -> str:
    """Returns the directory that this takeback is imported from."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def recorded(home: str) -> tuple[str, str] | None:
    """Returns the Python and the directory that the launcher uses, None if none is recorded."""
    lines = (_read(os.path.join(home, "bin", "takeback.path")) or "").splitlines()
    return (lines[0], lines[1]) if len(lines) >= 2 else None


def is_sound(home: str) -> bool:
    """Tells whether the launcher exists, is ours, and leads to a takeback."""
    path, found = launcher_path(home), recorded(home)
    script = path if _read(path) == _TEXT else os.path.join(home, "bin", _SCRIPT)
    if _read(script) != _TEXT or not _is_client(path, script) or found is None:
        return False
    if not all(os.access(one, os.X_OK) for one in (path, script)):
        return False
    if any(why_not_private(os.path.join(home, "bin", name)) for name in _OURS):
        return False
    return os.access(found[0], os.X_OK) and os.path.isdir(os.path.join(found[1], "takeback"))


def _is_client(path: str, script: str) -> bool:
    """Tells whether what agents call is the script itself, or the client beside it.

    One of an earlier release is as good: it finds nobody who speaks as it does, and is the script.
    """
    return path == script or f"\n{_MARK}" in (_read(path) or "")


def is_stale(home: str) -> bool:
    """Tells whether there is a launcher that does not lead to a takeback; a retired one may."""
    return _read(launcher_path(home)) not in (None, _RETIRED) and not is_sound(home)


def has_standby(home: str) -> bool:
    """Tells whether a standby is waiting for the launcher's hooks."""
    return bool(standby_sockets(home))


def standby_sockets(home: str) -> list[str]:
    """Returns the paths of the sockets at which standbys listen."""
    place = os.path.join(home, "bin")
    try:
        names = os.listdir(place)
    except OSError:
        return []
    return [os.path.join(place, name) for name in names if name.startswith(handover.PREFIX)]


def retire_launcher(home: str) -> None:
    """Replaces the launcher by one that does nothing; what takeback keeps stays.

    Agents read their settings when they start: those that are running go on calling it, and would
    show an error at each event if it were gone.
    """
    path = launcher_path(home)
    if _read(path) is None:
        return
    durable.replace_file(path, _RETIRED.encode(), mode=0o755)
    records = [os.path.join(home, "bin", name) for name in _OURS if name != "hook"]
    for left in (*records, *standby_sockets(home)):
        _remove(left)


def _remove(path: str) -> None:
    try:
        durable.unlink(path)
    except FileNotFoundError:
        return


def _read(path: str) -> str | None:
    data = _bytes(path)
    return None if data is None else data.decode("utf-8", "surrogateescape")


def _bytes(path: str) -> bytes | None:
    try:
        with open(path, "rb", opener=ordinary) as file:
            return file.read()
    except OSError:
        return None


def command_for(agent: str, home: str, *words: str) -> str:
    """Returns the command line to put into an agent's settings."""
    from shlex import quote

    return " ".join([quote(launcher_path(home)), agent, *words])


def is_command(command: str, agent: str, home: str, *, others: bool = True) -> bool:
    """Tells whether a command line is one of ours, of this home or, with ``others``, another one.

    Somebody else's program may be called ``bin/hook`` too: the launcher of another home is
    recognized by its text, or, if it is gone, by the usual name of a home.
    """
    from shlex import split

    try:
        words = split(command)
    except ValueError:
        return False
    path, *more = words or [""]
    if more not in ([agent], [agent, handover.BESIDE]) or not path.endswith("/bin/hook"):
        return False
    if path == launcher_path(home):
        return True
    if not others:
        return False
    text = _read(path)
    if text is None:
        return path.endswith("/takeback/bin/hook")
    return f"\n{_MARK}" in text
