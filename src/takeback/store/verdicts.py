"""Verdicts: what a command that was run on a snapshot's files said of them.

    verdicts.json    one entry a snapshot, the newest last; of more than 5,000 the oldest go

It is about files, so every checkpoint with the same files has the same verdict.
"""

from __future__ import annotations

from takeback import durable
from takeback.model import codec, json_text
from takeback.model.ids import SnapshotId
from takeback.model.value import Value
from takeback.ordinary import ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.store.store import Store

_FILE = "verdicts.json"
_MOST = 5000


class CommandRun(Value):
    """One run of a command on the files of a snapshot: whether it passed, and which it was."""

    snapshot: SnapshotId
    passed: bool
    command: str
    time: float


def read_verdicts(store: Store) -> dict[SnapshotId, CommandRun]:
    """Returns the newest verdict on each snapshot; one that cannot be read is none."""
    try:
        with open(store.path(_FILE), encoding="utf-8", opener=ordinary) as file:
            record: Any = json_text.loads(file.read())
        found = [codec.decode(CommandRun, one) for one in record["runs"]]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}
    return {one.snapshot: one for one in found}


def add_verdict(store: Store, run: CommandRun) -> None:
    """Keeps one more; raises OSError. Called by the one process that runs a bisection."""
    known = read_verdicts(store)
    known.pop(run.snapshot, None)
    runs = [*known.values(), run][-_MOST:]
    record = {"v": 1, "runs": [codec.encode(one) for one in runs]}
    durable.replace_file(store.path(_FILE), (json_text.dumps(record) + "\n").encode())
