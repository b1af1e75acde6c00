"""Doctor: reports what is wrong, and if wanted mends what can safely be mended.

Without ``fix`` it changes nothing, except that it finishes or rolls back an interrupted operation,
as every command that may change files does. It makes a round trip of its own:

    $TAKEBACK_HOME/doctor-<token>/      see scratch
        files/    the workspace
        home/     the store: same disk, same permissions, same git as the real ones
"""

from __future__ import annotations

import os
import time
from stat import S_IMODE

from takeback import durable
from takeback.check import check
from takeback.check.check import inspect, inspect_packs
from takeback.check.finding import BROKEN, FIX, MENDED, OFFER, OK, WHO_LOST, Finding
from takeback.context import Context, SilentReporter, SystemClock, Translated
from takeback.errors import (
    Command,
    GitFailed,
    GitUnusable,
    InUse,
    StoreDamaged,
    TakebackError,
    WriteFailed,
)
from takeback.git.process import check_version
from takeback.ledger.follow import Index
from takeback.model.coverage import Policy
from takeback.model.operation import UNDO
from takeback.model.path_text import to_text
from takeback.ordinary import ordinary
from takeback.paths import git_record, takeback_home
from takeback.retention.due import advice, maintenance_shortage, room_at
from takeback.retention.earlier import earlier
from takeback.retention.trash import Leftovers
from takeback.rewind.prepare import goal_of
from takeback.rewind.request import Request
from takeback.rewind.rewind import next_step, request, rewind, take_in
from takeback.scratch import ScratchDirectory
from takeback.store import location as locations
from takeback.store import notes, repack
from takeback.store.location import read_location
from takeback.store.lock import Lock
from takeback.store.repack import reads_whole
from takeback.timeline.names import find
from takeback.turns.making import checkpoint
from takeback.workspaces import open_store, open_workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from takeback.check.check import Fault, Witness
    from takeback.check.finding import FindingState
    from takeback.context import LockedContext
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.entries import Earlier
    from takeback.rewind.rewind import Recovered
    from takeback.store.notes import Failure

    State = dict[str, tuple[int, bytes]]
    """Permission bits and bytes of each file, or the target of each link, by path."""
    Recover = Callable[[LockedContext], Recovered | None]

# -- the round trip: a real checkpoint, rewind and undo of a few scratch files
#
#     $TAKEBACK_HOME/doctor-<token>/      see scratch.py
#         files/    the workspace
#         home/     the store: same disk, same permissions, same git as the real ones
#
# So it fails where a real one would fail.


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


# -- doctor


_UNHEARD = (
    "a link or a mapping may write unheard; the end of each turn has it all. Without watch: ",
    Command("config", "standby_minutes", "0"),
)


def doctor(context: Context, known: Witness, recover: Recover, *, fix: bool) -> list[Finding]:
    """Checks the store and its surroundings, and returns what it found."""
    found = [check_git(context.store.find_git)]
    with context.locked() as locked:
        found.append(_journal(locked, recover, fix=fix))
        found += _records(locked, known, fix=fix)
        faults = inspect_packs(locked)
        found += [_mended(locked, "packs", _naming_pack(fault), fix=fix) for fault in faults]
        found += [_disk(locked), *_private(locked, fix=fix), _leftovers(locked, fix=fix)]
    found.append(_packs(context, {fault.pack for fault in faults}, fix=fix))
    found += _renamed(context)
    found += _watch(context)
    found += offers(earlier(context.store.location, context.environ))
    return [*found, *_failures(context)]


def _failures(context: Context) -> list[Finding]:
    """Lists unseen failures; that a hook once failed does not mean that anything is broken now."""
    store, home = context.store, takeback_home(context.environ)
    heard = notes.of_hooks(store, home, context.workspace.root)
    found: tuple[tuple[str, FindingState, Sequence[Failure]], ...] = (
        ("log", BROKEN, notes.of_store(store)),
        ("log of hooks", OFFER, heard),
    )
    return [
        Finding(
            about,
            state,
            f"{len(failed)} failures, the last: {failed[-1].line}",
            ("once you have read it: ", Command("status", "--seen")),
        )
        for about, state, failed in found
        if failed
    ]


def check_git(find: Callable[[], str]) -> Finding:
    """Checks whether git is there and new enough; ``find`` looks for it."""
    try:
        program = find()
        version = check_version(program)
    except GitUnusable as error:
        return Finding("git", BROKEN, error.message, error.advice)
    return Finding("git", OK, f"{program}, version {'.'.join(map(str, version))}")


def _journal(context: LockedContext, recover: Recover, *, fix: bool) -> Finding:
    try:
        done = recover(context)
    except StoreDamaged as error:
        if not fix:
            return Finding("journal", BROKEN, error.message, FIX)
        compare = ("compare the files with: ", Command("diff", "@"))
        return Finding("journal", MENDED, check.journal_aside(context), compare)
    if done is not None:
        return Finding(
            "journal", MENDED, done.sentence(), ("what it did: ", Command("log", "--operations"))
        )
    return Finding("journal", OK, "no operation was interrupted")


def _records(context: LockedContext, known: Witness, *, fix: bool) -> Iterator[Finding]:
    """Holds all but the packs against what was written, and mends it if that is wanted."""
    faults = inspect(context, known)
    for fault in faults:
        yield _mended(context, fault.what, fault, fix=fix)
    if not faults:
        yield Finding("records", OK, "refs, numbers and tables are as they were written")


