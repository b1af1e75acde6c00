"""Questions about parts of turns: what followed a prompt typed during one, what came before one."""

from __future__ import annotations

from takeback.model.change import ADDED, DELETED, MODIFIED
from takeback.model.timeline import OUTSIDE, OwnedChange
from takeback.model.turn import SESSION_END, SESSION_START, STEER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeVar

    from takeback.ledger.ledger import Ledger
    from takeback.model.change import CountedChange
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId

    Change = TypeVar("Change", bound=CountedChange)

_CHANGE = "path, changes.kind, added, deleted, who, changes.session, changes.turn"
HIDDEN = f"('{SESSION_START}', '{SESSION_END}', 'undo')"


def after_steer(ledger: Ledger, steer: CheckpointId) -> list[CheckpointId]:
    """Returns the checkpoints of a steer's turn that show its effects, oldest first.

    steer ── round ── round ── steer ── turn end
               ^        ^        ^                  the first one's: the last of them is the next
    """
    rows = ledger.rows(
        "with mine as (select position, session from checkpoints where id = ?1), "
        "step as (select checkpoints.* from checkpoints, mine "
        "where checkpoints.session = mine.session and checkpoints.position > mine.position) "
        "select id from step where position <= min("
        f"coalesce((select min(position) from step where kind = '{STEER}'), 9e18), "
        "coalesce((select last.position from turns join checkpoints first on first.id = turns.id "
        "join checkpoints last on last.id = turns.after, mine where turns.session = mine.session "
        "and first.position <= mine.position order by first.position desc limit 1), -1)) "
        "order by position",
        steer,
    )
    return [str(id) for (id,) in rows]  # type: ignore[misc]


def changes_of(ledger: Ledger, turn_of: Checkpoint, ids: Iterable[str]) -> list[OwnedChange]:
    """Returns what a session changed at some of its checkpoints, each path once."""
    named = list(ids)
    marks = ", ".join("?" * len(named))
    rows = ledger.rows(
        f"select {_CHANGE} from changes join checkpoints on checkpoints.id = changes.checkpoint "
        f"where changes.session = ? and checkpoint in ({marks}) order by position",
        turn_of.session,
        *named,
    )
    return folded(OwnedChange(*row) for row in rows)  # type: ignore[arg-type]


def outside_before(ledger: Ledger, prompt: CheckpointId) -> list[OwnedChange]:
    """Returns the person's edits that were found when the session of a prompt started.

    A start has no row of its own in a list, so they are shown at the first prompt after it.
    """
    rows = ledger.rows(
        "with mine as (select position, session from checkpoints where id = ?1) "
        f"select {_CHANGE} from changes join checkpoints on checkpoints.id = changes.checkpoint, "
        "mine where checkpoints.session = mine.session and checkpoints.position < mine.position "
        "and changes.who = ?2 and checkpoints.position > coalesce((select max(other.position) "
        "from checkpoints other where other.session = mine.session "
        f"and other.position < mine.position and other.kind not in {HIDDEN}), -1) "
        "order by checkpoints.position",
        prompt,
        OUTSIDE,
    )
    return folded(OwnedChange(*row) for row in rows)  # type: ignore[arg-type]


def outside_at_starts(ledger: Ledger) -> dict[str, set[bytes]]:
    """Returns the paths that ``outside_before`` finds for each prompt that has any."""
    rows = ledger.columns(
        "select path, (select next.id from checkpoints next "
        "where next.session = checkpoints.session and next.position > checkpoints.position "
        f"and next.kind not in {HIDDEN} order by next.position limit 1) "
        "from changes join checkpoints on checkpoints.id = changes.checkpoint "
        f"where who = '{OUTSIDE}' and checkpoints.kind in {HIDDEN}"
    )
    found: dict[str, set[bytes]] = {}
    for path, prompt in rows:
        if prompt is not None:
            found.setdefault(str(prompt), set()).add(bytes(path))  # type: ignore[call-overload]
    return found


def folded(changes: Iterable[Change]) -> list[Change]:
    """Returns successive changes as one for each path, the lines of all added up."""
    found: dict[bytes, Change] = {}
    for change in changes:
        known = found.pop(change.path, None)
        if known is None:
            found[change.path] = change
        elif not (known.kind == ADDED and change.kind == DELETED):
            found[change.path] = change.replace(
                kind=_kind(known.kind, change.kind),
                added=_sum(known.added, change.added),
                deleted=_sum(known.deleted, change.deleted),
            )
    return [change for _, change in sorted(found.items())]


def _kind(first: str, then: str) -> str:
    if first == ADDED:
        return ADDED
    return MODIFIED if first == DELETED and then == ADDED else then


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
