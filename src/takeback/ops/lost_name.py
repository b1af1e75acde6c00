"""Notices that the file with this machine's name is lost, before a new name is given out."""

from __future__ import annotations

from takeback.model.ids import MachineId
from takeback.model.value import Value
from takeback.store.location import identity_of, read_location
from takeback.store.machine import is_copy
from takeback.store.namespace import SESSIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.store import Store


class LostName(Value):
    """That it is lost, in words, and the name, if that is known."""

    detail: str
    name: MachineId | None


def lost_name(store: Store) -> LostName | None:
    """Returns what is lost; None if nothing is.

    After a new name was given nothing is lost: what the old one did counts as what a copy came
    with. A home that is a copy has no name to get back.
    """
    names = store.refs.names(SESSIONS)
    if store.machine is not None or not names or is_copy(store.location.home):
        return None
    known = read_location(store.directory)
    made_by = "" if known is None or known.identity != identity_of(known.root) else known.machine
    detail = "the name of this machine is lost: what it did would look like another one's"
    return LostName(detail, MachineId(made_by) if made_by in names else None)
