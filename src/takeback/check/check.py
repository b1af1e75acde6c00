"""Checks everything in a store that is cheap to check, and mends what loses nothing.

    found here      by ``verify`` and ``doctor``, each fault with its cure
    verify          also reads back all that was kept (check/walk.py)
    doctor --fix    applies the cures

A store is packs, which nobody may change once they are written, and a few small files. The packs
are compared with the table of what was written (``store/trust.py``), the refs and the sequence
number with the ledger, which has followed them.
"""

from __future__ import annotations

import os
import time

from takeback.check.finding import WHO_LOST
from takeback.check.walk import NOTHING_READ, Problem, Walk, read_everything
from takeback.errors import Command, InUse, StoreDamaged, WriteFailed
from takeback.git.process import HEAD, config_text, fsck, index_pack, write_own_files
from takeback.git.refs import PACKED
from takeback.ledger.ledger import missing_refs
from takeback.model.ids import CheckpointId, MachineId
from takeback.model.operation import PURGE
from takeback.model.path_text import to_text
from takeback.model.value import Value
from takeback.ordinary import ordinary
from takeback.store import journal, pending, redaction, tombstones
from takeback.store.location import give_name, identity_of, read_location, write_location
from takeback.store.lock import Lock
from takeback.store.namespace import (
    EVERYTHING,
    LABELS,
    LOCAL,
    OPERATIONS,
    SESSIONS,
    TRASH,
    label_ref,
    listed,
    machine_of,
    session_ref,
    trash_ref,
)
from takeback.store.records import known_here, leads_to, read_record
from takeback.store.redaction import Traces, all_records
from takeback.store.repack import checksum_holds, name_fits
from takeback.store.trust import LOST, Trust
from takeback.workspaces import lost_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Literal

    from takeback.context import Context, LockedContext
    from takeback.errors import Hint
    from takeback.ledger.ledger import Ledger
    from takeback.model.secret import Tombstones
    from takeback.store.store import Store

    FindingState = Literal["ok", "mended", "broken", "offer"]
    Cure = Callable[[LockedContext], str]

# -- mends what is wrong with a store and can be mended without losing anything
#
# Each cure takes the lock that its fault was found under and returns what it did, in a sentence.


def read_packs(context: LockedContext) -> str:
    """Rebuilds the table of the packs, by reading them."""
    Trust(context.store).check(context.lock)
    return "the table of its packs was made anew; every pack was read"


def index(context: LockedContext, pack: str) -> str:
    """Rebuilds the index of a whole pack; ``pack`` is its path without the suffix."""
    index_pack(context.store.git, pack)
    context.store.reopen_packs()
    Trust(context.store).check(context.lock)
    return "its index was made anew from the pack"


def restore_ref(context: LockedContext, ref: str, tip: str) -> str:
    """Points a ref again to where it led when it was last read."""
    refs = context.store.refs
    refs.drop_damaged(ref)
    refs.write(ref, bytes.fromhex(tip), expect=refs.read(ref))
    return f"it leads to commit {tip} again, as when it was last read"


def packed_refs(context: LockedContext) -> str:
    """Removes the lines that are not refs from git's list of packed refs."""
    context.store.refs.drop_garbled()
    return "the lines that are no refs were taken out and kept in packed-refs.garbled"


def drop_misnamed(context: LockedContext, ref: str) -> str:
    """Removes a ref under a wrong name; the right one leads to the same."""
    refs = context.store.refs
    found = refs.read(ref)
    if found is not None:
        refs.delete(ref, expect=found)
    return "removed: the ref of the right name holds the same"


def git_files(context: LockedContext) -> str:
    """Writes git's own files of the store again; they are the same in every store."""
    write_own_files(context.store.git_dir)
    return "written again"


def numbers(context: LockedContext) -> str:
    """Finds the highest number in the store and continues from there."""
    return f"the next checkpoint gets the number {context.lock.find_sequence() + 1}"


def location(context: LockedContext) -> str:
    """Records again which directory the store belongs to: the one it was found from."""
    store = context.store
    known = read_location(store.directory)
    at = store.location.replace(identity=identity_of(store.location.root))
    write_location(at.replace(also=known.also) if known is not None else at)
    return "written again for the directory that is here"


def event(context: LockedContext, name: str) -> str:
    """Puts a damaged event aside, so that it is not recorded as if it were whole."""
    return f"kept as {pending.set_aside(context.lock, name)}; it is not recorded"


