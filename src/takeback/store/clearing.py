"""Clears directories of takeback's own."""

from __future__ import annotations

import os

from takeback import durable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container


def delete_below(directory: str, *, besides: Container[str] = ()) -> None:
    """Deletes everything in a directory, except some names right in it; follows no link."""
    for entry in list(os.scandir(directory)):
        if entry.name in besides:
            continue
        if entry.is_dir(follow_symlinks=False):
            delete_below(entry.path)
            durable.rmdir(entry.path)
        else:
            durable.unlink(entry.path)
