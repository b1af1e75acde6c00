"""Counts lines: a decoration, for which only a person looking at the numbers waits.

Which paths changed is known without it. What is shown is counted in pieces, each within its time,
and all within a budget; what takes longer than a person would wait gets no numbers, like a binary
file. No operation that changes anything comes here.
"""

from __future__ import annotations

import time

from takeback.errors import GitUnusable, LedgerUnwritable
from takeback.git.diff import BINARY, numstat
from takeback.ledger import gaps
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.git.diff import Lines
    from takeback.ledger.ledger import Ledger
    from takeback.store.store import Store

    Pair = tuple[bytes, bytes]


class Limits(Value):
    """How long counting may take, in seconds: ``patience`` for one pair, ``budget`` for all."""

    pairs: int = 256
    """How many pairs one git process counts: it takes 4 ms to start and 0.1 ms for a small pair."""
    patience: float = 2.0
    budget: float = 10.0


LIMITS = Limits()


def lines_between(store: Store, old: bytes, new: bytes, *, limits: Limits = LIMITS) -> Lines:
    """Returns path -> (lines added, deleted); empty if that takes too long or cannot be read."""
    return next((lines or {} for _, lines in _counted(store, [(old, new)], limits)), {})


def count_lines(
    store: Store, ledger: Ledger, ids: Sequence[str], *, limits: Limits = LIMITS
) -> None:
    """Counts what is not counted yet of these checkpoints and turns, in their order.

    What does not fit into the budget is left for the next time. A pair that is not counted in its
    time is not tried again. Nothing is counted of a ledger that is held: it could not be kept.
    """
    if ledger.is_held:
        return
    rows: dict[Pair, list[gaps.Uncounted]] = {}
    for row in gaps.uncounted(ledger, ids):
        rows.setdefault((bytes.fromhex(row.old), bytes.fromhex(row.new)), []).append(row)
    answers = []
    for pair, lines in _counted(store, list(rows), limits):
        answers += [(row, lines) for row in rows[pair]]
        if len(answers) >= limits.pairs:
            _keep(ledger, answers)
            answers = []
    _keep(ledger, answers)


def _keep(ledger: Ledger, answers: list[tuple[gaps.Uncounted, Lines | None]]) -> None:
    if not answers:
        return
    try:
        ledger.begin()
        for row, lines in answers:
            known = {path: n for path, n in (lines or {}).items() if n != BINARY}
            gaps.set_lines(ledger, row, known)
        ledger.commit()
    except LedgerUnwritable:  # they are counted again when there is room
        ledger.rollback()
    except BaseException:
        ledger.rollback()
        raise


def _counted(
    store: Store, pairs: Sequence[Pair], limits: Limits
) -> Iterator[tuple[Pair, Lines | None]]:
    """Yields pairs with their lines, None for one without an answer, until the time is up."""
    deadline = time.monotonic() + limits.budget
    start, size = 0, limits.pairs
    while start < len(pairs):
        left = deadline - time.monotonic()
        piece = pairs[start : start + size]
        try:
            answers = numstat(store.git, piece, timeout=min(limits.patience, left))
        except GitUnusable:  # what needs git reports it; this can do without
            return
        yield from zip(piece, answers, strict=False)
        start += len(answers)
        if len(answers) == len(piece):
            size = limits.pairs
        elif answers:
            size = 1  # the one that git stopped at gets all the time for itself
        elif left >= limits.patience:
            yield pairs[start], None
            start += 1
            size = limits.pairs
        else:
            return
