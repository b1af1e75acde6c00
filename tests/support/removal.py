"""Removes a scratch tree while a detached repack may still be writing into it."""

from __future__ import annotations

import os
import shutil
import time

_PATIENCE = 60.0


def remove_tree(path: str | bytes | os.PathLike[str]) -> None:
    """Deletes a tree; goes on while something that works in it makes new files."""
    end = time.monotonic() + _PATIENCE
    while os.path.lexists(path):
        try:
            shutil.rmtree(os.fsdecode(path))
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
