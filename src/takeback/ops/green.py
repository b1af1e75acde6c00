"""Green: the files at which tests passed, as agents' shells and bisections have seen it.

A verdict is about files: every checkpoint with the same snapshot has it. The newest one counts.
"""

from __future__ import annotations

from takeback.errors import Command, NoSuchCheckpoint
from takeback.ledger import sessions as questions
from takeback.model.checkpoint import UNDO
from takeback.model.naming import GREEN, split_name
from takeback.model.turn import PROMPT
from takeback.model.value import Value
from takeback.store.verdicts import read_verdicts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import SnapshotId
    from takeback.ops.names import Meaning
    from takeback.store.store import Store


class KnownTests(Value):
    """What tests said of some files: whether they passed, and which command it was."""

    passed: bool
    command: str
    time: float


def verdicts(store: Store, ledger: Ledger) -> dict[SnapshotId, KnownTests]:
    """Returns what is known of each snapshot."""
    found: dict[SnapshotId, KnownTests] = {}
    for one in questions.tested(ledger):
        for ran in (*one.tested_earlier, *([] if one.tested is None else [one.tested])):
            whose = one if ran.checkpoint is None else ledger.by_id(ran.checkpoint)
            if whose is not None:
                found[whose.snapshot] = KnownTests(ran.passed, ran.command, one.time)
    for snapshot, run in read_verdicts(store).items():
        known = found.get(snapshot)
        if known is None or known.time < run.time:
            found[snapshot] = KnownTests(run.passed, run.command, run.time)
    return found


def is_green_name(text: str) -> bool:
    """Tells whether a name is ``green``, or that of a session: ``SESSION/green``."""
    return split_name(text)[1] == GREEN


def find_green(store: Store, ledger: Ledger, text: str, *, meant: Meaning) -> Checkpoint:
    """Returns the newest checkpoint of a session's line at which tests passed.

    The end of a turn has the same files as the beginning of the next: then it is the end. A label
    of that name counts first. Raises NoSuchCheckpoint.
    """
    whose, _ = split_name(text)
    named = ledger.by_label(GREEN)
    if named and whose is None:
        return named[0]
    session = meant(whose, GREEN)
    passed = {oid for oid, one in verdicts(store, ledger).items() if one.passed}
    line: Iterable[str | None] = [None] if session is None else questions.line(ledger, session)
    for one in line if passed else ():
        kept = [c for c in ledger.checkpoints(session=one, without=(UNDO,)) if c.expired is None]
        newest = next((c for c in kept if c.snapshot in passed), None)
        if newest is not None:
            same = (c for c in kept if c.snapshot == newest.snapshot and c.kind != PROMPT)
            return next(same, newest)
    raise NoSuchCheckpoint(
        "no checkpoint is known at which tests passed",
        hint=("find one: ", Command("bisect", "GOOD", "BAD", "--", "make", "test")),
    )
