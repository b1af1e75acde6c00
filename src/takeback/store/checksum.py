"""Checks whether a pack is, byte for byte, the one that was written under its name."""

from __future__ import annotations

import os

from takeback.git.objects import new_hasher
from takeback.ordinary import ordinary


def reads_whole(pack_dir: str, pack: str) -> bool:
    """Tells whether a pack and its index are those written under this name. Reads all of both."""
    path = os.path.join(pack_dir, pack)
    return (
        name_fits(f"{path}.pack", pack)
        and checksum_holds(f"{path}.idx")
        and checksum_holds(f"{path}.pack")
    )


def name_fits(path: str, pack: str) -> bool:
    """Tells whether a pack is named after its checksum."""
    try:
        with open(path, "rb", opener=ordinary) as file:
            file.seek(-20, os.SEEK_END)
            return pack == f"pack-{file.read().hex()}"
    except OSError:
        return False


def checksum_holds(path: str) -> bool:
    """Tells whether the trailer of a pack or an index is the hash of its bytes."""
    try:
        with open(path, "rb", opener=ordinary) as file:
            left = os.fstat(file.fileno()).st_size - 20
            digest = new_hasher(max(left, 0))
            if left < 12:
                return False
            while left:
                piece = file.read(min(left, 1 << 20))
                if not piece:
                    return False
                digest.update(piece)
                left -= len(piece)
            return file.read() == digest.digest()
    except OSError:
        return False
