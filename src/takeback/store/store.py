"""One workspace's store: its repository, its lock, reading it, and work that outlives a command."""

from __future__ import annotations

import os
import sys

from takeback import durable
from takeback.errors import ObjectMissing, StoreDamaged, StoreMoved, StoreTooNew, StoreTooOld
from takeback.git.objects import BLOB, COMMIT, LONGEST, TREE, Commit, decode_commit, decode_tree
from takeback.git.packs import Packs
from takeback.git.refs import Refs
from takeback.ordinary import all_names, ordinary, small_content
from takeback.paths import check_private
from takeback.remembered import Remembered
from takeback.store import location as locations
from takeback.store import location as machine
from takeback.store import namespace, notes
from takeback.store.location import StoreLocation
from takeback.store.lock import Lock, Locking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from takeback.git.process import Git
    from takeback.model.ids import MachineId


# -- starts work that outlives the command: combining packs, a long first capture, a sweep


_PROGRAM = """
import os, sys
os.closerange(3, 1 << 16)
sys.path.insert(0, sys.argv[1])
os.chdir(sys.argv[3])
from importlib import import_module
getattr(import_module(sys.argv[4]), sys.argv[2])(sys.argv[3])
"""
_running: list[int] = []
"""What this process has started: its children, whoever asked for them."""


def start(store: Store, module: str, function: str = "main") -> None:
    """Calls a function of a module with the store's directory; a failure goes to its log."""
    try:
        spawn(module, store.directory, function)
    except OSError as error:
        notes.append(store, f"{module} could not be started: {error}")


def spawn(module: str, directory: str, function: str = "main") -> None:
    """Calls a function of a module with and in a directory, in a process that inherits nothing.

    No descriptor, no blocked or ignored signal, and only the variables that say where things are.
    """
    from takeback import handover  # neither is needed at every hook
    from takeback.c_modules import signal

    _wait_for_ended()
    here = _package_directory()
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    kept = map(os.fsdecode, handover.PLACES)
    environ = {key: os.environ[key] for key in kept if key in os.environ}
    try:
        started = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-c", _PROGRAM, here, function, directory, module],
            environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, null, 0),
                (os.POSIX_SPAWN_DUP2, null, 1),
                (os.POSIX_SPAWN_DUP2, null, 2),
            ],
            setsid=True,
            setsigmask=(),
            setsigdef=[n for n in range(1, 32) if n not in (signal.SIGKILL, signal.SIGSTOP)],
        )
    finally:
        os.close(null)
    _running.append(started)


def is_ours(words: Sequence[bytes]) -> bool:
    """Tells from the words that a process was started with whether this started it."""
    return words[1:4] == [b"-I", b"-c", _PROGRAM.encode()]


def _wait_for_ended() -> None:
    """Frees the entries that ended children keep in the system's table of processes.

    A hook ends before they do, but a program that stays starts thousands of them.
    """
    for process in list(_running):
        try:
            if os.waitpid(process, os.WNOHANG) == (0, 0):
                continue
        except ChildProcessError:  # somebody waited for it, or it was the parent's before a fork
            pass
        _running.remove(process)


def _package_directory() -> str:
    """Returns where this takeback was imported from; -I looks neither there nor in the cwd."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


# -- the pulse of a store: a few calls of stat tell whether anything that people see has moved


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


# -- one workspace's store


FORMAT = 2
MOST_PACKS = 50
"""With more packs than this, reading slows down, and they are combined."""
_ENTRIES_KEPT = 30_000
"""So many entries of trees are remembered, about 6 MB.

