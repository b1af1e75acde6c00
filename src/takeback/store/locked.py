"""A store whose lock this process holds: whatever changes a store takes this as an argument.

    with store.locked("rewind", wait=30) as locked:
        journal.write(locked, ...)
        write_checkpoint(PackSink(locked), ...)

So nothing can change a store without its lock, and the lock is never taken twice: what needs it
gets it as an argument.
"""

from __future__ import annotations

from takeback import durable
from takeback.errors import StoreDamaged
from takeback.store import namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.store.store import Store


class Locked:
    """Valid until the ``with`` that made it ends, and never in a forked child; else it raises."""

    __slots__ = ("_store",)

    def __init__(self, store: Store) -> None:
        self._store: Store | None = store

    @property
    def store(self) -> Store:
        """The store, which nobody else can change now; RuntimeError once the lock is released."""
        if self._store is None or not self._store.lock.held:
            raise RuntimeError("the lock of the store is not held any more")
        return self._store

    def end(self) -> None:
        """Makes it invalid for everyone who still has it."""
        self._store = None

    def next_sequence(self, *, above: int = 0) -> int:
        """Returns a number higher than any given out before.

        It orders checkpoints and operations of all sessions, whatever the clock does. It is written
        before it is used, so a kill leaves a gap and no number is used twice. After a power loss a
        number may be used again; ``above``, the newest that the caller knows of, keeps the order
        within a session, and to the ledger an equal number is only a tie.
        """
        store = self.store
        path = store.path("sequence")
        try:
            with open(path, encoding="ascii") as file:
                number = max(int(file.read()), above) + 1
        except (OSError, ValueError):
            number = max(_highest_sequence(store), above) + 1
        durable.replace_file(path, b"%d\n" % number, flush=False)
        return number

    def raise_epoch(self) -> None:
        """Invalidates every stat cache."""
        store = self.store
        durable.replace_file(store.path("epoch"), b"%d\n" % (store.epoch + 1))

    def clear_blame(self, packs: Iterable[str]) -> None:
        """Forgets the reports of damaged packs, once the table has them."""
        store = self.store
        for pack in packs:
            try:
                durable.unlink(store.path("damaged", pack))
            except FileNotFoundError:
                continue


class Locking:
    """Holds a store's lock for the length of a ``with``, which yields the ``Locked``."""

    def __init__(self, store: Store, holder: str, *, wait: float) -> None:
        self._store = store
        self._holder = holder
        self._wait = wait
        self._locked = Locked(store)

    def __enter__(self) -> Locked:
        self._store.lock.acquire(self._holder, wait=self._wait)
        return self._locked

    def __exit__(self, *exc: object) -> None:
        self._locked.end()
        self._store.lock.release()


def _highest_sequence(store: Store) -> int:
    """Looks for the newest number in what the refs point to."""
    from takeback.store.records import read_record

    highest = 0
    for tip in namespace.listed(store.refs, namespace.NUMBERED, {}).values():
        try:
            number = read_record(store, tip).meta.get("sequence")
        except StoreDamaged:
            continue
        highest = max(highest, number) if isinstance(number, int) else highest
    return highest
