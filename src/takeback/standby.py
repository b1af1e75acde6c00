"""The standby: a process with the hook's modules in memory, which does what hooks hand over to it.

    the standby ── fork ──> a spare, waiting ── a hook comes ──> does its event, ends
         └── fork ──> the next spare, waiting

The spare does what the hook would have done, with the same code and the hook's own descriptors,
environment and directory. It is used once, so nothing is remembered from one event to the next that
could be stale, leak or hang; only the code itself is older than the event, and its files are
checked first. It inherits watches of the files (``holding.py``), and relies on one only if that is
in step with what an earlier event has recorded.

The first hook that finds no standby leaves one behind, only for hooks that can do exactly what it
can do itself (``doorkeeper.py``); a few kinds have one each. It ends after some minutes without
events, when takeback's files change, and when its socket is taken away.

At the end of a round the hook is let go before the files are captured. Then nobody would know that
a spare was killed but its parent, which leaves a line; the event itself waits in the store.
"""

from __future__ import annotations

import gc
import os
import time
from importlib import import_module
from select import select

from takeback import config, durable, handover, hook, kernel
from takeback.adapters import BUILT_IN, loaded
from takeback.c_modules import socket
from takeback.doorkeeper import Doorkeeper, NotAdmitted, listen_for_names
from takeback.errors import TakebackError
from takeback.events import do_later
from takeback.gate.teller import Above
from takeback.holding import WATCH, HeldWatches, line, tell
from takeback.model.coverage import Policy
from takeback.model.value import Value
from takeback.own_code import OwnCode
from takeback.ownership import why_not_private
from takeback.store import store
from takeback.store.notes import complain
from takeback.worktree.watch import Watches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from takeback.doorkeeper import Handed
    from takeback.model.event import AgentEvent

# What hooks import on first use: otherwise each spare would have to do that again.
_LATER = (
    "ctypes",
    "encodings.ascii",
    "takeback.app.engine",
    "takeback.git.process",
    "takeback.events",
    "takeback.ledger.follow",
    "takeback.turns.said",
    "takeback.turns.receive",
    "takeback.capture.capture",
    "takeback.retention.sweep",
    "takeback.capture.watching",
    "takeback.store.notes",
)
_LOOK_SECONDS = 10.0
_TOLD_SECONDS = 1.0
"""How long a word to the hook may take: there is always room for it, unless something is wrong."""
_HEAD_START = 0.05
_BACKLOG = 64
_BUSY, _FREED, _DONE = b"!", b"+", b"."
"""What a spare says: a hook has come; its agent goes on already; all is recorded."""
_MESSAGE = 1 << 16
_KILLED = "the process that captured a round was killed; the next event records it, late"
_MOST_KINDS = 4


def start(directory: str) -> None:
    """Leaves a standby behind for hooks to find in this directory, unless the user wants none."""
    if _seconds() <= 0 or not os.path.exists("/proc/self/ns/mnt"):
        return  # unwanted, or it could not tell who is calling
    if why_not_private(directory):
        return  # nobody would come: the event itself has reported why
    try:
        store.spawn("takeback.standby", directory)
    except OSError as error:
        complain(f"the standby could not be started: {error}")


def _seconds() -> float:
    """Returns how long to wait for an event; 0 also if the settings cannot be read."""
    try:
        return 60 * float(config.for_all(os.environ)["standby_minutes"])
    except TakebackError:  # the event itself has reported it
        return 0


def _hook_seconds() -> float:
    """Returns how long a hook waits for an event, as far as that is known before it is heard."""
    try:
        return float(config.for_all(os.environ)["hook_seconds"])
    except TakebackError:
        return Policy().hook_seconds


def main(directory: str) -> None:
    """What the standby runs; the directory is the current one."""
    load()
    gc.disable()
    _set_pressing(pressing=False)
    try:
        keeper = Doorkeeper()
        if not keeper.is_comparable:
            return
        door = _Door(keeper)
    except OSError as error:
        hint = "set standby_minutes = 0 to do without"
        complain(f"the standby cannot listen in {directory}: {error}; {hint}")
        return
    try:
        _keep_a_spare(door, OwnCode())
    finally:
        door.close()


def load() -> None:
    """Imports everything that an event may need."""
    for name in _LATER:
        import_module(name)
    for agent in BUILT_IN:
        if agent.has_hooks:
            loaded(agent.adapter)
    kernel.own_memory()  # loads what it needs itself, as the spares call it


