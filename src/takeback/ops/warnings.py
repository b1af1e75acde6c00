"""What ``status`` warns of early, in one line each: only what costs next to nothing to check."""

from __future__ import annotations

from takeback.errors import Command
from takeback.ledger.missing import missing_refs
from takeback.ops.finding import BROKEN, OFFER, Finding
from takeback.ops.inspection import WHO_LOST
from takeback.ops.room import advice, room_at
from takeback.store.trust import Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.ledger.ledger import Ledger
    from takeback.ops.context import Context


def warnings(context: Context, ledger: Ledger) -> Iterator[Finding]:
    """Yields what is wrong with the disk, the packs and the refs: two stats for each pack."""
    room = room_at(context.store.directory, context.policy.disk_floor)
    if room.lacks is not None:
        yield Finding("disk", BROKEN, room.lacks, advice())
    elif room.is_nearly_full:
        yield Finding("disk", OFFER, f"the disk of the store is nearly full: {room}", advice())
    trust = Trust(context.store)
    broken = trust.broken()
    if broken:
        message = f"of the store's packs {len(broken)} are gone or not as they were written"
        yield Finding("packs", BROKEN, message, WHO_LOST)
    missing = missing_refs(ledger)
    if missing:
        message = f"of the store's refs {len(missing)} are gone, and with them what they led to"
        yield Finding("refs", BROKEN, message, ("bring them back: ", Command("doctor", "--fix")))
