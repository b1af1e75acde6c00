"""Switches: whether a variable by which nothing would be recorded is the person's own.

    the person's shell ── agent ── (a shell) ── hook
                            │                     └ its variables: the agent's, and over them what
                            │                       the project's settings say, or a file .env
                            └ /proc/PID/environ: what it was started with; no setting changes that

A hook looks at that only if the switch is set, or if it would else record nothing: HOME says which
directory is no workspace, and what ``~`` is in the settings.
"""

from __future__ import annotations

import os

from takeback.gate.teller import Above, Teller
from takeback.turns import processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

OFF = "off"
SWITCH = "TAKEBACK"


def says_off(environ: Mapping[str, str]) -> bool:
    """Tells whether variables say that nothing is to be recorded, whoever set them."""
    return environ.get(SWITCH, "").lower() == OFF


def is_of_agent(process: int = 0) -> bool | None:
    """Tells whether the agent that called a hook was itself started with the switch.

    None if the system does not say. ``process`` is the hook's, 0 for this one.
    """
    own = processes.variables(agent_above(process))
    return says_off(own) if own else None


def restore_home(process: int = 0) -> bool:
    """Gives this process its agent's HOME; False if it has that, or if nobody knows."""
    own = processes.variables(agent_above(process)).get("HOME", "")
    if not own or own == os.environ.get("HOME"):
        return False
    os.environ["HOME"] = own
    return True


def agent_above(process: int = 0) -> int:
    """Returns the agent's process of a hook's, 0 for this one; 0 if there is none to be seen.

    One that starts itself anew, as Gemini does after it has read a project's .env, is the one that
    was first.
    """
    agent = Teller.of(Above.of(process), None, os.environ).agent
    found = 0 if agent is None else agent.pid
    for one in processes.above(found) if found else ():
        if not _is_of(found, one.process.pid):
            break
        found = one.process.pid
    return found


def _is_of(pid: int, parent: int) -> bool:
    """Tells whether a process runs its parent's program, with the script that this runs."""
    try:
        if os.readlink(f"/proc/{pid}/exe") != os.readlink(f"/proc/{parent}/exe"):
            return False
    except OSError:  # another user's
        return False
    script = next((word for word in processes.words(parent)[1:] if word[:1] != "-"), "")
    names = {os.path.basename(word) for word in processes.words(pid)[1:]}
    return bool(script) and os.path.basename(script) in names
