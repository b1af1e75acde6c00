"""Refs that the ledger has followed and that are gone, which the store itself cannot tell.

A ref is one small file. If it is lost, its checkpoints are still in the packs, but nothing leads to
them, and the store looks whole. The ledger is the only witness, so it remembers where such a ref
led until that place is reached again. Reading the store again does not clear this.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from takeback.ledger.ledger import Ledger

_NOWHERE = ""
"""The tip of a ref that was deleted on purpose, until the ledger has caught up with that."""


def missing_refs(ledger: Ledger) -> list[tuple[str, str]]:
    """Returns (ref, commit) of each place that a ref led to and that is no longer reached."""
    rows = ledger.rows("select ref, tip from missing_refs order by ref, tip")
    return [(str(ref), str(tip)) for ref, tip in rows]


def note_missing(ledger: Ledger, refs: Mapping[str, str]) -> None:
    """Remembers where refs led that are gone."""
    led = ((ref, tip) for ref, tip in refs.items() if tip != _NOWHERE)
    ledger.many("insert or ignore into missing_refs values (?, ?)", led)


def forget_missing(ledger: Ledger, ref: str, tip: str) -> None:
    """Forgets a place that is reached again."""
    ledger.rows("delete from missing_refs where ref = ? and tip = ?", ref, tip)


def give_up(ledger: Ledger, ref: str) -> None:
    """Forgets a ref that was deleted on purpose, however far another process has indexed."""
    ledger.rows("delete from missing_refs where ref = ?", ref)
    ledger.rows("update tips set tip = ? where ref = ?", _NOWHERE, ref)
