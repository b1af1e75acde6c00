"""Reads all that is kept below a home with nothing but git and the file system."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path


def all_bytes(home: Path) -> Iterator[tuple[str, bytes]]:
    """Yields every object, as plain git inflates it, and every other file below a home."""
    for folder, folders, names in os.walk(home):
        if folder.endswith("store.git"):
            done = subprocess.run(
                ["git", "--git-dir", folder, "cat-file", "--batch-all-objects", "--batch"],
                check=True,
                capture_output=True,
            )
            yield folder, done.stdout
        if folder.endswith("store.git/objects"):
            folders[:] = []
        for name in names:
            yield os.path.join(folder, name), Path(folder, name).read_bytes()


def holding(home: Path, *texts: bytes) -> list[str]:
    """Returns what below a home has one of the texts."""
    return [where for where, data in all_bytes(home) if any(text in data for text in texts)]
