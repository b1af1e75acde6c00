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


def missing_refs(ledger: Ledger) -> list[tuple[str, str]]:
    """Returns (ref, commit) of each place that a ref led to and that is no longer reached."""
    rows = ledger.rows("select ref, tip from missing_refs order by ref, tip")
    return [(str(ref), str(tip)) for ref, tip in rows]


def note_missing(ledger: Ledger, refs: Mapping[str, str]) -> None:
    """Remembers where refs led that are gone."""
    ledger.many("insert or ignore into missing_refs values (?, ?)", refs.items())


def forget_missing(ledger: Ledger, ref: str, tip: str) -> None:
    """Forgets a place that is reached again."""
    ledger.rows("delete from missing_refs where ref = ? and tip = ?", ref, tip)
