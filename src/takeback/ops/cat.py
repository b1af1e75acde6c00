"""Cat: the bytes of one file as a checkpoint has them."""

from __future__ import annotations

from takeback.errors import NoSuchCheckpoint
from takeback.model.path_text import to_text
from takeback.store import trees
from takeback.store.checkpoints import read_coverage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.ops.context import Context


def cat(context: Context, checkpoint: Checkpoint, path: bytes) -> bytes:
    """Returns the bytes, hash-checked; looks among the saved ignored files too."""
    store = context.store
    if not path:
        raise NoSuchCheckpoint("the workspace itself is a directory; name a file in it")
    for root in (checkpoint.snapshot, checkpoint.saved):
        entry = trees.lookup(store, bytes.fromhex(root), path) if root else None
        if entry is not None and not entry.is_directory:
            return store.blob(entry.oid)
        if entry is not None:
            raise NoSuchCheckpoint(f"{to_text(path)} is a directory in {checkpoint.id}")
    reason = read_coverage(store, checkpoint.commit).reason_for(path)
    why = f" ({reason} then)" if reason else ""
    raise NoSuchCheckpoint(f"{checkpoint.id} does not hold {to_text(path)}{why}")
