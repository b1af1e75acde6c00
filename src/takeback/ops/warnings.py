"""What ``status`` warns of early, in one line each: only what costs next to nothing to check."""

from __future__ import annotations

from takeback.errors import Command
from takeback.ledger.missing import missing_refs
from takeback.ops.due import maintenance_shortage
from takeback.ops.finding import BROKEN, FIX, OFFER, WHO_LOST, Finding
from takeback.ops.lost_name import lost_name
from takeback.ops.room import advice, room_at
from takeback.store.trust import Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.ledger.ledger import Ledger
    from takeback.ops.context import Context


def warnings(context: Context, ledger: Ledger) -> Iterator[Finding]:
    """Yields what is wrong with the disk, the packs and the refs: a few stats for each pack."""
    room = room_at(context.store.directory, context.policy.disk_floor)
    if room.lacks is not None:
        yield Finding("disk", BROKEN, room.lacks, advice())
    elif room.is_nearly_full:
        yield Finding("disk", OFFER, f"the disk of the store is nearly full: {room}", advice())
    short = maintenance_shortage(context.store, context.policy.max_bytes, context.policy.disk_floor)
    if short is not None:
        yield Finding("maintenance", BROKEN, short, advice())
    broken = Trust(context.store).broken()
    if broken:
        message = f"{_are(len(broken), 'pack')} gone or not as written"
        yield Finding("packs", BROKEN, message, WHO_LOST)
    lost = lost_name(context.store)
    if lost is not None:
        yield Finding("machine", BROKEN, lost.detail, FIX)
    missing = missing_refs(ledger)
    if missing:
        message = f"{_are(len(missing), 'ref')} gone, and what is behind is not found"
        yield Finding("refs", BROKEN, message, ("bring them back: ", Command("doctor", "--fix")))


def _are(number: int, noun: str) -> str:
    return f"a {noun} of the store is" if number == 1 else f"{number} {noun}s of the store are"
