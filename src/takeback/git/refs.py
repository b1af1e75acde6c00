"""Refs of the store, read and written as files: git itself never writes ours.

A ref is the commit point of a capture, so it is replaced whole and flushed. Refs that git
has packed (somebody ran ``git gc`` in the store) are still found; a loose one wins.
"""

from __future__ import annotations

import os

from takeback import durable, errors
from takeback.git.objects import ObjectId, parse_hex
from takeback.ordinary import NotOrdinary, all_names, ordinary
from takeback.remembered import Remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Lines = list[bytes]

PACKED = "packed-refs"
"""The file of the refs that git has packed; in a list of damaged refs it stands for its lines."""
_NAMES_KEPT = 1_000


class Refs:
    """The refs of one store. Writing requires the workspace's lock."""

    def __init__(self, git_dir: str, is_name: Callable[[str], bool]) -> None:
        """``is_name`` tells what may be between two slashes: it must be safe as a file name."""
        self._git_dir = git_dir
        self._is_name = is_name
        self._packed_path = f"{git_dir}/{PACKED}"
        self._checked: Remembered[str, bool] = Remembered(_NAMES_KEPT)

    def _check(self, name: str) -> None:
        """Raises ValueError unless every part of a ref's name is safe as a file name."""
        if self._checked.get(name):
            return
        parts = name.split("/")
        if len(parts) < 2 or parts[0] != "refs" or not all(map(self._is_name, parts)):
            raise ValueError(f"not a name for a ref: {name!r}")
        self._checked.add(name, True)

    def read(self, name: str) -> ObjectId | None:
        """Returns the commit that a ref names, None if there is no such ref.

        Raises StoreDamaged if its file does not hold an id.
        """
        self._check(name)
        found = self._read_loose(name)
        if found is not None:
            return found
        garbled: list[bytes] = []
        found = self._packed(garbled).get(name)
        if found is None and garbled:  # perhaps this one's
            raise errors.StoreDamaged(_garbled(garbled))
        return found

    def names(self, prefix: str) -> list[str]:
        """Returns what is directly below the directory ``prefix``, refs and directories."""
        prefix = prefix.rstrip("/")
        self._check(f"{prefix}/any")
        found = set()
        for name in self._packed([]):
            if name.startswith(f"{prefix}/"):
                found.add(name[len(prefix) + 1 :].partition("/")[0])
        try:
            found.update(filter(self._is_name, all_names(f"{self._git_dir}/{prefix}")))
        except (FileNotFoundError, NotADirectoryError):
            pass
        return sorted(found)

    def list(self, prefix: str, *, damaged: dict[str, str] | None = None) -> dict[str, ObjectId]:
        """Returns all refs in the directory ``prefix`` and below it, by name.

        A damaged ref raises StoreDamaged; with ``damaged`` it is put there (name -> what is
        wrong) and left out instead, so that one bad file does not hide the others.
        """
        prefix = prefix.rstrip("/")
        self._check(f"{prefix}/any")
        garbled: list[bytes] = []
        packed = self._packed(garbled)
        if garbled:
            if damaged is None:
                raise errors.StoreDamaged(_garbled(garbled))
            damaged[PACKED] = _garbled(garbled)
        found = {
            name: oid
            for name, oid in packed.items()
            if name.startswith(f"{prefix}/") or name == prefix
        }
        waiting = [prefix]
        while waiting:
            name = waiting.pop()
            try:
                # temporaries and git's lock files have no safe name
                below = filter(self._is_name, all_names(f"{self._git_dir}/{name}"))
                waiting += [f"{name}/{one}" for one in below]
                continue
            except FileNotFoundError:
                continue
            except NotADirectoryError:
                pass
            found.pop(name, None)
            try:
                oid = self._read_loose(name)
            except errors.StoreDamaged as error:
                if damaged is None:
                    raise
                damaged[name] = error.message
                continue
            if oid is not None:
                found[name] = oid
        return dict(sorted(found.items()))

    def write(
        self, name: str, new: ObjectId, *, expect: ObjectId | None, after: str | None = None
    ) -> None:
        """Sets a ref from ``expect`` (None: it does not exist) to ``new``, durably.

        ``after`` is the directory of the packs, if it has to be flushed before.
        Raises TakebackError, with nothing changed, if it points elsewhere by now.
        """
        if len(new) != 20:
            raise ValueError(f"not an object id: {new!r}")
        self._compare(name, expect)
        path = f"{self._git_dir}/{name}"
        self._make_parents(os.path.dirname(path))
        durable.replace_file(path, new.hex().encode() + b"\n", after=after)

    def delete(self, name: str, *, expect: ObjectId) -> None:
        """Removes a ref that points to ``expect``; raises TakebackError if it does not."""
        self._compare(name, expect)
        # packed first: the other way round, a crash in between would bring an old value back
        self._delete_packed(name)
        path = f"{self._git_dir}/{name}"
        try:
            durable.unlink(path)
        except FileNotFoundError:
            return
        durable.sync_directory(os.path.dirname(path))

    def drop_garbled(self) -> None:
        """Writes the packed refs again without lines that are not refs; those are kept aside."""
        garbled: list[bytes] = []
        self._packed(garbled)
        kept = [line for line in self._packed_lines() if line not in garbled]
        durable.replace_file(f"{self._packed_path}.garbled", b"\n".join((*garbled, b"")))
        durable.replace_file(self._packed_path, b"".join(line + b"\n" for line in kept))

    def drop_damaged(self, name: str) -> None:
        """Removes the file of a ref that holds no id; does nothing to one that does."""
        self._check(name)
        try:
            self._read_loose(name)
        except errors.StoreDamaged:
            durable.unlink(f"{self._git_dir}/{name}")

    def _compare(self, name: str, expect: ObjectId | None) -> None:
        current = self.read(name)
        if current != expect:
            wanted = "not there" if expect is None else expect.hex()
            raise errors.TakebackError(
                f"the ref {name} moved meanwhile: it is at"
                f" {current.hex() if current else 'no commit'}, expected {wanted}",
                hint="run the command again",
            )

    def _make_parents(self, directory: str) -> None:
        """Creates the directory of a ref so that it survives a power loss."""
        made = []
        path = directory
        while not os.path.isdir(path):
            path = os.path.dirname(path)
            made.append(path)
        durable.make_directories(directory)
        for parent in made:
            durable.sync_directory(parent)

    def _read_loose(self, name: str) -> ObjectId | None:
        path = f"{self._git_dir}/{name}"
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _damaged(name, error.strerror) from error
        try:
            text = os.read(fd, 256)
        except IsADirectoryError:
            return None
        except OSError as error:
            raise _damaged(name, error.strerror) from error
        finally:
            os.close(fd)
        oid = parse_hex(text.removesuffix(b"\n"))
        if oid is None:
            raise _damaged(name, "it holds no id" if text else "it is empty")
        return oid

    def _packed(self, garbled: Lines) -> dict[str, ObjectId]:
        """Returns the packed refs; lines that are not refs are put into ``garbled``."""
        lines = self._packed_lines()
        return _parse(lines, garbled) if lines else {}

    def _packed_lines(self) -> tuple[bytes, ...]:
        try:
            with open(self._packed_path, "rb", opener=ordinary) as file:
                return tuple(file.read().splitlines())
        except FileNotFoundError:
            return ()
        except NotOrdinary as error:
            return (str(error.strerror).encode(),)  # as a file with a line that is no ref

    def _delete_packed(self, name: str) -> None:
        if name not in self._packed([]):
            return
        kept = []
        dropping = False
        for line in self._packed_lines():
            # a line that begins with ^ belongs to the one before it
            if not line.startswith(b"^"):
                dropping = line[41:] == name.encode() and not line.startswith(b"#")
            if not dropping:
                kept.append(line + b"\n")
        durable.replace_file(self._packed_path, b"".join(kept))


def _garbled(lines: list[bytes]) -> str:
    return f"the packed refs of the store are garbled: {lines[0]!r}"


def _parse(lines: tuple[bytes, ...], garbled: list[bytes]) -> dict[str, ObjectId]:
    """Returns the packed refs; lines that are not refs are put into ``garbled``."""
    found = {}
    for line in lines:
        if line.startswith((b"#", b"^")):
            continue
        oid = parse_hex(line[:40])
        name = line[41:].decode("utf-8", "surrogateescape")
        if oid is None or line[40:41] != b" " or not name:
            garbled.append(line)
        else:
            found[name] = oid
    return found


def _damaged(name: str, reason: str | None) -> errors.StoreDamaged:
    return errors.StoreDamaged(f"the ref {name} is damaged: {reason}")