An operation reads the directories in which something differs, a few times each; ten times as many
gained nothing on 20,000 files.
"""
_ALWAYS_KEPT = 2
"""A comparison reads two versions of a directory, however long that is, again and again."""
_FEW = 20


class Store:
    """Reads objects and refs; ``sink`` in sink.py writes them. Opening writes nothing."""

    def __init__(self, location: StoreLocation, environ: Mapping[str, str]) -> None:
        self.location = location
        self.directory = location.directory
        self.git_dir = os.path.join(location.directory, "store.git")
        self.packs = self._open_packs()
        self.refs = Refs(self.git_dir, namespace.is_name)
        self.lock = Lock(
            os.path.join(location.directory, "lock"), lambda: locations.locks_above(location)
        )
        self.environ = environ
        self._machine: MachineId | None = None
        self._git: Git | None = None
        self._trees: Remembered[bytes, list[tuple[int, bytes, bytes]]] = Remembered(
            _ENTRIES_KEPT, at_least=_ALWAYS_KEPT
        )

    @classmethod
    def open(cls, location: StoreLocation, environ: Mapping[str, str]) -> Store:
        """Opens an existing store.

        Raises StoreTooNew, StoreTooOld, StoreDamaged, StoreMoved or Refused.
        """
        check_private(os.path.dirname(location.directory), location.directory)
        path = os.path.join(location.directory, "format")
        try:
            version = int(small_content(path))
        except (OSError, ValueError):
            known = locations.read_location(location.directory)
            if not os.path.isdir(location.directory):
                raise StoreMoved from None
            if not locations.has_refs(location.directory) or known is None or not known.machine:
                raise StoreDamaged(f"{path} does not name a format") from None
            version = cls._format_found_again(path)
        if version > FORMAT:
            raise StoreTooNew(
                f"the store has format {version}, this takeback knows format {FORMAT}",
                hint="upgrade takeback; nothing was changed",
            )
        if version < FORMAT:
            raise StoreTooOld.at(location.directory, version)
        return cls(location, environ)

    @staticmethod
    def _format_found_again(path: str) -> int:
        """Writes a lost or garbled ``format`` again: only this one has machines so far."""
        from takeback.store import notes

        try:
            durable.replace_file(path, b"%d\n" % FORMAT)
        except OSError:  # a store that cannot be written can still be read
            return FORMAT
        notes.append_to(
            os.path.join(os.path.dirname(path), "log"),
            "the file that names the store's format was lost or garbled, and was written again",
        )
        return FORMAT

    @classmethod
    def create(cls, location: StoreLocation, environ: Mapping[str, str]) -> Store:
        """Creates the store; ``format`` comes last, so a half-made one is created again."""
        from takeback.git.process import check_version, init
        from takeback.store.trust import Trust

        durable.make_directories(location.directory)
        store = cls(location, environ)
        check_version(store.git.program)
        with store.locked("making the store", wait=30) as locked:
            if not locations.exists(location):  # another process may have been faster
                init(store.git_dir)
                locations.write_location(
                    location.replace(identity=locations.identity_of(location.root))
                )
                Trust(store).begin(locked)
                durable.replace_file(store.path("format"), b"%d\n" % FORMAT)
        return store

    @property
    def machine(self) -> MachineId | None:
        """This machine; None as long as it has written nothing anywhere."""
        if self._machine is None:
            self._machine = machine.known_machine(self.location.home)
        return self._machine

    @property
    def git(self) -> Git:
        """git, bound to this store; found on first use."""
        if self._git is None:
            from takeback.git.process import Git

            self._git = Git(self.find_git(), self.git_dir)
        return self._git

    def find_git(self) -> str:
        """Returns the git that `takeback init` recorded, else PATH's; never one in a workspace."""
        from takeback.git.process import find_git
        from takeback.paths import recorded_git

        return find_git(
            self.environ,
            recorded=recorded_git(self.location.home),
            is_workspace=self.is_workspace,
        )

    def is_workspace(self, path: str) -> bool:
        """Tells whether a directory is a workspace: this one, or any that has a store."""
        root = os.fsencode(path)
        return root == self.location.root or locations.is_known(self.location.home, root)

    def path(self, *names: str) -> str:
        """Returns the path of something inside the store's directory."""
        return os.path.join(self.directory, *names)

    def reopen_packs(self) -> None:
        """Forgets what is known of the packs, damage too; they may have been combined since."""
        self.packs.close()
        self.packs = self._open_packs()

    def _open_packs(self) -> Packs:
        return Packs(os.path.join(self.git_dir, "objects"), on_damage=self.blame)

    def blame(self, pack: str) -> None:
        """Notes that a pack is damaged; the next capture no longer relies on it.

        Reading commands call it too, so it is a file of its own and needs no lock; if the store
        cannot be written, there is no next capture either.
        """
        try:
            durable.make_directories(self.path("damaged"))
            os.close(durable.create(self.path("damaged", pack)))
        except OSError:
            return

    def blamed_packs(self) -> set[str]:
        """Returns the packs in which damage was found since the last capture."""
        try:
            return set(all_names(self.path("damaged")))
        except OSError:
            return set()

    def locked(self, holder: str, *, wait: float) -> Locking:
        """Returns a context manager that holds the lock and yields what may change the store.

        Raises InUse after ``wait`` seconds. ``holder`` is the name that others see meanwhile.
        """
        return Locking(self, holder, wait=wait)

    def pack_names(self) -> list[str]:
        """Lists the packs that exist now; a reader's own list may be older."""
        names = all_names(os.path.join(self.git_dir, "objects", "pack"))
        return [name.removesuffix(".pack") for name in names if name.endswith(".pack")]

    @property
    def is_young(self) -> bool:
        """True if there were few checkpoints so far; False if that is not known."""
        return 0 < self.sequence <= _FEW

    @property
    def sequence(self) -> int:
        """The highest number that was given to anything; 0 if that is not known."""
        try:
            with open(self.path("sequence"), encoding="ascii", opener=ordinary) as file:
                return int(file.read().split()[0])
        except (OSError, ValueError, IndexError):
            return 0

    @property
    def has_many_packs(self) -> bool:
        """True if there are so many packs that reading slows down."""
        return len(self.pack_names()) > MOST_PACKS

    def keep_house(self) -> None:
        """Starts combining packs, in a process that outlives this one, if it is due."""
        if self.has_many_packs:
            from takeback.store.repack import start_detached

            start_detached(self)

    def tree(self, oid: bytes) -> list[tuple[int, bytes, bytes]]:
        """Returns the (mode, name, oid) entries of a tree, hash-checked."""
        known = self._trees.get(oid)
        if known is None:
            known = decode_tree(self._read(oid, TREE, LONGEST[TREE]))
            self._trees.add(oid, known, len(known) + 1)
        return known

    def blob(self, oid: bytes, most: int | None = None) -> bytes:
        """Returns the bytes of a blob, hash-checked; StoreDamaged if it has more than ``most``."""
        return self._read(oid, BLOB, most)

    def commit(self, oid: bytes) -> Commit:
        """Returns a commit, hash-checked."""
        return decode_commit(self._read(oid, COMMIT, LONGEST[COMMIT]))

    def _read(self, oid: bytes, wanted: int, most: int | None) -> bytes:
        kind, data = self.packs.read(oid, most)
        if kind != wanted:
            raise StoreDamaged(f"object {oid.hex()} is not of the kind its place asks for")
        return data

    def reads_back(self, oid: bytes) -> bool:
        """Tells whether an object exists and has the right bytes."""
        try:
            self.packs.check(oid)
        except (ObjectMissing, StoreDamaged):
            return False
        return True

    @property
    def epoch(self) -> int:
        """Counts how often objects may have been lost; a stat cache of another epoch is void."""
        try:
            with open(self.path("epoch"), encoding="ascii", opener=ordinary) as file:
                return int(file.read())
        except (OSError, ValueError):
            return 0

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives back files, and the lock too if a time limit rang at the moment it was taken."""
        self.lock.release()
        self.packs.close()
