"""Which packs are believed without reading them, and what to do when one is missing.

An object that is "already there" is not written again, and the stat cache hands out ids without
looking at the store at all. Both are right only as long as the packs are. So the table names every
pack that anything may rely on, and a pack is believed only if it is the one in the table (size,
time and inode of pack and index), since this boot of the machine, and no damage was found in it.

    trust                   (run of the machine, {pack: (state, signature)}); replaced whole, and
                            flushed
    trust.new               packs that came since, a line each; appended and not flushed, as a
                            pack that is in neither is only read
    damaged/<pack>          left by any command, even a reading one, that found damage in a pack

                            written, or read whole
        not in the table ───────────────────────────> sound ──> retired: its objects are in a
              │                                         │       combined pack, it is to be removed
              │ does not read whole                     │ damage met, or not the file of the table
              v                                         v       and it does not read whole
           unsound <────────────────────────────────────┤
                                                        │ gone
                                                        v
                                                       lost

Whenever a sound pack becomes unsound or lost, or the table itself is lost, the epoch is raised
first: then every stat cache is void, and the next scan reads and writes everything again.
"""

from __future__ import annotations

import marshal
import os
from zlib import crc32

from takeback import durable, kernel
from takeback.ordinary import all_names, ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from takeback.store.lock import Locked
    from takeback.store.store import Store

    Signature = tuple[int, int, int, int, int, int]
    """Size, time and inode of a pack, then of its index."""

SOUND = "sound"
UNREAD = "unread"
"""Sound until now, but in doubt; a check has begun and has not read it yet."""
UNSOUND = "unsound"
RETIRED = "retired"
_NEVER_SEEN = (0, 0, 0, 0, 0, 0)
LOST = "lost"

_UNFLUSHED_NS = 10 * 60 * 1_000_000_000
"""A pack this much older than the newest one reached the disk before any crash."""
_NO_TABLE = ""
"""The boot id of a table that was begun because there was none: no pack in it is believed."""
_TABLE = "trust"
_NEW = "trust.new"
_LONGEST_NEW = 16 << 10
"""With more than about a hundred packs in it, the table is written anew."""


