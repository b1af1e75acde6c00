"""A test that waits for ever is ended with all it has started, and says where it stood."""

from __future__ import annotations

import os
import select
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.alarm import TookTooLong, alarm
from tests.support.processes import Started, wait_for

ROOT = Path(__file__).parents[2]


def for_a_process(place: Path) -> None:
    subprocess.run(["sleep", "600"], check=True)


def for_a_child(place: Path) -> None:
    os.waitpid(os.posix_spawnp("sleep", ["sleep", "600"], os.environ), 0)


def for_bytes(place: Path) -> None:
    read, write = os.pipe()
    try:
        select.select([read], [], [])
    finally:
        os.close(read)
        os.close(write)


def for_a_lock(place: Path) -> None:
    lock = threading.Lock()
    with lock:
        lock.acquire()


def for_a_thread(place: Path) -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait, args=(60,))
    thread.start()
    try:
        thread.join()
    finally:
        done.set()


def for_sqlite(place: Path) -> None:
    path = str(place / "database")
    with closing(sqlite3.connect(path)) as one, closing(sqlite3.connect(path, timeout=1)) as other:
        one.execute("begin exclusive")
        while True:
            try:
                other.execute("begin exclusive")
            except sqlite3.OperationalError:
                continue


WAITS = [for_a_process, for_a_child, for_bytes, for_a_lock, for_a_thread, for_sqlite]


@pytest.mark.parametrize("wait", WAITS, ids=lambda wait: wait.__name__)
def test_what_waits_for_ever_says_where(wait: Callable[[Path], None], tmp_path: Path) -> None:
    with pytest.raises(TookTooLong, match=rf"in {wait.__name__}\n"), alarm(0.1, str(tmp_path)):
        wait(tmp_path)


def test_it_ends_whatever_the_test_has_started(tmp_path: Path) -> None:
    """Also what left the process group, or was left to init: that it knows by its environment."""
    there = tmp_path / "pid"
    below: list[subprocess.Popen[bytes]] = []
    mine = subprocess.Popen(["sleep", "600"])
    time.sleep(2 / os.sysconf("SC_CLK_TCK"))  # when a process began is known to the tick
    left = (
        "import os, pathlib, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        f"pathlib.Path({str(there)!r}).write_text(str(os.getpid()))\n"
        "time.sleep(600)"
    )

    def wait() -> None:
        below.append(subprocess.Popen(["sh", "-c", "sleep 600; true"]))
        subprocess.run([sys.executable, "-c", left], check=True)
        wait_for(lambda: there.exists() and there.read_text())
        for_bytes(tmp_path)

    with pytest.raises(TookTooLong, match=r"(?s)sleep 600.*os\.setsid"), alarm(1, str(tmp_path)):
        wait()
    assert mine.poll() is None  # it was there before
    mine.kill()
    assert mine.wait(60) == below[0].wait(60) == -signal.SIGKILL
    wait_for(lambda: not Path(f"/proc/{there.read_text()}").exists())


def test_it_rings_again_for_what_waits_while_it_cleans_up(tmp_path: Path) -> None:
    cleaned = []

    def wait() -> None:
        try:
            for_bytes(tmp_path)
        finally:
            try:
                for_a_lock(tmp_path)
            finally:
                cleaned.append(True)

    with pytest.raises(TookTooLong), alarm(0.1, str(tmp_path), again=0.1):
        wait()
    assert cleaned


def test_it_leaves_the_alarm_of_the_product_alone(tmp_path: Path) -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    try:
        with alarm(60, str(tmp_path)):
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            wait_for(lambda: rung)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_where_no_python_runs_any_more_the_process_ends_with_its_stacks() -> None:
    stuck = (
        "import collections, faulthandler, itertools\n"
        "from tests.support.alarm import alarm\n"
        "faulthandler.enable()\n"
        "def in_c(): collections.deque(itertools.repeat(1), maxlen=0)\n"
        "with alarm(0.1, grace=0.1): in_c()"
    )
    done = subprocess.run(
        [sys.executable, "-c", stuck], cwd=ROOT, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == -signal.SIGABRT
    assert b"in in_c\n" in done.stderr


def test_a_block_ends_what_it_began_with_all_below_it() -> None:
    words = ["sh", "-c", "sleep 600 & echo $!; wait"]
    with Started[str](words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        below = process.stdout.readline().strip()
    assert process.returncode == -signal.SIGKILL
    wait_for(lambda: not Path("/proc", below).exists())


_HANGS = """
import os, pathlib, subprocess, pytest
@pytest.fixture
def late():
    yield
    subprocess.run(["sleep", "601"])
@pytest.fixture
def early():
    subprocess.run(["sleep", "602"])
@pytest.mark.bound(0.5)
def test_waits(): subprocess.run(["sleep", "600"])
@pytest.mark.bound(0.5)
def test_ends_late(late): pass
@pytest.mark.bound(0.5)
def test_begins_late(early): pass
def test_is_quick(): pass
def test_dies(tmp_path):
    started = subprocess.Popen(["sleep", "603"], env=dict(os.environ, HOME=str(tmp_path)))
    pathlib.Path(__file__).with_name("started").write_text(str(started.pid))
    os.abort()
"""


@pytest.mark.slow
def test_a_worker_goes_on_with_the_next_test_and_dies_with_what_it_started(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(_HANGS)
    words = ["-n", "1", "-p", "tests.support.alarm", "-p", "no:cacheprovider", "-c", os.devnull]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=ROOT,
        env=dict(os.environ, PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 failed, 2 passed, 2 errors in" in done.stdout, done
    for seconds in (600, 601, 602):
        assert f"(sleep {seconds})" in done.stdout
    assert "s, and 0.5 s are given" in done.stdout
    wait_for(lambda: not Path("/proc", (tmp_path / "started").read_text()).exists())
