"""The workspace's lock: one holder, who is named, and who keeps nothing when dead."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from takeback.errors import InUse, StoreMoved, TakebackError, WriteFailed
from takeback.store.lock import Lock, WaitingLine
from tests.support.processes import Started, join, lock_holder, wait_for


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "lock")


def test_a_lock_that_is_taken_names_its_holder(path: str) -> None:
    with lock_holder(path) as holder, pytest.raises(InUse) as raised:
        Lock(path).acquire("me", wait=0)
    assert f"process {holder.pid} (somebody else)" in raised.value.message


def test_a_holder_with_a_short_name_is_named_and_nothing_more(path: str) -> None:
    for holder in ("somebody with a very long name", "x"):
        lock = Lock(path)
        lock.acquire(holder, wait=0)
        with pytest.raises(InUse, match=rf"process {os.getpid()} \({holder}\)$"):
            Lock(path).acquire("me", wait=0)
        lock.release()


def test_a_place_where_nothing_can_be_made_is_an_error_of_ours(tmp_path: Path) -> None:
    for path, wanted, said in (
        (tmp_path / "gone" / "lock", StoreMoved, "the store was moved or deleted meanwhile"),
        (tmp_path, WriteFailed, "locking the workspace failed"),
    ):
        lock = Lock(str(path))
        with pytest.raises(wanted, match=said) as raised:
            lock.acquire("me", wait=0)
        assert raised.value.hint
        assert not lock.held


def test_a_killed_holder_holds_nothing(path: str) -> None:
    with lock_holder(path) as holder:
        holder.send_signal(signal.SIGKILL)
        holder.wait(60)
    lock = Lock(path)
    lock.acquire("me", wait=0)
    lock.release()


def test_waiting_gets_the_lock_when_the_holder_ends(path: str) -> None:
    lock = Lock(path)
    with lock_holder(path) as holder:
        assert holder.stdin is not None
        holder.stdin.close()
        lock.acquire("me", wait=30)
    assert lock.held
    lock.release()


@pytest.mark.skipif(not hasattr(fcntl, "F_OFD_SETLK"), reason="there is no line")
def test_who_is_stopped_while_it_waits_stops_nobody(path: str) -> None:
    held = Lock(path)
    held.acquire("me", wait=0)
    stopped = subprocess.Popen([sys.executable, "-c", _WAIT, path], stdout=subprocess.PIPE)
    try:
        assert stopped.stdout is not None
        assert stopped.stdout.readline()
        with open(path) as file:
            wait_for(lambda: _somebody_waits(file.fileno(), path))
        stopped.send_signal(signal.SIGSTOP)
        other = threading.Thread(target=held.release)
        lock = Lock(path)
        other.start()
        lock.acquire("me too", wait=60)
        lock.release()
        join(other)
    finally:
        stopped.kill()
        stopped.communicate(timeout=60)
        held.release()


def _somebody_waits(fd: int, path: str) -> bool:
    line = WaitingLine(fd, os.path.dirname(path))
    try:
        return not line.is_first
    finally:
        line.leave()


_WAIT = """
import sys
from takeback.store.lock import Lock
print("waits", flush=True)
Lock(sys.argv[1]).acquire("stopped", wait=60)
"""


def test_waiting_ends_in_time(path: str) -> None:
    held, other = Lock(path), Lock(path)
    held.acquire("me", wait=0)
    start = time.monotonic()
    with pytest.raises(InUse):
        other.acquire("me too", wait=0.1)
    assert 0.1 <= time.monotonic() - start < 5
    held.release()


def test_a_holder_cannot_take_it_again_and_still_has_it(path: str) -> None:
    """Two that believe to be alone would each change what the other relies on."""
    lock, other = Lock(path), Lock(path)
    lock.acquire("me", wait=0)
    with pytest.raises(RuntimeError, match="holds the lock already"):
        lock.acquire("me", wait=0)
    with pytest.raises(InUse):
        other.acquire("another", wait=0)
    lock.release()
    assert not lock.held
    other.acquire("another", wait=0)
    other.release()
    other.release()


_FORK = """
import os, signal, sys
from takeback.store.lock import Lock
lock = Lock(sys.argv[1])
lock.acquire("the parent", wait=0)
pid = os.fork()
if pid == 0:
    lock.forget_in_child()
    print(lock.held, os.getpid(), flush=True)
    signal.pause()
os.waitpid(pid, os.WNOHANG)
sys.stdin.read()
"""


def test_a_forked_child_does_not_keep_the_lock(path: str) -> None:
    with Started(
        [sys.executable, "-c", _FORK, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        held, child = parent.stdout.readline().split()
        assert held == "False"
        try:
            with pytest.raises(InUse, match="the parent"):
                Lock(path).acquire("me", wait=0)
            parent.kill()
            parent.wait(60)
            Lock(path).acquire("me", wait=0)
        finally:
            os.kill(int(child), signal.SIGKILL)


def test_a_program_that_is_started_does_not_keep_the_lock(path: str) -> None:
    lock = Lock(path)
    lock.acquire("me", wait=0)
    with Started(
        [sys.executable, "-c", "print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        close_fds=False,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # what is closed on exec is closed shortly after it
        lock.release()
        Lock(path).acquire("me", wait=0)
        process.kill()


def test_a_link_at_the_place_of_the_lock_is_not_followed(tmp_path: Path, path: str) -> None:
    Path(path).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WriteFailed, match="symbolic"):
        Lock(path).acquire("me", wait=0)
    assert not (tmp_path / "elsewhere").exists()


def test_a_lock_inside_another_is_shared_by_those_beside_and_kept_from_the_one_around(
    tmp_path: Path,
) -> None:
    outer = str(tmp_path / "outer")
    Path(outer).touch()
    one, other = (Lock(str(tmp_path / name), lambda: [outer]) for name in ("one", "other"))
    one.acquire("inside", wait=0)
    other.acquire("beside", wait=0)
    with pytest.raises(InUse, match=r"\(beside\)"):
        Lock(outer).acquire("around", wait=0)
    one.release()
    with pytest.raises(InUse):
        Lock(outer).acquire("around", wait=0)
    other.release()
    around = Lock(outer)
    around.acquire("around", wait=0)
    with pytest.raises(InUse, match=r"\(around\)"):
        one.acquire("inside", wait=0)
    assert not one.held
    Lock(str(tmp_path / "one")).acquire("its own is free", wait=0)
    around.release()


def test_a_lock_around_that_is_gone_stops_nobody(tmp_path: Path) -> None:
    lock = Lock(str(tmp_path / "lock"), lambda: [str(tmp_path / "forgotten")])
    lock.acquire("me", wait=0)
    assert not (tmp_path / "forgotten").exists()
    lock.release()


def test_who_waited_while_the_store_was_moved_does_not_get_the_lock_of_another(
    tmp_path: Path,
) -> None:
    (tmp_path / "store").mkdir()
    path = str(tmp_path / "store" / "lock")
    held = Lock(path)
    held.acquire("the one who moves it", wait=0)
    waiting = Lock(path)
    moving = threading.Timer(0.2, lambda: _move_and_release(tmp_path, held))
    moving.start()
    with pytest.raises(TakebackError, match="moved or deleted meanwhile"):
        waiting.acquire("me", wait=30)
    join(moving)
    assert not waiting.held


def _move_and_release(folder: Path, held: Lock) -> None:
    (folder / "store").rename(folder / "elsewhere")
    held.release()