def machine_name(context: LockedContext, machine: MachineId) -> str:
    """Gives this machine back the name under which it made the store."""
    give_name(context.store.location.home, machine)
    return f"it is {machine} again, which made this store"


def journal_aside(context: LockedContext) -> str:
    """Puts an unreadable journal aside, so that work can go on."""
    aside = journal.set_aside(context.lock)
    return f"kept as {os.path.basename(aside)}; compare the files with: takeback diff @"


# -- checks everything in a store that is cheap to check, and says what is not as it was
#
# A store is packs, which nobody may change once they are written, and a few small files. The
# packs are compared with the table of what was written (``store/trust.py``), the refs and the
# sequence number with the ledger, which has followed them. ``verify`` and ``doctor`` both report
# what is found here; ``doctor --fix`` also mends it.


class Fault(Value):
    """One thing that is not as it was written, and what mends it, if anything safely can.

    ``pack`` is the pack that it is about, if it is about one.
    """

    what: str
    detail: str
    cure: Cure | None = None
    hint: Hint = ""
    pack: str = ""


class Witness(Value):
    """What the ledger remembers of a store, to compare it with.

    ``missing`` are refs and where they led; ``commits`` the commit of each checkpoint, by its id.
    """

    missing: tuple[tuple[str, str], ...] = ()
    sequence: int = -1
    commits: tuple[tuple[str, bytes], ...] = ()


NOTHING_KNOWN = Witness()


def witness(ledger: Ledger, machine: str | None) -> Witness:
    """Asks a ledger that has caught up; the numbers are those that this machine gave out."""
    found = ledger.checkpoints()
    commits = tuple((checkpoint.id, checkpoint.commit) for checkpoint in found)
    return Witness(tuple(missing_refs(ledger)), ledger.highest_sequence(machine), commits)


def inspect(context: Context, known: Witness) -> list[Fault]:
    """Returns what a cheap check finds wrong apart from the packs; changes nothing."""
    store = context.store
    return [
        *_table(store),
        *_refs(store, known),
        *_git_files(store),
        *_numbers(store, known),
        *_location(store),
        *_waiting(store),
        *_purged(store),
        *_lost_name(store),
    ]


def inspect_packs(context: Context) -> list[Fault]:
    """Returns the packs that are gone or not as they were written, as far as sizes tell.

    One that is gone need not be missed: its objects may have been written again since.
    """
    store = context.store
    directory = os.path.join(store.git_dir, "objects", "pack")
    return [_pack(directory, pack, why) for pack, why in Trust(store).broken().items()]


def _pack(directory: str, pack: str, why: str) -> Fault:
    path = os.path.join(directory, pack)
    if not name_fits(f"{path}.pack", pack) or not checksum_holds(f"{path}.pack"):
        return Fault(f"pack {pack}", why, hint=WHO_LOST, pack=pack)
    if checksum_holds(f"{path}.idx"):
        detail = f"it does not describe {pack}, which reads whole"
        return Fault("trust", detail, read_packs, pack=pack)
    detail = "its index is gone or damaged"
    return Fault(f"pack {pack}", detail, lambda context: index(context, path), pack=pack)


def _table(store: Store) -> Iterator[Fault]:
    if not Trust(store).is_readable:
        detail = "the table of its packs is gone or garbled: the next checkpoint reads all of them"
        yield Fault("trust", detail, read_packs)


def _refs(store: Store, known: Witness) -> Iterator[Fault]:
    damaged: dict[str, str] = {}
    refs = store.refs.list(EVERYTHING, damaged=damaged)
    for ref, reason in damaged.items():
        tip = next((tip for name, tip in reversed(known.missing) if name == ref), None)
        cure = packed_refs if ref == PACKED else _restoring(store, ref, tip)
        yield Fault(ref, reason, cure)
    for ref, tip in known.missing:
        if ref not in refs and ref not in damaged:
            yield Fault(ref, f"it is gone; it led to commit {tip}", _restoring(store, ref, tip))
        elif ref in refs and store.packs.has(refs[ref]):
            detail = f"it began anew; what it led to before ends at commit {tip}"
            yield Fault(ref, detail, hint=f"it is still there: git -C {store.git_dir} log {tip}")
        elif ref in refs:
            cure = _restoring(store, ref, tip) if _is_nearly(refs[ref].hex(), tip) else None
            detail = f"it names commit {refs[ref].hex()}, which is not in the store"
            yield Fault(ref, detail, cure, hint=WHO_LOST)
    for ref, oid in refs.items():
        if ref.startswith(TRASH) and not store.packs.has(oid):  # the ledger does not follow these
            yield Fault(ref, f"it names commit {oid.hex()}, which is not in the store")
        right = _right_name(store, ref, oid)
        if right is not None and right != ref:
            there = right in refs and leads_to(store, refs[right], oid)
            cure = _dropping(ref) if there or (right, oid.hex()) in known.missing else None
            yield Fault(ref, f"it holds what {right} should hold", cure)


