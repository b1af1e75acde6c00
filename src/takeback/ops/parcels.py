"""Parcels: sessions that were made and that their agent has yet to import.

An agent that keeps its sessions in a database imports a file. That file, the parcel, stays in the
store until it is imported, once: a second time would bring back what the person has since taken
back in the agent. So a parcel that exists is still to be imported, whatever happened before.
"""

from __future__ import annotations

import os

from takeback import durable
from takeback.errors import Refused, WriteFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ops.context import Context
    from takeback.ports import Adapter

_FOLDER = "parcels"


def parcel_path(context: Context, adapter: Adapter, native: str) -> str | None:
    """Returns where a session waits for its agent; None if the agent reads files itself."""
    name = adapter.importer.parcel(native) if adapter.importer is not None else None
    return None if name is None else context.store.path(_FOLDER, name)


def check_delivery(context: Context, adapter: Adapter) -> None:
    """Raises Refused if a parcel could not be delivered; changes nothing."""
    if adapter.importer is not None:
        adapter.importer.check(context.environ, context.store.is_workspace)


def deliver(context: Context, adapter: Adapter, native: str, directory: str) -> str | None:
    """Has the agent import a waiting session; returns the reason if that fails."""
    path = parcel_path(context, adapter, native)
    if path is None or adapter.importer is None or not os.path.lexists(path):
        return None
    try:
        adapter.importer.take_in(path, directory, context.environ, context.store.is_workspace)
        durable.unlink(path)
    except Refused as error:
        return error.message
    except OSError as error:
        return WriteFailed.of("removing what was imported", error).message
    return None
