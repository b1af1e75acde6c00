"""Cat: the bytes of one file as a checkpoint has them."""

from __future__ import annotations

from takeback.errors import Command, NoSuchCheckpoint
from takeback.git.objects import is_tree
from takeback.model.coverage import then
from takeback.model.path_text import to_text
from takeback.ops.save import saved_since
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
        raise NoSuchCheckpoint(
            "the workspace itself is a directory; name a file in it",
            hint=("what changed in it: ", Command("diff", checkpoint.id, "--stat")),
        )
    for root in (checkpoint.tree, bytes.fromhex(checkpoint.saved or "")):
        entry = trees.lookup(store, root, path) if root else None
        if entry is not None and not entry.is_directory:
            return store.blob(entry.oid)
        if entry is not None:
            raise NoSuchCheckpoint(
                f"{to_text(path)} is a directory in {checkpoint.id}", hint="name a file in it"
            )
    saved = saved_since(store, checkpoint)
    if path in saved.inside:
        return store.blob(saved.inside[path].oid)
    reason = read_coverage(store, checkpoint.commit).reason_for(path)
    why = f" ({then(reason)})" if reason else ""
    raise NoSuchCheckpoint(
        f"{checkpoint.id} does not hold {to_text(path)}{why}",
        hint=("where it was changed: ", Command("search", to_text(path))),
    )


def cat_outside(context: Context, checkpoint: Checkpoint, path: bytes) -> bytes:
    """Returns the bytes of a file outside the workspace, as the next edit tool found it.

    ``path`` is absolute. Such a file is saved before a tool changes it and never written back.
    """
    saved = saved_since(context.store, checkpoint).outside
    entry = saved.get(path.lstrip(b"/"))
    if entry is None:
        raise NoSuchCheckpoint(
            f"no tool changed {to_text(path)} after {checkpoint.id}",
            hint=(
                "outside the workspace only what an edit tool changed is kept: ",
                Command("show"),
            ),
        )
    return context.store.blob(entry.oid)


def names_in(context: Context, checkpoint: Checkpoint, path: bytes) -> list[tuple[str, bool]]:
    """Returns the names in a directory of a checkpoint, and whether each is a directory."""
    if checkpoint.expired is not None:
        return []
    store, root = context.store, checkpoint.tree
    entry = trees.lookup(store, root, path) if path else None
    if path and (entry is None or not entry.is_directory):
        return []
    held = store.tree(root if entry is None else entry.oid)
    return [(to_text(name), is_tree(mode)) for mode, name, _ in held]