def _is_nearly(found: str, tip: str) -> bool:
    """Tells whether an id is another one with a flipped bit, and not that of a lost commit."""
    return sum(one != other for one, other in zip(found, tip, strict=True)) <= 1


def _restoring(store: Store, ref: str, tip: str | None) -> Cure | None:
    if tip is None:
        return None
    try:
        read_record(store, bytes.fromhex(tip))
    except StoreDamaged:
        return None
    return lambda context: restore_ref(context, ref, tip)


def _putting_aside(name: str) -> Cure:
    return lambda context: event(context, name)


def _dropping(ref: str) -> Cure:
    return lambda context: drop_misnamed(context, ref)


def _right_name(store: Store, ref: str, oid: bytes) -> str | None:
    """Returns the ref that a commit says it belongs to; None if it does not say."""
    try:
        meta = read_record(store, oid).meta
    except StoreDamaged:
        return None  # reading the chains reports it
    session, checkpoint = meta.get("session"), meta.get("checkpoint")
    if ref.startswith(SESSIONS) and isinstance(session, str):
        return session_ref(machine_of(ref), session)
    if ref.startswith(LABELS) and isinstance(checkpoint, str):
        return label_ref(machine_of(ref), CheckpointId(checkpoint))
    if ref.startswith(TRASH) and isinstance(meta.get("id"), str):
        return trash_ref(machine_of(ref), meta["id"])
    return None


def _git_files(store: Store) -> Iterator[Fault]:
    """Checks the two files that git needs and whose contents change what it does."""
    for name, text in (("HEAD", HEAD), ("config", config_text())):
        try:
            with open(os.path.join(store.git_dir, name), "rb", opener=ordinary) as file:
                same = file.read() == text.encode()
        except OSError:
            same = False
        if not same:
            yield Fault(f"store.git/{name}", "it is not as takeback wrote it", git_files)


