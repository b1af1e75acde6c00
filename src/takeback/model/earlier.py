"""What was kept for a path before the directory that is there now."""

from __future__ import annotations

from takeback.model.checkpoint import Checkpoint
from takeback.model.value import Value


class Earlier(Value):
    """One store of what was at a path before; it can be taken over.

    ``name`` is what it is called by: the workspace's own id. ``newest`` is its newest checkpoint,
    None if there is none or it cannot be read.
    """

    name: str
    directory: str
    path: bytes
    checkpoints: int
    newest: Checkpoint | None