class Trust:
    """The table of a store's packs, as it is now. One small read of two files."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pack_dir = os.path.join(store.git_dir, "objects", "pack")
        self._now = kernel.run_of_machine()
        self._seen: dict[str, bool] = {}
        self._load()
        self._blamed = store.blamed_packs()

    def _load(self) -> None:
        """Reads the table and what came since; an unreadable table counts as none."""
        self._boot = _NO_TABLE
        self._packs: dict[str, tuple[str, Signature]] = {}
        self._word = b""
        try:
            with open(self._store.path(_TABLE), "rb", opener=ordinary) as file:
                data = file.read()
            boot, packs = marshal.loads(data)
            for pack, (state, signature) in packs.items():
                one, two, three, four, five, six = signature
                self._packs[pack] = (state, (one, two, three, four, five, six))
            self._boot, self._word = str(boot), b"%08x" % crc32(data)
        except (OSError, ValueError, EOFError, TypeError, AttributeError):
            self._packs = {}
            return
        for pack, signature in self._came_since():
            self._packs[pack] = (SOUND, signature)

    def _came_since(self) -> Iterator[tuple[str, Signature]]:
        """Yields the packs of each whole line that follows this very table."""
        try:
            with open(self._store.path(_NEW), "rb", opener=ordinary) as file:
                lines = file.read().splitlines()
        except OSError:
            return
        for line in lines:
            word, _, rest = line.partition(b" ")
            check, _, body = rest.partition(b" ")
            if word != self._word or check != b"%08x" % crc32(body):
                continue  # of another table; or torn
            pack, *numbers = body.decode().split()
            one, two, three, four, five, six = map(int, numbers)
            yield pack, (one, two, three, four, five, six)

    # -- asking

    def believes(self, pack: str) -> bool:
        """Tells whether the objects of a pack may be relied on without reading them."""
        answer = self._seen.get(pack)
        if answer is None:
            state, known = self._packs.get(pack, (LOST, None))
            answer = (
                state == SOUND
                and self._boot == self._now
                and pack not in self._blamed
                and known == self._signature(pack)
            )
            self._seen[pack] = answer
        return answer

    @property
    def is_readable(self) -> bool:
        """False if the table is gone or garbled: then a lost pack would go unnoticed."""
        return self._boot != _NO_TABLE

    def broken(self) -> dict[str, str]:
        """Returns each pack that is not as it was written, and what is wrong with it.

        Cheap: two stats for each pack. Time and inode may differ, as after a restored backup;
        whether such a pack has the same bytes can only be told by reading it.
        """
        found = {}
        for pack, (state, known) in sorted(self._packs.items()):
            if state == RETIRED:
                continue
            now = self._signature(pack)
            if now is None:
                found[pack] = "it is gone"
            elif state == UNSOUND or pack in self._blamed:
                found[pack] = "it does not read back"
            elif (now[0], now[3]) != (known[0], known[3]):
                found[pack] = "it does not have the size that was written"
        return found

    @property
    def is_of_this_run(self) -> bool:
        """False as long as nobody has looked at the packs since the machine started."""
        return self._boot == self._now

    def packs(self) -> list[str]:
        """Returns every pack that the table names, in whatever state."""
        return [*self._packs]

    def retired(self) -> list[str]:
        """Returns the packs that are to be removed."""
        return [pack for pack, (state, _) in self._packs.items() if state == RETIRED]

    # -- writing

    def begin(self, locked: Locked) -> None:
        """Makes the table of a new store."""
        self._boot, self._packs = self._now, {}
        self._save(locked)

    def add(self, locked: Locked, packs: Iterable[str]) -> None:
        """Records packs that were just written and flushed, or read whole.

        Not flushed: what a power loss takes of it is read again.
        """
        self._load()  # combining may have changed it since; the present table counts
        self._seen.clear()
        added = [(pack, self._signature(pack)) for pack in packs]
        self._add(locked, {pack: signature for pack, signature in added if signature is not None})

    def _add(self, locked: Locked, packs: dict[str, Signature]) -> None:
        for pack, signature in packs.items():
            self._packs[pack] = (SOUND, signature)
            self._seen[pack] = True
        bodies = (f"{pack} {' '.join(map(str, known))}".encode() for pack, known in packs.items())
        lines = [b"%s %08x %s\n" % (self._word, crc32(body), body) for body in bodies]
        try:  # a torn line before it ends where it begins
            length = durable.append(locked.store.path(_NEW), b"\n" + b"".join(lines))
        except OSError:  # something else is there
            length = _LONGEST_NEW
        if not self._word or length >= _LONGEST_NEW:
            self._save(locked)

    def retire(self, locked: Locked, old: Iterable[str], into: Iterable[str]) -> None:
        """Replaces packs by those they were combined into, in one step, flushed.

        Only what the table says counts: after a kill or a power loss here the old packs are either
        believed and still there, or retired, and then nothing relies on them.
        """
        self.add(locked, into)
        for pack in old:  # the table may lack one: who wrote it was killed before it had an index
            _, known = self._packs.get(pack, (RETIRED, _NEVER_SEEN))
            self._packs[pack] = (RETIRED, known)
        self._seen.clear()
        self._save(locked)

    def believe(self, packs: Iterable[str]) -> None:
        """Believes packs whose names are flushed before anything relies on them.

        Only here and until then: the table does not have them.
        """
        self._seen.update((pack, True) for pack in packs)

    def forget(self, locked: Locked, state: str) -> None:
        """Drops retired or lost packs from the table, whatever is on the disk."""
        self._load()
        kept = {pack: known for pack, known in self._packs.items() if known[0] != state}
        if len(kept) < len(self._packs):
            self._packs = kept
            self._seen.clear()
            self._save(locked)

    def _save(self, locked: Locked) -> None:
        """Writes the table anew, flushed; what came since is in it."""
        data = marshal.dumps((self._boot, self._packs))
        durable.replace_file(locked.store.path(_TABLE), data)
        self._word = b"%08x" % crc32(data)
        try:  # its lines do not follow this table
            durable.unlink(locked.store.path(_NEW))
        except FileNotFoundError:
            pass

    # -- looking

    def check(self, locked: Locked) -> str | None:
        """Compares the table with the disk before a scan; returns what to tell the user, if any.

        One listing and two stats per pack (0.4 ms for 51 of them) while nothing has changed. A pack
        that is not in the table, or not the same file, is read whole, and so are, after a reboot,
        those of the last minutes before it. Each answer is kept at once, so that a time limit does
        not make it start over.
        """
        here = self._on_disk()
        trouble = {}
        if self._boot == self._now and not self._differs(here):
            self._seen = {pack: state == SOUND for pack, (state, _) in self._packs.items()}
            self._answer_blame(locked)
            return None
        if self._boot == _NO_TABLE:
            trouble["the table of its packs"] = "is gone"
        for pack, (state, signature) in list(self._packs.items()):
            if pack in here or state in (LOST, RETIRED):
                continue
            if state in (SOUND, UNREAD):
                trouble[pack] = "is gone"
            self._packs[pack] = (LOST, signature)
        if trouble:  # a combined pack may have gone: those that it was made from count again
            for pack in self.retired():
                self._packs[pack] = (LOST, self._packs[pack][1])
        suspects = self._suspects(here)
        for pack in suspects:
            if self._state(pack) == SOUND:
                self._packs[pack] = (UNREAD, self._packs[pack][1])
        if not self.is_of_this_run:  # what else a power loss may have taken is found now, too
            locked.find_sequence()
        self._boot = self._now
        self._give_up(locked, trouble)
        self._save(locked)
        for pack in suspects:
            if not self._reads(locked, pack, here[pack]):
                trouble[pack] = "is damaged"
        self._seen = {}
        self._answer_blame(locked)
        return _sentence(trouble) if trouble else None

    def _state(self, pack: str) -> str | None:
        return self._packs[pack][0] if pack in self._packs else None

    def _reads(self, locked: Locked, pack: str, signature: Signature) -> bool:
        """Reads a pack whole and keeps the answer; False if it was relied on and is damaged."""
        from takeback.store.repack import reads_whole

        whole = pack not in self._blamed and reads_whole(self._pack_dir, pack)
        was_relied_on = self._state(pack) == UNREAD
        if whole:
            self._add(locked, {pack: signature})
            return True
        self._packs[pack] = (UNSOUND, signature)
        if was_relied_on:
            self._give_up(locked, {pack: "is damaged"})
        self._save(locked)
        return not was_relied_on

    def _answer_blame(self, locked: Locked) -> None:
        """Forgets which packs were blamed: the table says it now, or does not have them."""
        if self._blamed:
            locked.clear_blame(self._blamed)
            self._blamed = set()

    def _differs(self, here: dict[str, Signature]) -> bool:
        """Tells whether anything has to be checked."""
        if any(self._packs[pack][0] != UNSOUND for pack in self._blamed if pack in self._packs):
            return True
        known = {}
        for pack, (state, signature) in self._packs.items():
            if state == RETIRED:
                here.pop(pack, None)  # it does not matter whether it is removed yet
            elif state == UNREAD:
                return True
            elif state != LOST:
                known[pack] = signature
        return known != here

    def _suspects(self, here: dict[str, Signature]) -> list[str]:
        newest = max((max(s[1], s[4]) for s in here.values()), default=0)
        found = []
        for pack, signature in here.items():
            state, known = self._packs.get(pack, (LOST, None))
            recent = self._boot != self._now and max(signature[1], signature[4]) > (
                newest - _UNFLUSHED_NS
            )
            unsure = known != signature or (state == SOUND and (recent or pack in self._blamed))
            if state in (LOST, UNREAD) or (unsure and state != RETIRED):
                found.append(pack)
        return found

    def _give_up(self, locked: Locked, trouble: dict[str, str]) -> None:
        """Invalidates the stat cache, durably, before the table says why."""
        if trouble:
            from takeback.store import notes

            locked.raise_epoch()
            notes.append(self._store, _sentence(trouble))

    def _on_disk(self) -> dict[str, Signature]:
        """Returns the signatures of all packs that have an index."""
        sizes: dict[str, os.stat_result] = {}
        for name in all_names(self._pack_dir):
            if name.startswith("pack-") and name.endswith((".pack", ".idx")):
                try:
                    sizes[name] = os.lstat(f"{self._pack_dir}/{name}")
                except FileNotFoundError:
                    continue
        return {
            name[:-5]: _of(status, sizes[name[:-5] + ".idx"])
            for name, status in sizes.items()
            if name.endswith(".pack") and name[:-5] + ".idx" in sizes
        }

    def _signature(self, pack: str) -> Signature | None:
        path = os.path.join(self._pack_dir, pack)
        try:
            return _of(os.lstat(f"{path}.pack"), os.lstat(f"{path}.idx"))
        except OSError:
            return None


def _of(pack: os.stat_result, index: os.stat_result) -> Signature:
    return (
        pack.st_size,
        pack.st_mtime_ns,
        pack.st_ino,
        index.st_size,
        index.st_mtime_ns,
        index.st_ino,
    )


def _sentence(trouble: dict[str, str]) -> str:
    named = ", ".join(f"{what} {how}" for what, how in sorted(trouble.items()))
    return (
        f"In the store {named}: everything is read anew. "
        "Which checkpoints lost something: takeback verify"
    )
