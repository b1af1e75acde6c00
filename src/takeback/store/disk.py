"""How many bytes a store takes on its disk."""

from __future__ import annotations

import os

from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.store import Store


class Size(Value):
    """``all`` of it, the ``snapshots`` (files and conversations), and those that are ``young``."""

    all: int
    snapshots: int
    young: int


def size_on_disk(store: Store, *, since: float = 0.0) -> Size:
    """Returns the bytes on disk; those of snapshots that came after ``since`` are young."""
    total = snapshots = young = 0
    objects = os.path.join(store.git_dir, "objects")
    for base, _, names in os.walk(store.directory):
        is_object = base == objects or base.startswith(objects + os.sep)
        for name in names:
            try:
                found = os.lstat(os.path.join(base, name))
            except OSError:
                continue
            used = found.st_blocks * 512
            total += used
            if is_object:
                snapshots += used
                young += used if found.st_mtime > since else 0
    return Size(total, snapshots, young)
