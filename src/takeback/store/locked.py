"""A store whose lock this process holds: whatever changes a store takes this as an argument.

    with store.locked("rewind", wait=30) as locked:
        journal.write(locked, ...)
        write_checkpoint(PackSink(locked), ...)

So nothing can change a store without its lock, and the lock is never taken twice: what needs it
gets it as an argument.
"""

from __future__ import annotations

import os

from takeback import durable, kernel
from takeback.errors import StoreDamaged, WriteFailed
from takeback.git.objects import BLOB, object_id
from takeback.ordinary import ordinary
from takeback.store import namespace
from takeback.store.machine import machine_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from takeback.model.ids import MachineId
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

    def check(self) -> None:
        """Raises RuntimeError once the lock is released."""
        _ = self.store

    def end(self) -> None:
        """Makes it invalid for everyone who still has it."""
        self._store = None

    @property
    def machine(self) -> MachineId:
        """The machine that writes; it gets its name when it first does."""
        return self.store.machine or machine_of(self.store.location.home)

    def next_sequence(self, *, above: int = 0, first: bool = False) -> int:
        """Returns a number higher than any that the store has, of any machine.

        It orders checkpoints and operations of all sessions, whatever the clocks do. It is written
        before it is used, so a kill leaves a gap and no number is used twice. It is not flushed, so
        it is believed in the run of the machine that wrote it, and only as long as nothing shows a
        higher one: ``above`` is the newest that the caller knows of, and with ``first`` it knows
        of none, as what it writes is the first of a session. In any doubt the refs, which are
        flushed, are counted again: once a run and once a session.
        """
        store = self.store
        path = store.path("sequence")
        others = namespace.of_others(store.refs, self.machine)
        mark, run = _mark(others), kernel.run_of_machine()
        number, found_run, known = _read_sequence(path)
        if found_run != run:
            number = -1
        if first or above > number:
            every = namespace.listed(store.refs, namespace.NUMBERED, {})
            number = max(number, _highest_sequence(store, every))
        elif known != mark:  # another machine's work was fetched since
            number = max(number, _highest_sequence(store, others))
        number = max(number, above) + 1
        durable.replace_file(path, f"{number} {run} {mark}".rstrip().encode() + b"\n", flush=False)
        return number

    def find_sequence(self) -> int:
        """Gives out a number above all that the refs have, whatever the file says; returns it."""
        durable.replace_file(self.store.path("sequence"), b"", flush=False)
        return self.next_sequence()

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
        if os.path.exists(self._store.path("purge")):
            self._finish_purge()
        return self._locked

    def _finish_purge(self) -> None:
        """Finishes a purge that was interrupted: nothing may be added to what is about to go."""
        from takeback.store import redaction

        try:
            redaction.finish(self._locked)
        except OSError as error:
            self._store.lock.release()
            raise WriteFailed.of("finishing an interrupted purge", error) from error
        except BaseException:
            self._store.lock.release()
            raise

    def __exit__(self, *exc: object) -> None:
        self._locked.end()
        self._store.lock.release()


def _read_sequence(path: str) -> tuple[int, str, str]:
    """Returns the number in the file, the run that wrote it and what others had; else nothing."""
    try:
        with open(path, encoding="ascii", opener=ordinary) as file:
            number, run, *known = file.read().split()
        return int(number), run, "".join(known)
    except (OSError, ValueError):
        return 0, "", ""


def _mark(refs: Mapping[str, bytes]) -> str:
    """Returns a word that changes whenever one of these refs does; empty for none."""
    if not refs:
        return ""
    text = "".join(f"{ref} {tip.hex()}\n" for ref, tip in sorted(refs.items()))
    return object_id(BLOB, text.encode()).hex()


def _highest_sequence(store: Store, refs: Mapping[str, bytes]) -> int:
    """Looks for the newest number in what some refs point to."""
    from takeback.store.records import read_record

    highest = 0
    for tip in refs.values():
        try:
            number = read_record(store, tip).meta.get("sequence")
        except StoreDamaged:
            continue
        highest = max(highest, number) if isinstance(number, int) else highest
    return highest
