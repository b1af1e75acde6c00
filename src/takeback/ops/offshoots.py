"""Offshoots: sessions that were cut from another and have not been continued yet.

Each step back makes one. A list that gave each a row would bury the timeline under them, so an
offshoot is shown on the row that it was cut from; with its first turn it gets rows of its own.
"""

from __future__ import annotations

from takeback.ledger import browse as questions
from takeback.model.checkpoint import UNDO
from takeback.model.turn import FOLDED
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from takeback.ledger.ledger import Ledger


class Offshoots(Value):
    """``hidden`` are the rows that are left out, each with the checkpoint that it is a copy of.

    ``on`` says which sessions are shown on which row.
    """

    hidden: Mapping[str, str] = {}
    on: Mapping[str, tuple[str, ...]] = {}

    def shown_as(self, place: str | None) -> str | None:
        """Returns a place, or what it is a copy of if its own row is left out."""
        while place is not None and place in self.hidden:
            place = self.hidden[place]
        return place


NO_OFFSHOOTS = Offshoots()


def offshoots(ledger: Ledger) -> Offshoots:
    """Returns the sessions that have nothing of their own to show, newest first."""
    unused = questions.unused_forks(ledger, (*FOLDED, UNDO))
    if not unused:
        return NO_OFFSHOOTS
    origins = {id: origin for id, _, origin in unused}
    hosts = questions.shown_by(ledger, sorted(set(origins.values())), FOLDED)
    found: dict[str, tuple[str, ...]] = {}
    hidden: dict[str, str] = {}
    for id, session, origin in unused:
        host = hosts.get(origin)
        seen = {id}
        while host in origins and host not in seen:  # an offshoot of an offshoot
            seen.add(host)
            host = hosts.get(origins[host])
        if host is None or host in origins:
            continue  # no row shows where it comes from, so it has its own
        hidden[id] = origin
        found[host] = (*found.get(host, ()), session)
    return Offshoots(hidden, found)
