"""The end of a purge: what was written anew takes the place of what there is.

    before     everything without the secret is in new packs, flushed; nothing leads to them
    journal    flushed: from here on the purge is finished, by this process or the next
    finish     tombstones; refs, one by one; caches and files that quote the secret; the table of
               packs; all other packs and loose objects
    journal    removed

The journal says which refs lead where and which files go, and nothing of the secret. Each step can
be done twice. Whoever takes the lock finishes it first (locked.py), so that nothing is ever added
to what is about to go.
"""

from __future__ import annotations

import os
from zlib import crc32

from takeback import durable
from takeback.errors import StoreDamaged
from takeback.model import json_text
from takeback.model.value import Value
from takeback.ordinary import all_names, ordinary
from takeback.store import tombstones
from takeback.store.clearing import delete_below
from takeback.store.given_up import forget_garbage
from takeback.store.kept_files import DERIVED
from takeback.store.packdir import pack_dir, whole_packs
from takeback.store.trust import RETIRED, Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from takeback.store.locked import Locked
    from takeback.store.store import Store

JOURNAL = "purge"


class PurgeJournal(Value):
    """What a purge that has begun is going to do.

    ``refs`` are where each leads, before and after. ``packs`` are all that stay. ``files`` are to
    be removed, by their path below the directory of the store or of all stores.
    """

    refs: dict[str, tuple[bytes | None, bytes]]
    packs: tuple[str, ...]
    files: tuple[str, ...] = ()
    home_files: tuple[str, ...] = ()


def begin(locked: Locked, made: PurgeJournal) -> None:
    """Keeps the journal, flushed: the purge has begun."""
    record = {
        "v": 1,
        "refs": {ref: [old and old.hex(), new.hex()] for ref, (old, new) in made.refs.items()},
        "packs": list(made.packs),
        "files": list(made.files),
        "home_files": list(made.home_files),
    }
    data = json_text.dumps({**record, "check": _check(record)}).encode()
    durable.replace_file(locked.store.path(JOURNAL), data)


def _check(record: dict[str, Any]) -> str:
    """Returns what shows a flipped bit: a journal says which packs may go."""
    return f"{crc32(json_text.dumps(record).encode(errors='surrogateescape')):08x}"


def has_begun(store: Store) -> bool:
    """Tells whether a purge is under way, or was interrupted."""
    return os.path.exists(store.path(JOURNAL))


def finish(locked: Locked) -> None:
    """Finishes a purge that has begun; raises StoreDamaged if nobody can tell what it was."""
    store = locked.store
    made = _read(store)
    missing = frozenset(made.packs).difference(whole_packs(store))
    if missing:
        raise StoreDamaged(f"what a purge wrote is gone: {', '.join(sorted(missing))}")
    tombstones.set_up(locked)
    for ref, (old, new) in made.refs.items():
        if store.refs.read(ref) != new:
            store.refs.write(ref, new, expect=old)
    for name in DERIVED:
        _remove(store.directory, name)
    for name in made.files:
        _remove(store.directory, name)
    for name in made.home_files:
        _remove(store.location.home, name)
    durable.sync_directory(store.directory)
    _keep_only(locked, made.packs)
    durable.unlink(store.path(JOURNAL))
    durable.sync_directory(store.directory)


def _read(store: Store) -> PurgeJournal:
    try:
        with open(store.path(JOURNAL), encoding="utf-8", opener=ordinary) as file:
            record = json_text.loads(file.read())
        if not isinstance(record, dict) or record.pop("check") != _check(record):
            raise TypeError
        return PurgeJournal(
            {
                ref: (old and bytes.fromhex(old), bytes.fromhex(new))
                for ref, (old, new) in record["refs"].items()
            },
            tuple(record["packs"]),
            tuple(record["files"]),
            tuple(record["home_files"]),
        )
    except (OSError, ValueError, TypeError, LookupError):
        raise StoreDamaged(
            f"the journal {store.path(JOURNAL)} of an interrupted purge is not readable",
            hint="what it was to remove may still be there: remove that file, then purge again",
        ) from None


def _remove(directory: str, name: str) -> None:
    """Removes a file, or all in a directory and itself; what is not there is no trouble."""
    path = os.path.join(directory, name)
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            delete_below(path)
            durable.rmdir(path)
        else:
            durable.unlink(path)
    except FileNotFoundError:
        return


def _keep_only(locked: Locked, packs: Iterable[str]) -> None:
    """Removes every object that is not in one of these packs, whatever wrote it."""
    store, kept = locked.store, frozenset(packs)
    trust = Trust(store)
    trust.retire(locked, [name for name in trust.packs() if name not in kept], kept)
    store.reopen_packs()
    directory = pack_dir(store)
    for name in sorted(all_names(directory)):  # an index goes before its pack
        if name.partition(".")[0] not in kept:
            durable.unlink(os.path.join(directory, name))
    durable.sync_directory(directory)
    Trust(store).forget(locked, RETIRED)
    objects = os.path.dirname(directory)
    for name in all_names(objects):
        if len(name) == 2:
            _remove(objects, name)
    durable.sync_directory(objects)
    locked.clear_blame(store.blamed_packs())
    forget_garbage(locked)
