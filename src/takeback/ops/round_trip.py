"""The round trip: a real checkpoint, rewind and undo of a few scratch files.

    $TAKEBACK_HOME/doctor-<token>/      see scratch.py
        files/    the workspace
        home/     the store: same disk, same permissions, same git as the real ones

So it fails where a real one would fail.
"""

from __future__ import annotations

import os
import time
from stat import S_IMODE

from takeback import durable
from takeback.errors import GitUnusable, TakebackError
from takeback.model.operation import UNDO
from takeback.model.policy import Policy
from takeback.ops.checkpoint import checkpoint
from takeback.ops.context import Context, SilentReporter, SystemClock
from takeback.ops.destination import goal_of
from takeback.ops.finding import BROKEN, OFFER, OK, Finding
from takeback.ops.index import Index
from takeback.ops.names import find
from takeback.ops.open import open_store, open_workspace
from takeback.ops.request import Request
from takeback.ops.rewind import rewind, take_in
from takeback.ops.scratch import ScratchDirectory
from takeback.ops.undo import next_step, request
from takeback.ordinary import ordinary
from takeback.paths import git_record, takeback_home
from takeback.store import location as locations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from takeback.model.checkpoint import Checkpoint

    State = dict[str, tuple[int, bytes]]
    """Permission bits and bytes of each file, or the target of each link, by path."""

_PURPOSE = "doctor"
_NAME = "round trip"


def check_round_trip(environ: Mapping[str, str], find_git: Callable[[], str]) -> Finding:
    """Makes a round trip and says how it went.

    ``find_git`` knows the real workspaces, of which none may choose the git that is run.
    """
    begun = time.monotonic()
    try:
        wrong = _travel(takeback_home(environ), environ, find_git())
    except GitUnusable:  # which is a finding of its own
        return Finding(_NAME, OFFER, "it was not made: there is no git to run")
    except TakebackError as error:
        return Finding(_NAME, BROKEN, f"it failed: {error.message}", error.advice)
    except OSError as error:
        return Finding(_NAME, BROKEN, f"it failed: {error}")
    if wrong:
        return Finding(_NAME, BROKEN, wrong)
    took = 1000 * (time.monotonic() - begun)
    return Finding(_NAME, OK, f"checkpoint, rewind and undo gave back every byte, in {took:.0f} ms")


def _travel(home: str, environ: Mapping[str, str], git: str) -> str:
    """Makes the trip in a new directory; returns what did not come back, if anything."""
    scratch = ScratchDirectory(home, _PURPOSE)
    try:
        inner = scratch.inside("home")
        durable.make_directories(os.path.dirname(git_record(inner)))
        durable.replace_file(git_record(inner), os.fsencode(git), flush=False)
        return _there_and_back(
            scratch.inside("files"), {**environ, "TAKEBACK_HOME": inner, "PATH": ""}
        )
    finally:
        scratch.remove()


def _there_and_back(root: str, environ: Mapping[str, str]) -> str:
    _write_first(root)
    first = _state(root)
    location = locations.find(takeback_home(environ), os.fsencode(root))
    context = Context(
        workspace=open_workspace(location),
        store=open_store(location, environ, SilentReporter(), create=True),
        policy=Policy(),
        clock=SystemClock(),
        reporter=SilentReporter(),
        environ=environ,
        holder=_NAME,
    )
    try:
        made = checkpoint(context).checkpoint
        _write_second(root)
        second = _state(root)
        _go(context, Request(goal_of(context.store, made)))
        if _state(root) != first:
            return f"the rewind did not bring back {_differing(_state(root), first)}"
        step = next_step(context, UNDO)
        _go(context, request(context, UNDO, step, _by_id(context, step.goes_to)))
        if _state(root) != second:
            return f"the undo did not bring back {_differing(_state(root), second)}"
        return ""
    finally:
        context.store.close()
        context.workspace.close()


def _go(context: Context, wanted: Request) -> None:
    with context.locked() as locked:
        rewind(locked, take_in(locked), wanted)


def _by_id(context: Context, id: str) -> Checkpoint:
    index = Index(context.store, context.reporter)
    try:
        return index.ask(lambda ledger: find(ledger, id, now=context.clock.now()))
    finally:
        index.close()


def _write_first(root: str) -> None:
    durable.make_directories(os.path.join(root, "sub", "deep"))
    _write(root, "kept.txt", b"one\n")
    _write(root, "changed.txt", b"before\n" * 1000)
    _write(root, "sub/deep/deleted.bin", bytes(range(256)))
    _write(root, "sub/program", b"#!/bin/sh\n", mode=0o755)
    durable.symlink(b"../kept.txt", os.path.join(root, "sub", "link"))


def _write_second(root: str) -> None:
    _write(root, "changed.txt", b"after\n")
    _write(root, "sub/new.txt", b"new\n")
    durable.unlink(os.path.join(root, "sub", "deep", "deleted.bin"))
    durable.make_private(os.path.join(root, "sub", "program"), 0o644)


def _write(root: str, name: str, data: bytes, mode: int = 0o644) -> None:
    durable.replace_file(os.path.join(root, name), data, flush=False, mode=mode)


def _state(root: str) -> State:
    found: State = {}
    for base, _, names in os.walk(root):
        for name in names:
            path = os.path.join(base, name)
            status = os.lstat(path)
            if os.path.islink(path):
                data = os.fsencode(os.readlink(path))
            else:
                with open(path, "rb", opener=ordinary) as file:
                    data = file.read()
            found[os.path.relpath(path, root)] = (S_IMODE(status.st_mode), data)
    return found


def _differing(one: State, other: State) -> str:
    return ", ".join(sorted(n for n in one.keys() | other.keys() if one.get(n) != other.get(n)))
