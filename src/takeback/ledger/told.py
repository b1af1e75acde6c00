"""Queries about conversations: who keeps one, and the prompts that led to a place."""

from __future__ import annotations

from takeback.errors import LedgerDamaged
from takeback.model import json_text
from takeback.model.ids import CheckpointId
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint

_AT = "(select position from checkpoints where id = ?2)"


class PromptPlace(Value):
    """A checkpoint before a prompt: as much of it as it takes to find the prompt's message."""

    id: CheckpointId
    position: int
    kind: str
    time: float
    turn: int | None
    turn_id: str | None
    prompt: str | None
    leaf: str | None


def last_told(ledger: Ledger, place: Checkpoint) -> Checkpoint | None:
    """Returns the newest checkpoint of the session before a place that keeps a conversation."""
    return _newest(ledger, f"position < {_AT}", place)


def told_since(ledger: Ledger, place: Checkpoint) -> Checkpoint | None:
    """Returns the newest checkpoint of the session after a place that keeps a conversation."""
    return _newest(ledger, f"position > {_AT}", place, undo=True)


def _newest(
    ledger: Ledger, where: str, place: Checkpoint, *, undo: bool = False
) -> Checkpoint | None:
    for limit in (1, -1):  # should the word stand in the record for another reason, look at all
        rows = ledger.rows(
            f"select id from checkpoints where session = ?1 and {where} and (?3 or kind != 'undo') "
            f"and instr(meta, '\"transcript\"') > 0 order by position desc limit {limit:d}",
            place.session,
            place.id,
            undo,
        )
        for (id,) in rows:
            found = ledger.by_id(str(id))
            if found is not None and found.transcript:
                return found
        if not rows:
            break
    return None


def prompt_places(
    ledger: Ledger, session: str, *, until: CheckpointId, without: Sequence[str]
) -> list[PromptPlace]:
    """Returns the checkpoints of a session before a place, newest first, leaving out some kinds."""
    kinds = ", ".join(f"'{kind}'" for kind in without)
    rows = ledger.rows(
        "select id, position, kind, time, turn, turn_id, meta from checkpoints "
        f"where session = ?1 and position < {_AT} and kind not in ({kinds}) order by position desc",
        session,
        until,
    )
    return [_place(row) for row in rows]


def _place(row: Sequence[object]) -> PromptPlace:
    *own, meta = row
    try:
        record = json_text.loads(str(meta))
    except ValueError as error:
        raise LedgerDamaged(f"a row does not read back: {error}") from None
    said = record if isinstance(record, dict) else {}
    found: tuple[Any, ...] = (*own, said.get("prompt"), said.get("leaf"))
    return PromptPlace(*found)


def amount_until(ledger: Ledger, session: str, place: CheckpointId) -> int:
    """Returns how many checkpoints a session has before a place."""
    ((number,),) = ledger.rows(
        f"select count(*) from checkpoints where session = ?1 and position < {_AT}", session, place
    )
    return int(str(number))
