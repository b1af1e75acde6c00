"""A proxy between an editor and its agent, which speak the Agent Client Protocol over stdio.

    editor ── stdin ──> proxy ── stdin ──> agent
           <── stdout ──   │   <── stdout ──
                           └── one JSON document a line ──> takeback hook generic --stdio

    streams.py    bytes in lines, within a bound
    messages.py   the few messages that concern us: read, made, changed
    listener.py   what passes: a prompt waits for its checkpoint, the end of a turn for its own
    sessions.py   what is known of each session, and whose hooks record it
    recorder.py   the process that records: another one, so that nothing here waits for a disk
    proxy.py      the loop, and what happens when one of them ends

Each line passes as it came, in order. What is changed: the list of commands gets one more, a prompt
gets the note for its model, if there is one, and a prompt that is meant for takeback is answered
here. If takeback fails or takes too long, everything passes all the same.
"""

from __future__ import annotations

import os
import subprocess
import sys

from takeback import programs
from takeback.acp.proxy import Proxy
from takeback.acp.sessions import ProxiedAgent
from takeback.adapters import OWN_AGENT
from takeback.errors import UsageError
from takeback.paths import takeback_home
from takeback.store.location import is_known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def serve(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Runs an agent, with this process's stdin and stdout, until it ends; returns its status.

    Raises UsageError if there is no such program.
    """
    if sys.stdin is None or sys.stdout is None:  # closed by the caller: there is no editor
        return 0
    home = takeback_home(environ)
    found = programs.find(
        argv[0], environ, is_workspace=lambda path: is_known(home, os.fsencode(path))
    )
    if found.program is None:
        raise UsageError(
            f"there is no program {argv[0]!r} to run",
            hint=found.passed_over or "name one that is in your PATH, or its whole path",
        )
    agent = ProxiedAgent(os.path.basename(argv[0]))
    try:
        started = subprocess.Popen(
            [found.program, *argv[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**environ, OWN_AGENT: agent.name},  # its tools speak for its model
            process_group=0,  # many agents are two processes: they are ended together
        )
    except OSError as error:
        raise UsageError(f"{found.program} cannot be run: {error.strerror}") from None
    return Proxy(started, agent.replace(process=started.pid), environ).run()