def _numbers(store: Store, known: Witness) -> Iterator[Fault]:
    """Notices a last number that does not fit, unless the machine has just started.

    The file is not flushed: what a power loss takes of it is found again in the refs, by whoever
    captures next or wants a number.
    """
    if not Trust(store).is_of_this_run:
        return
    try:
        with open(store.path("sequence"), encoding="ascii", opener=ordinary) as file:
            number = int(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        if known.sequence < 0:
            return
        yield Fault("sequence", "the file of the last number is gone or garbled", numbers)
        return
    if number < known.sequence:
        detail = f"the last number is {number}, and {known.sequence} was given out"
        yield Fault("sequence", detail, numbers)


def _location(store: Store) -> Iterator[Fault]:
    known = read_location(store.directory)
    root = store.location.root
    if known is None:
        yield Fault("workspace.json", "it does not say whose store this is", location)
    elif root != known.root and root not in known.also:
        yield Fault("workspace.json", "it names another directory", location)
    elif root == known.root and known.identity != identity_of(root):
        yield Fault("workspace.json", "it describes another directory", location)


def _waiting(store: Store) -> Iterator[Fault]:
    for name in pending.damaged(store):
        detail = "an event that waits to be recorded is damaged"
        yield Fault(f"pending/{name}", detail, _putting_aside(name))


def _purged(store: Store) -> Iterator[Fault]:
    """Notices tombstones that are lost or damaged: what was purged would be captured again."""
    try:
        known = tombstones.load(store)
    except StoreDamaged as error:
        yield Fault(tombstones.FILE, error.message, hint=error.advice)
        return
    if known is not None:
        yield from _returned(store, known)
    elif any(one.kind == PURGE for one in known_here(store)):
        detail = "the file that says what was purged is lost: captures hold that again"
        hint = ("if the file is there again, purge it again: ", Command("purge", "PATH"))
        yield Fault(tombstones.FILE, detail, hint=hint)


def _returned(store: Store, known: Tombstones) -> Iterator[Fault]:
    """Names what was purged here and came back with the work of another machine."""
    try:
        records = all_records(store)
        found = Traces(store, records, lambda path, oid: known.hides(path) or known.bans(oid))
    except StoreDamaged:  # it is reported by who looks at what cannot be read
        return
    for path in sorted((*found.versions, *found.outside)):
        name = to_text(path)
        detail = f"{name} was purged here, and came back with the work of another machine"
        yield Fault(name, detail, hint=("purge it again: ", Command("purge", name)))


def _lost_name(store: Store) -> Iterator[Fault]:
    """Reports that the file with this machine's name is lost."""
    lost = lost_name(store)
    if lost is not None:
        cure = None if lost.name is None else _naming(lost.name)
        yield Fault("machine", lost.detail, cure)


def _naming(machine: MachineId) -> Cure:
    return lambda context: machine_name(context, machine)


def inspect_journal(context: Context) -> list[Fault]:
    """Reports an interrupted operation or purge whose journal cannot be read."""
    found = []
    try:
        journal.read(context.store)
    except StoreDamaged as error:
        found.append(Fault("journal", error.message))
    if redaction.has_begun(context.store):
        found.append(Fault(redaction.JOURNAL, "a purge was interrupted and is not finished"))
    return found


# -- verify: can everything that was kept be read back?


_COMBINING_TAKES = 120
_PAUSES = (0.0, 0.1, 0.3, 0.6, 1.0, 2.0)
"""Seconds before each attempt: a sweep moves refs several times, and then it is over."""


class Verified(Value):
    """What was checked, and every problem found."""

    checkpoints: int
    objects: int
    problems: tuple[Problem, ...]


def verify(
    context: Context,
    ask: Callable[[], Witness] = lambda: NOTHING_KNOWN,
    forget: Callable[[], None] = lambda: None,
    *,
    read_data: bool,
) -> Verified:
    """Checks refs, checkpoints and trees; with ``read_data`` every byte of every object.

    ``ask`` returns what the ledger remembers, ``forget`` has it opened anew. A prune may write
    sessions anew while they are checked, and the ledger too, under whoever has it open: a problem
    is one if it is found twice, with the same refs, the second time in a ledger just opened.
    """
    store = context.store
    combining = Lock(store.path("maintenance.lock"))
    try:  # so that no pack is removed while it is read
        combining.acquire("verify", wait=_COMBINING_TAKES)
    except (OSError, InUse, WriteFailed):
        context.reporter.note("Packs may be combined meanwhile; what is gone then is not damage.")
    try:
        store.reopen_packs()
        seen: dict[str, bytes] | None = None
        for pause in _PAUSES:
            time.sleep(pause)
            before = store.refs.list(EVERYTHING, damaged={})
            found = _verify(context, ask(), read_data=read_data)
            after = store.refs.list(EVERYTHING, damaged={})
            if not found.problems or before == seen == after:
                break
            seen = after
            forget()
        return found
    finally:
        combining.release()


def _verify(context: Context, known: Witness, *, read_data: bool) -> Verified:
    store = context.store
    faults = [*inspect(context, known), *inspect_journal(context)]
    problems = [Problem(fault.what, fault.detail) for fault in faults]
    sessions = store.refs.list(SESSIONS, damaged={})
    others = listed(store.refs, (LOCAL, LABELS, OPERATIONS), {})
    read = read_everything(context) if read_data else NOTHING_READ
    walk = Walk(context, known, damaged=read.damaged)
    for ref, tip in sessions.items():
        walk.session(ref, tip)
    walk.unreached(known)
    for ref, tip in others.items():
        walk.other(ref, tip)
    for ref, tip in store.refs.list(TRASH, damaged={}).items():
        walk.trashed(ref, tip)
    problems += walk.problems()
    problems += read.problems
    if read.problems:
        problems += [Problem("git fsck", line) for line in fsck(store.git)]
    problems += [
        Problem(f"pack {name}", reason) for name, reason in sorted(store.packs.damaged.items())
    ]
    problems += _check_table(context, well=not problems)
    return Verified(walk.checkpoints, read.objects, tuple(dict.fromkeys(problems)))


def _check_table(context: Context, *, well: bool) -> list[Problem]:
    """Reports the packs that are gone, unless everything can be read without them.

    In that case their objects were written again or nothing needs them, and they are forgotten.
    """
    store = context.store
    if not well:
        return [Problem(fault.what, fault.detail) for fault in inspect_packs(context)]
    try:
        with store.locked("verify", wait=0) as locked:
            Trust(store).forget(locked, LOST)
    except (OSError, InUse, WriteFailed):  # a store that cannot be written is checked all the same
        return []
    return []
