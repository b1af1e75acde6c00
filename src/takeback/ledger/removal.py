"""Removes checkpoints from the ledger, for a session that was rewritten without them."""

from __future__ import annotations

from takeback.model import json_text
from takeback.model.ids import CheckpointId
from takeback.model.timeline import OwnedChange
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from takeback.ledger.ledger import Ledger


class Removed(Value):
    """A checkpoint that is gone: its position, and what had been found changed at it.

    ``turns`` are those that began before it or ended with it, and end elsewhere now.
    """

    id: CheckpointId
    position: int
    expired: bool
    changes: tuple[OwnedChange, ...]
    turns: tuple[str, ...]


def commits_of(ledger: Ledger, machine: str, session: str) -> dict[CheckpointId, str]:
    """Returns the checkpoints that a machine has of a session, each with its commit."""
    rows = ledger.rows(
        "select id, commit_id from checkpoints where machine = ? and session = ?", machine, session
    )
    return {CheckpointId(str(id)): str(commit) for id, commit in rows}


def snapshots_of(ledger: Ledger, machine: str, session: str) -> dict[str, str]:
    """Returns the checkpoints that a machine has of a session, each with its snapshot."""
    where = "where machine = ? and session = ?"
    rows = ledger.rows(f"select id, snapshot from checkpoints {where}", machine, session)
    return {str(id): str(snapshot) for id, snapshot in rows}


def set_commits(ledger: Ledger, commits: Mapping[str, str]) -> None:
    """Notes the new commits of checkpoints whose session was rewritten."""
    ledger.many(
        "update checkpoints set commit_id = ? where id = ?",
        [(commit, id) for id, commit in commits.items()],
    )


def remove(ledger: Ledger, ids: Iterable[CheckpointId]) -> list[Removed]:
    """Removes checkpoints with everything known about them, and ends turns at what is left."""
    removed = []
    for id in ids:
        ((position, session),) = ledger.rows(
            "select position, session from checkpoints where id = ?", id
        )
        ends = ledger.rows("select id from turns where ?1 in (before, after) and id != ?1", id)
        turns = tuple(str(turn) for (turn,) in ends)
        expired = bool(ledger.rows("select 1 from expired where id = ?", id))
        changes = tuple(ledger.changes(id))
        removed.append(Removed(id, int(str(position)), expired, changes, turns))
        for question in (
            "delete from checkpoints where id = ?1",
            "delete from uncounted where id = ?1",
            "delete from expired where id = ?1",
            "update changes set turn = null where turn = ?1",
            "delete from turns where id = ?1",
            "update turns set before = id where before = ?1",
        ):
            ledger.rows(question, id)
        ledger.rows(
            "update turns set after = coalesce((select id from checkpoints where session = ?2 "
            "and position < ?3 order by position desc limit 1), id) where after = ?1",
            id,
            session,
            position,
        )
        _settle_session(ledger, str(session))
    _forget_words(ledger, [one.id for one in removed])
    return removed


def _forget_words(ledger: Ledger, ids: Iterable[str], *, what: str = "") -> None:
    """Removes what can be searched for of checkpoints, in one pass: the words have no index."""
    named = json_text.dumps([*ids])
    ledger.rows(
        "delete from words where checkpoint in (select value from json_each(?1)) "
        "and (?2 = '' or what = ?2)",
        named,
        what,
    )


def turns_with_changes(ledger: Ledger, ids: Iterable[str]) -> list[CheckpointId]:
    """Returns the turns that own changes found at checkpoints, or begin or end at one of them."""
    rows = ledger.rows(
        "with ids as (select value as id from json_each(?1)) "
        "select turn from changes where turn is not null and checkpoint in (select id from ids) "
        "union select id from turns where before in (select id from ids) "
        "or after in (select id from ids)",
        json_text.dumps([*ids]),
    )
    return [CheckpointId(str(turn)) for (turn,) in rows]


def forget_changes(ledger: Ledger, ids: Sequence[CheckpointId]) -> None:
    """Removes what was found changed at checkpoints that stay."""
    for table, key in (("changes", "checkpoint"), ("uncounted", "id")):
        ledger.many(f"delete from {table} where {key} = ?", [(id,) for id in ids])
    _forget_words(ledger, ids, what="path")


def _settle_session(ledger: Ledger, session: str) -> None:
    """Updates a session's row to what is left of it; removes it if nothing is."""
    where = "from checkpoints where session = ?1 order by position"
    ledger.rows(
        f"update sessions set newest = coalesce((select id {where} desc limit 1), newest), "
        f"last = coalesce((select time {where} desc limit 1), last), "
        f"began = coalesce((select time {where} limit 1), began) where id = ?1",
        session,
    )
    ledger.rows(
        "delete from sessions where id = ?1 "
        "and not exists (select 1 from checkpoints where session = ?1)",
        session,
    )


def next_after(ledger: Ledger, position: int, machine: str) -> CheckpointId | None:
    """Returns the checkpoint that a machine made next; None if an operation came first, or none."""
    rows = ledger.rows(
        "select id, position, kind = 'fork' and origin is not null from checkpoints "
        "where position > ?1 and machine = ?2 union all "
        "select null, position, false from operations where position > ?1 and machine = ?2 "
        "order by position limit 1",
        position,
        machine,
    )
    if not rows or rows[0][0] is None or rows[0][2]:
        return None
    return CheckpointId(str(rows[0][0]))


def set_changes(ledger: Ledger, checkpoint: CheckpointId, changes: Iterable[OwnedChange]) -> None:
    """Replaces what was found changed at a checkpoint."""
    ledger.rows("delete from changes where checkpoint = ?", checkpoint)
    ledger.many(
        "insert into changes values (?,?,?,?,?,?,?,?)",
        [
            (checkpoint, c.path, c.kind, c.added, c.deleted, c.who, c.session, c.turn)
            for c in changes
        ],
    )
