"""Failures: what went wrong here according to the logs, until it is marked as seen.

A store has its own log, and all stores share one, where a line names its directory after a tab.
What was seen is remembered as the last line of each log at that moment: lines have no number.
"""

from __future__ import annotations

import os

from takeback import durable
from takeback.model.value import Value
from takeback.store import log
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.store import Store

_STAMP = len("2026-11-15T14:05:09Z")


class Failure(Value):
    """One line: ``stamp`` is when, by RFC 3339 in UTC; empty if unknown."""

    stamp: str
    text: str

    @property
    def line(self) -> str:
        return f"{self.stamp} {self.text}" if self.stamp else self.text


def unseen(store: Store | None, home: str, root: bytes) -> list[Failure]:
    """Returns the unseen failures of this workspace, or without a known directory; newest last.

    Before the first checkpoint there is no store, and nothing can have been seen.
    """
    own = [] if store is None else of_store(store)
    return sorted([*own, *of_hooks(store, home, root)], key=lambda failure: failure.stamp)


def of_store(store: Store) -> list[Failure]:
    """Returns the unseen failures in the store's own log."""
    return [_failure(line) for line in _after(log.read(store), _seen(store)[0])]


def of_hooks(store: Store | None, home: str, root: bytes) -> list[Failure]:
    """Returns the unseen failures of this workspace, or of none, in the log of all hooks."""
    seen = "" if store is None else _seen(store)[1]
    shared = [
        line.partition("\t")[0]
        for line in _after(log.read_from(_shared(home), last=_MANY), seen)
        if _concerns(line, shown(os.fsdecode(root)))
    ]
    return [_failure(line) for line in shared[-_MOST:]]


def see(store: Store, home: str) -> None:
    """Notes that everything in the logs was seen."""
    last = [(log.read_from(path, last=1) or [""])[0] for path in (store.path("log"), _shared(home))]
    durable.replace_file(store.path("log.seen"), "".join(f"{line}\n" for line in last).encode())


_MANY, _MOST = 1000, 20
"""How many lines of all workspaces are read, and how many are shown."""


def _shared(home: str) -> str:
    return os.path.join(home, "log")


def _seen(store: Store) -> list[str]:
    lines = log.read_from(store.path("log.seen"))
    return [*lines, "", ""][:2]


def _after(lines: list[str], seen: str) -> list[str]:
    """Returns the lines after the one that was the last when they were seen."""
    if not seen or seen not in lines:
        return lines
    return lines[len(lines) - lines[::-1].index(seen) :]


def _concerns(line: str, root: str) -> bool:
    where = line.partition("\t")[2]
    return not where or where == root or where.startswith(f"{root}/")


def _failure(line: str) -> Failure:
    return Failure(line[:_STAMP], line[_STAMP + 1 :])
