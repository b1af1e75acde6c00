"""Verify: can everything that was kept be read back?"""

from __future__ import annotations

import time

from takeback.errors import InUse, WriteFailed
from takeback.git.repository import fsck
from takeback.model.value import Value
from takeback.ops.inspection import NOTHING_KNOWN, inspect, inspect_journal, inspect_packs
from takeback.ops.read_data import NOTHING_READ, read_everything
from takeback.ops.walk import Problem, Walk
from takeback.store.lock import Lock
from takeback.store.namespace import (
    EVERYTHING,
    LABELS,
    LOCAL,
    OPERATIONS,
    SESSIONS,
    TRASH,
    listed,
)
from takeback.store.trust import LOST, Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.ops.context import Context
    from takeback.ops.inspection import Witness


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
