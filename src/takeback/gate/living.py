"""Living agents: which processes are agents now, and which sessions they work on.

    $TAKEBACK_HOME/workspaces/.agents/
        4711-88123.5f0c2e…    an agent's process, when it was started; one of its sessions, here
        -.77ab10…             a session of an agent whose process nobody knows

An event leaves the file the first time that its agent's process tells one of that session. Who asks
(``asker.py``) then need not look into any store to see whether there is an agent above it. The
directory is in that of the stores: whoever gets to those by another path finds the same agents.

Nothing is flushed: no process outlives the run of the machine, and a file of another run does not
count. What is lost comes again with the next event.
"""

from __future__ import annotations

import os

from takeback import durable, kernel
from takeback.git.objects import BLOB, object_id
from takeback.model import json_text
from takeback.model.checkpoint import Process
from takeback.model.ids import SessionId
from takeback.model.value import Value
from takeback.ordinary import all_names, small_content
from takeback.turns.processes import MANAGERS, SILENT_FOR, can_be_seen, is_alive, itself, sees_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.turns.processes import Ancestor

_PLACE = ("workspaces", ".agents")
_A_WHILE = 60.0
"""So often is noted that such an agent has spoken."""


class Living(Value):
    """One session of an agent that is there now, in one workspace.

    ``below`` is the process of the agent that started it, if one did: then it is that one's doing.
    ``is_program`` says that the process is a program of the person's that uses the Python API: what
    it starts between its turns is the person's. ``place`` is the store's directory.
    """

    session: SessionId
    agent: str
    place: str
    process: Process | None = None
    below: Process | None = None
    is_program: bool = False


def note(home: str, one: Living, *, now: float) -> None:
    """Notes that an agent is there; one look at a name if that is known already."""
    folder = os.path.join(home, *_PLACE)
    process = one.process
    who = "-" if process is None else f"{process.pid}-{process.started}"
    which = object_id(BLOB, os.fsencode(f"{one.session} {one.place}")).hex()[:16]
    path = os.path.join(folder, f"{who}.{which}")
    try:
        spoke = os.lstat(path).st_mtime
        if process is None and abs(now - spoke) > _A_WHILE:
            moment = int(now * 1_000_000_000)
            durable.set_times(path, moment, moment)
        return
    except OSError:
        pass
    try:
        durable.make_directories(folder)
        durable.replace_file(path, _record(one), flush=False)
        _clear(folder, now)
    except OSError:  # no room: the next event tries again
        return


def living(home: str, *, now: float) -> list[Living]:
    """Returns the agents that are there now, those too whose processes cannot be seen from here."""
    return [
        one
        for path, one in _listed(os.path.join(home, *_PLACE))
        if one is not None and _is_there(one, path, now)
    ]


def may_be_below(one: Living, pid: int, line: Sequence[Ancestor]) -> bool:
    """Tells whether a process may be below an agent although those above it do not say so.

    Nothing is told of what is above; or that is in a namespace in which the agent cannot be seen;
    or everything above was started after the agent, without a terminal, and has lost its parent.
    """
    if not line or not any(each.process.started for each in line):
        return True
    if one.process is None or one.process.started is None or one.process.pid == pid:
        return False
    namespace = line[0].process.namespace
    if one.process.namespace != namespace:
        return not sees_all(namespace)
    kept = [each for each in line if each.process.pid != 1 and each.name not in MANAGERS]
    if any(each.terminal for each in (*kept, *itself(pid))):
        return False
    began = int(one.process.started)
    return all(int(each.process.started or 0) >= began for each in kept)


def _clear(folder: str, now: float) -> None:
    """Removes what is left of agents that have gone, as far as that can be seen from here."""
    for path, one in _listed(folder):
        if one is not None and (_is_there(one, path, now) or not _is_seen(one)):
            continue
        try:
            durable.unlink(path)
        except OSError:
            continue


def _is_seen(one: Living) -> bool:
    return one.process is None or can_be_seen(one.process)


def _listed(folder: str) -> Iterator[tuple[str, Living | None]]:
    """Yields what the files say; None for one of another run of the machine."""
    try:
        names = all_names(folder)
    except OSError:
        return
    run = kernel.run_of_machine() if names else ""
    for name in sorted(names):
        path = os.path.join(folder, name)
        yield path, _read(path, run)


def _is_there(one: Living, path: str, now: float) -> bool:
    if one.process is not None and can_be_seen(one.process):
        return is_alive(one.process)
    try:
        return now - os.lstat(path).st_mtime < SILENT_FOR
    except OSError:
        return False


def _record(one: Living) -> bytes:
    process, below = one.process, one.below
    said = {
        "run": kernel.run_of_machine(),
        "session": one.session,
        "agent": one.agent,
        "place": one.place,
        "process": None if process is None else [process.pid, process.started, process.namespace],
        "below": None if below is None else [below.pid, below.started, below.namespace],
        "is_program": one.is_program,
    }
    return json_text.dumps(said).encode(errors="surrogateescape")


def _read(path: str, run: str) -> Living | None:
    try:
        said = json_text.loads(small_content(path).decode(errors="surrogateescape"))
        if not isinstance(said, dict) or run not in (said["run"], kernel.UNKNOWN_RUN):
            return None
        return Living(
            SessionId(_text(said["session"])),
            _text(said["agent"]),
            _text(said["place"]),
            _process(said["process"]),
            _process(said["below"]),
            said["is_program"] is True,
        )
    except (OSError, KeyError, TypeError, ValueError):  # being written, or not ours
        return None


def _text(said: object) -> str:
    if not isinstance(said, str):
        raise TypeError("not a text")
    return said


def _process(said: object) -> Process | None:
    if said is None:
        return None
    if not isinstance(said, list):
        raise TypeError("not a process")
    pid, started, namespace = said
    if not isinstance(pid, int) or pid <= 0:
        raise TypeError("not a number")
    if started is not None and not (isinstance(started, str) and started.isdecimal()):
        raise TypeError("not when it was started")
    return Process(pid, started, None if namespace is None else _text(namespace))