def _keep_a_spare(door: _Door, code: OwnCode) -> None:
    """Keeps one spare waiting, until nobody has come for a while or nobody can come any more."""
    at_work: list[_Spare] = []
    held = HeldWatches()
    while (patience := _seconds()) > 0 and not code.has_changed():
        spare = _Spare(door, code, held)
        end = time.monotonic() + patience
        while spare not in _with_news([spare, *at_work], min(_LOOK_SECONDS, patience)):
            at_work = _still_at_work(at_work)
            if spare.lacks_something:
                spare.release()
                at_work.append(spare)  # a hook may just have come to it
                spare = _Spare(door, code, held)
            if time.monotonic() > end or not door.is_ours() or code.has_changed():
                spare.dismiss()
                return
        if not spare.is_at_work():
            return
        _with_news([spare], _HEAD_START)  # lets it finish: a fork meanwhile would slow it down
        at_work = _still_at_work([*at_work, spare])
        _reap()


def _with_news(spares: list[_Spare], seconds: float) -> list[_Spare]:
    """Returns those that have something to say, or have ended; waits until there is one."""
    return select(spares, [], [], seconds)[0]


def _still_at_work(spares: list[_Spare]) -> list[_Spare]:
    """Hears those that have something to say, and returns those that have not ended."""
    ended = [spare for spare in _with_news(spares, 0) if not spare.is_at_work()]
    return [spare for spare in spares if spare not in ended]


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


class _Spare:
    """A child that waits for one hook, does what the hook hands over, and ends.

    It is forked before it is needed: the fork, and the copying of memory that follows, would be a
    third of the time of an event.
    """

    def __init__(self, door: _Door, code: OwnCode, held: HeldWatches) -> None:
        self._news, news = line()
        self._left, leave = os.pipe()
        alive, self._alive = os.pipe()
        if os.fork() == 0:
            self._news.close()
            os.close(self._left)
            os.close(self._alive)
            _wait(door, code, held, _Lines(alive, news, leave))
        news.close()
        os.close(alive)
        os.close(leave)
        self._held, self._had = held, held.changes
        self._is_done = False

    def fileno(self) -> int:
        return self._news.fileno()

    @property
    def lacks_something(self) -> bool:
        """Whether something is held since that it has not inherited."""
        return self._had != self._held.changes

    def is_at_work(self) -> bool:
        """Hears what it says; False if it has ended. One that was killed at work is reported."""
        said = self._held.hear(self._news)
        if said:
            self._is_done = self._is_done or said == _DONE
            return True
        if not self._is_done and (directory := os.read(self._left, _MESSAGE)):
            complain(_KILLED, directory)
        self.dismiss()
        return False

    def release(self) -> None:
        """Ends it if it is waiting; if it is busy, it finishes its work, and is still heard."""
        if self._alive >= 0:
            os.close(self._alive)
            self._alive = -1

    def dismiss(self) -> None:
        """Ends it if it is waiting; if it is busy, it finishes its work."""
        self._news.close()
        os.close(self._left)
        self.release()


def _set_pressing(*, pressing: bool) -> None:
    """Says whether somebody waits for this process: the standby never runs in a spare's place.

    Woken by a spare it would, on the same core, and the next spare in its turn.
    """
    try:
        policy = os.SCHED_OTHER if pressing else os.SCHED_BATCH
        os.sched_setscheduler(0, policy, os.sched_param(0))
    except OSError:  # only speed depends on it
        return


class _Lines(Value):
    """A spare's ends of what leads to the standby.

    ``alive`` can be read when the standby has ended or wants no more. What is said to ``news``
    wakes the standby, which then runs in the spare's place; nobody reads ``leave``, where it notes
    the directory of an agent that it lets go, before it was killed.
    """

    alive: int
    news: socket.socket
    leave: int


def _wait(door: _Door, code: OwnCode, held: HeldWatches, lines: _Lines) -> NoReturn:
    """What a spare does."""
    status = 1
    try:
        kernel.own_memory()
        promised = _hook_seconds()
        _set_pressing(pressing=True)
        ready, _, _ = select([door.fileno(), lines.alive], [], [])
        if lines.alive not in ready and not code.may_have_changed():
            visitor = door.accept()
            tell(lines.news, _BUSY)
            door.shut()
            _serve(visitor, door.keeper, held, lines, promised)
        status = 0
    finally:
        os._exit(status)


