"""Beyond: the files outside the workspace that edit tools name.

No snapshot holds them, and no rewind writes them back: they are listed, so that nobody assumes it
does.
"""

from __future__ import annotations

import os

from takeback.model import event as events
from takeback.model.path_text import to_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from takeback.model.checkpoint import Checkpoint
    from takeback.worktree.workspace import Workspace


def edited(checkpoint: Checkpoint, root: bytes) -> Iterator[tuple[bytes, str]]:
    """Yields the absolute paths that a checkpoint's edit tools name, each with its tool."""
    base = to_bytes(checkpoint.directory) if checkpoint.directory else root
    for tool in checkpoint.tools:
        for path in tool.paths if tool.kind == events.EDIT else ():
            yield os.path.normpath(os.path.join(base, to_bytes(path))), tool.name


def beyond(workspace: Workspace, checkpoints: Iterable[Checkpoint]) -> tuple[bytes, ...]:
    """Returns the paths outside our workspaces that edit tools named at checkpoints.

    A link may lead back into one.
    """
    found: set[bytes] = set()
    for checkpoint in checkpoints:
        for path, _ in edited(checkpoint, workspace.root):
            try:
                workspace.resolved(path, base=workspace.root)
            except ValueError:
                found.add(path)
    return tuple(sorted(found))
