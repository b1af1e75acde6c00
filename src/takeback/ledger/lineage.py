"""Which events in a ledger happened to the files of one machine.

        A   a1 - a2 - a3 - a4             the store was copied after a2, and fetched from later
        B             b3 - b4             what happened to the files of B: a1 a2 b3 b4

What a machine did has its name; what a copy came with has lower numbers than everything it did.
"""

from __future__ import annotations

from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint

_ALL = (1 << 63) - 1


class Lineage(Value):
    """``machine`` and the numbers below ``first``."""

    machine: str
    first: int = 0

    def holds(self, checkpoint: Checkpoint) -> bool:
        """Tells whether a checkpoint is of this machine's files."""
        return checkpoint.machine == self.machine or checkpoint.sequence < self.first


def lineage(ledger: Ledger, machine: str, *, is_copy: bool) -> Lineage:
    """Returns the lineage of a machine, whose store may be a copy of another one's."""
    if not is_copy:
        return Lineage(machine)
    ((first,),) = ledger.rows(
        "select min(sequence) from (select sequence from checkpoints where machine = ?1 "
        "union all select sequence from operations where machine = ?1)",
        machine,
    )
    return Lineage(machine, _ALL if first is None else int(str(first)))