def _serve(
    visitor: socket.socket,
    keeper: Doorkeeper,
    held: HeldWatches,
    lines: _Lines,
    promised: float,
) -> None:
    """Does what one hook hands over, and then what it was not to wait for.

    The agent waits until the hook has ended and its streams are closed. The standby is woken after
    that: it makes the next spare, which takes as long as all that the agent waits for.
    """

    def let_go(event: AgentEvent) -> None:
        _leave(lines.leave, os.fsencode(event.directory))
        _release(visitor)
        tell(lines.news, _FREED)

    def keep(workspace: bytes, watch: tuple[int, int]) -> None:
        tell(lines.news, WATCH + workspace, watch)

    def wait_on(seconds: float) -> None:
        if seconds > promised:
            try:
                visitor.sendall(handover.LONGER)
            except OSError:  # it is gone: its event is recorded all the same
                return

    try:
        handed = keeper.admit(visitor, promised + handover.MARGIN)
    except (OSError, NotAdmitted):  # the hook has gone away, or it was not a hook
        return
    visitor.settimeout(_TOLD_SECONDS)
    _become(handed)
    began = handover.began(str(handed.process))
    speaker = hook.speaker_of(handed.words, process=handed.process, began=began)
    speaker = speaker.replace(
        line=Above.of(handed.process), watches=Watches(held.watches(), keep), wait_on=wait_on
    )
    heard = hook.answer(speaker, let_go)
    if visitor.fileno() >= 0:
        _release(visitor)
    tell(lines.news, _DONE)
    do_later(speaker, heard)


def _release(visitor: socket.socket) -> None:
    """Lets the hook end, and its agent go on."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for stream in range(3):
        os.dup2(null, stream)
    os.close(null)
    try:
        visitor.sendall(b"\0")
    except OSError:  # it was killed: its event is recorded all the same
        pass
    visitor.close()


def _leave(pipe: int, directory: bytes) -> None:
    """Notes for which directory it works beside the agent, if the standby is still there."""
    try:
        os.write(pipe, directory)
    except OSError:
        return


def _become(handed: Handed) -> None:
    """Takes over the hook's streams, directory and variables; rights and places are the same."""
    for target, fd in enumerate(handed.streams):
        os.dup2(fd, target)
    os.fchdir(handed.directory)
    for fd in (*handed.streams, handed.directory):
        os.close(fd)
    own = {name: os.environb[name] for name in handover.PLACES if name in os.environb}
    os.environ.clear()
    for name, value in {**handed.environ, **own}.items():
        os.environb[name] = value
    time.tzset()


class _Door:
    """The socket that hooks of the same kind find in the current directory."""

    def __init__(self, keeper: Doorkeeper) -> None:
        self.keeper = keeper
        self._name = handover.name_for(os.environb._data)  # type: ignore[attr-defined]
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        temporary = f".{self._name}.{os.getpid()}"
        os.umask(0o077)
        listen_for_names(self._socket)
        durable.bind(self._socket, temporary)
        self._socket.listen(_BACKLOG)
        self._inode = os.lstat(temporary).st_ino
        durable.rename(temporary, self._name)  # an earlier standby sees that and ends
        self._make_room()

    def _make_room(self) -> None:
        """Ends the oldest standby if there are too many kinds; also removes dead ones."""
        found = []
        for name in os.listdir("."):
            if name.startswith(handover.PREFIX) and name != self._name:
                try:
                    found.append((os.lstat(name).st_mtime_ns, name))
                except OSError:
                    continue
        for _, name in sorted(found)[: -(_MOST_KINDS - 1)]:
            try:
                durable.unlink(name)
            except OSError:
                continue

    def fileno(self) -> int:
        return self._socket.fileno()

    def accept(self) -> socket.socket:
        fd, _ = self._socket._accept()  # type: ignore[attr-defined]
        return socket.socket(fileno=fd)

    def is_ours(self) -> bool:
        try:
            return os.lstat(self._name).st_ino == self._inode
        except OSError:
            return False

    def shut(self) -> None:
        """Closes it in a spare; the standby keeps its own."""
        self._socket.close()

    def close(self) -> None:
        """Closes it for good; hooks that wait at it do everything themselves."""
        if self.is_ours():
            durable.unlink(self._name)
        self._socket.close()