def _mended(context: LockedContext, about: str, fault: Fault, *, fix: bool) -> Finding:
    if fault.cure is None:
        return Finding(about, BROKEN, fault.detail, fault.hint)
    if not fix:
        return Finding(about, BROKEN, fault.detail, FIX)
    try:
        done = fault.cure(context)
    except (TakebackError, OSError) as error:
        return Finding(about, BROKEN, f"{fault.detail}; it could not be mended: {error}")
    return Finding(about, MENDED, f"{fault.detail}; {done}")


def _renamed(context: Context) -> Iterator[Finding]:
    """Says that the home has another name than when it made the store: a copy, or a lost file."""
    store, known = context.store, read_location(context.store.directory)
    if known is None or not known.machine or store.machine in (None, known.machine):
        return
    message = f"it is {store.machine} now; what {known.machine} did here before counts as its own"
    yield Finding("machine", OK, message)


def _watch(context: Context) -> Iterator[Finding]:
    """Says what looks at every file have found that rounds relying on the watch had missed."""
    tally = notes.read_tally(context.store)
    if not tally.looks:
        return
    seen = f"{tally.rounds} rounds relied on it, {tally.looks} looks at every file were held"
    if not tally.missed:
        yield Finding("watch", OK, f"{seen} against it: nothing was missed")
        return
    times = "1 directory" if tally.missed == 1 else f"{tally.missed} directories"
    message = f"{seen} against it: {times} had changed unheard, last {_named(tally.last)}"
    yield Finding("watch", OFFER, message, _UNHEARD)


def _named(directory: bytes) -> str:
    return to_text(directory) if directory else "the top"


def _naming_pack(fault: Fault) -> Fault:
    return fault.replace(detail=f"{fault.pack}: {fault.detail}")


def _disk(context: Context) -> Finding:
    room = room_at(context.store.directory, context.policy.disk_floor)
    if room.lacks is not None:
        return Finding("disk", BROKEN, room.lacks, advice())
    if room.is_nearly_full:
        return Finding("disk", OFFER, f"it is nearly full: {room}", advice())
    short = maintenance_shortage(context.store, context.policy.max_bytes, context.policy.disk_floor)
    if short is not None:
        return Finding("disk", BROKEN, short, advice())
    return Finding("disk", OK, str(room))


def _private(context: Context, *, fix: bool) -> Iterator[Finding]:
    """Checks that nobody else may look into the store, nor into the home of all of them."""
    store = context.store.directory
    for about, directory in (("home", takeback_home(context.environ)), ("store", store)):
        mode = os.stat(directory).st_mode & 0o777
        if not mode & 0o077:
            yield Finding(about, OK, f"{directory} is private")
        elif fix:
            durable.make_private(directory, 0o700)
            yield Finding(about, MENDED, f"others could look into {directory}; now its mode is 700")
        else:
            message = f"others can look into {directory}: its mode is {mode:03o}"
            yield Finding(about, BROKEN, message, FIX)


def _leftovers(context: LockedContext, *, fix: bool) -> Finding:
    """Finds temporary files of dead processes; the lock ensures that no live one has any."""
    left = Leftovers(context.lock)
    if not left.paths:
        return Finding("leftovers", OK, "no temporary files are left over")
    size = left.bytes
    if fix:
        message = f"{left.remove()} temporary files of dead processes removed, {size >> 10} KB"
        return Finding("leftovers", MENDED, message)
    message = f"{len(left.paths)} temporary files of dead processes, {size >> 10} KB"
    return Finding("leftovers", OFFER, message, ("remove them: ", Command("doctor", "--fix")))


def _damaged_packs(context: Context) -> list[str]:
    """Reads every pack whole and returns those that are not as they were written."""
    store = context.store
    lock = Lock(store.path("maintenance.lock"))
    try:  # so that no pack is removed while it is read
        lock.acquire("doctor", wait=0)
    except InUse:
        return []
    try:
        pack_dir = os.path.join(store.git_dir, "objects", "pack")
        names = store.packs.names()
        damaged = []
        for number, name in enumerate(names):
            context.reporter.progress("reading packs", number, len(names))
            if not reads_whole(pack_dir, name):
                store.blame(name)
                damaged.append(name)
        return damaged
    finally:
        lock.release()


def _packs(context: Context, named: set[str], *, fix: bool) -> Finding:
    """Reads the packs that were not named for less, and combines them if there are many."""
    damaged = set(_damaged_packs(context)) - named
    if damaged:
        message = f"not as they were written: {', '.join(sorted(damaged))}"
        return Finding("packs", BROKEN, message, WHO_LOST)
    count = len(context.store.pack_names())
    if not context.store.has_many_packs:
        return Finding("packs", OK, f"{count} packs")
    if not fix:
        combine = ("combine them now: ", Command("doctor", "--fix"))
        return Finding("packs", OFFER, f"{count} packs are many, which slows reading", combine)
    try:
        with Translated("combining packs"):
            done = repack.combine_packs(context.store, disk_floor=context.policy.disk_floor)
    except (WriteFailed, GitFailed) as error:
        return Finding("packs", BROKEN, f"{count} packs are many; {error.message}", error.hint)
    now = len(context.store.pack_names())
    how = f"{count} packs combined into {now}" if done else "another process combines packs"
    return Finding("packs", MENDED, how)


def offers(found: Iterable[Earlier]) -> list[Finding]:
    """Offers the stores of what was at this path before."""
    return [
        Finding(
            "earlier workspace",
            OFFER,
            f"another directory stood at {to_text(other.path)} before; its checkpoints"
            f" ({other.checkpoints}) are in {other.directory}",
            ("take them over: ", Command("doctor", "--adopt", other.name)),
        )
        for other in found
    ]
