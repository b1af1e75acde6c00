"""What was kept of a path before the directory that stands there now."""

from __future__ import annotations

from takeback.model.checkpoint import Checkpoint
from takeback.model.value import Value


class Earlier(Value):
    """One store of what stood at a path before; it can be taken over.

    ``name`` is what it is called by: the workspace's own id. ``newest`` is its newest
    checkpoint, None where there is none or it cannot be read.
    """

    name: str
    directory: str
    path: bytes
    checkpoints: int
    newest: Checkpoint | None
