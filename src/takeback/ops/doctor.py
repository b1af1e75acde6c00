"""Doctor: reports what is wrong and mends what can safely be mended."""

from __future__ import annotations

import os

from takeback import durable
from takeback.errors import Command, GitUnusable, InUse, StoreDamaged
from takeback.git.pack import TEMPORARY
from takeback.git.process import check_version
from takeback.model.path_text import to_text
from takeback.model.value import Value
from takeback.ops.earlier import earlier
from takeback.paths import takeback_home
from takeback.store import failures, journal, maintenance
from takeback.store.checksum import reads_whole
from takeback.store.lock import Lock
from takeback.store.trust import Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Final, Literal

    from takeback.errors import Hint
    from takeback.model.earlier import Earlier
    from takeback.ops.context import Context, LockedContext
    from takeback.ops.recover import Recovered
    from takeback.store.failures import Failure

    FindingState = Literal["ok", "mended", "broken", "offer"]

OK: Final = "ok"
MENDED: Final = "mended"
BROKEN: Final = "broken"
OFFER: Final = "offer"


class Finding(Value):
    """One thing that was checked. ``state`` is ok, mended, broken or offer."""

    about: str
    state: FindingState
    message: str
    hint: Hint = ""


def doctor(context: Context, recover: Callable[[LockedContext], Recovered | None]) -> list[Finding]:
    """Checks everything, cleans up after dead processes, and returns what it found."""
    found = [check_git(context.store.find_git)]
    with context.locked() as locked:
        found += [_journal(locked, recover), _disk(locked), _private(locked), _leftovers(locked)]
    found.append(_packs(context))
    found += offers(earlier(context.store.location, context.environ))
    return [*found, *_failures(context)]


def _failures(context: Context) -> list[Finding]:
    """Lists unseen failures; that a hook once failed does not mean that anything is broken now."""
    store, home = context.store, takeback_home(context.environ)
    heard = failures.of_hooks(store, home, context.workspace.root)
    found: tuple[tuple[str, FindingState, Sequence[Failure]], ...] = (
        ("log", BROKEN, failures.of_store(store)),
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


def _journal(
    context: LockedContext, recover: Callable[[LockedContext], Recovered | None]
) -> Finding:
    try:
        done = recover(context)
    except StoreDamaged:
        aside = journal.set_aside(context.lock)
        message = f"the journal of an interrupted operation was not readable; kept as {aside}"
        return Finding(
            "journal", MENDED, message, ("compare the files with: ", Command("diff", "@"))
        )
    if done is not None:
        return Finding(
            "journal", MENDED, done.sentence(), ("what it did: ", Command("log", "--operations"))
        )
    return Finding("journal", OK, "no operation was interrupted")


def _disk(context: Context) -> Finding:
    status = os.statvfs(context.store.directory)
    free = status.f_bavail * status.f_frsize
    if free < context.policy.disk_floor:
        return Finding(
            "disk",
            BROKEN,
            f"{free >> 20} MB are free on the disk of the store; captures stop at "
            f"{context.policy.disk_floor >> 20} MB",
            ("free some space, or lower the floor: ", Command("config", "disk_floor_mb")),
        )
    return Finding("disk", OK, f"{free >> 20} MB are free")


def _private(context: Context) -> Finding:
    mode = os.stat(context.store.directory).st_mode & 0o777
    if mode & 0o077:
        durable.make_private(context.store.directory, 0o700)
        return Finding("store", MENDED, f"others could read the store (mode {mode:03o}); now 700")
    return Finding("store", OK, f"{context.store.directory} is private")


def _leftovers(context: LockedContext) -> Finding:
    """Removes temporary packs of dead processes; the lock ensures that no live one has any."""
    directory = os.path.join(context.store.git_dir, "objects", "pack")
    removed = 0
    for name in os.listdir(directory):
        if name.startswith((TEMPORARY, "tmp_pack_", "tmp_idx_")):
            durable.unlink(os.path.join(directory, name))
            removed += 1
    if removed:
        return Finding("packs", MENDED, f"{removed} temporary files of dead processes removed")
    return Finding("packs", OK, "no temporary files are left over")


def _broken_packs(context: Context) -> dict[str, str]:
    """Returns the packs that are gone or not as they were written; reads all of them."""
    store = context.store
    lock = Lock(store.path("maintenance.lock"))
    try:  # so that no pack is removed while it is read
        lock.acquire("doctor", wait=0)
    except InUse:
        return Trust(store).broken()
    try:
        found = Trust(store).broken()
        pack_dir = os.path.join(store.git_dir, "objects", "pack")
        names = [name for name in store.packs.names() if name not in found]
        for number, name in enumerate(names):
            context.reporter.progress("reading packs", number, len(names))
            if not reads_whole(pack_dir, name):
                store.blame(name)
                found[name] = "it does not read back"
        return found
    finally:
        lock.release()


def _packs(context: Context) -> Finding:
    broken = _broken_packs(context)
    if broken:
        named = "; ".join(f"{name}: {why}" for name, why in sorted(broken.items()))
        return Finding(
            "packs", BROKEN, named, ("which checkpoints lost something: ", Command("verify"))
        )
    count = len(context.store.pack_names())
    if context.store.has_many_packs:
        done = maintenance.combine_packs(context.store)
        now = len(context.store.pack_names())
        how = f"{count} packs combined into {now}" if done else "another process combines packs"
        return Finding("packs", MENDED, how)
    return Finding("packs", OK, f"{count} packs")


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
