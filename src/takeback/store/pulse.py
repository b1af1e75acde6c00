"""The pulse of a store: a few calls of stat tell whether anything that people see has moved."""

from __future__ import annotations

import os

from takeback.ordinary import all_names
from takeback.store import namespace

_GIT = "store.git"


def pulse(directory: str) -> tuple[int, ...]:
    """Returns numbers that change whenever a ref of ``namespace.SHOWN`` moves; opens nothing.

    A ref is a file that is replaced, and so the time of its directory moves with it.
    """
    found = []
    for kind in namespace.SHOWN:
        top = os.path.join(directory, _GIT, kind.rstrip("/"))
        found += [_moved(top), *(_moved(os.path.join(top, one)) for one in _below(top))]
    return tuple(found)


def _moved(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _below(path: str) -> list[str]:
    try:
        return sorted(all_names(path))
    except OSError:
        return []
