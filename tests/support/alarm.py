"""No test waits for ever: what takes too long says where it stands, and is ended and named.

    begun ───────────── bound ── 10 s ── 10 s ── ... ── bound + 60 s
                          │        │       │               │
      every stack is written,   again, for what waits    nothing of Python runs any more:
      what the test started     while it cleans up       the process ends, with its stacks
      is killed, it fails

Two timers of the kernel ring, one for Python and one for the C of ``faulthandler``. They are not
SIGALRM's: the product sets that one itself. They start no thread, and no child inherits them.

It is a plugin of pytest: set-up, test and teardown have BOUND seconds each; those of the long lane,
of the soak and those marked ``bound(seconds)`` more. Slow is not stuck: on a machine with more to
do than it has cores a test has as many times longer, at most CROWDED times.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any

import pytest

from tests.support.processes import TICKS, end_started

BOUND = 120
LONG = 900
SOAK = 24 * 3600
CROWDED = 8
AGAIN = 10
GRACE = 60

_RING = signal.SIGRTMAX - 3


class TookTooLong(BaseException):
    """A test took longer than it may.

    No ``except Exception`` takes it for an error of its own, and Hypothesis tries no smaller one.
    """


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "bound(seconds): may take longer, or not as long, as others")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    with _alarm_of(item):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with _alarm_of(item):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    with _alarm_of(item):
        return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Ends what the tests of a worker of xdist had started, if it has died."""
    if error:
        end_started(0, f"{_place(node.config)}popen-{node.gateway.id}/", below=False)


def _alarm_of(item: pytest.Item) -> AbstractContextManager[None]:
    return alarm(bound_of(item), _place(item.config))


def bound_of(item: pytest.Item) -> float:
    """Returns how many seconds a test may take."""
    if os.environ.get("TAKEBACK_SOAK") == "1":
        return SOAK
    if mark := item.get_closest_marker("bound"):
        return float(mark.args[0])
    return LONG if item.get_closest_marker("long") else BOUND


def _place(config: pytest.Config) -> str:
    """Returns the directory that all tests of a process have theirs in: it tells what is theirs."""
    return f"{config._tmp_path_factory.getbasetemp()}/"  # type: ignore[attr-defined]


@contextmanager
def alarm(
    seconds: float, mark: str | None = None, *, again: float = AGAIN, grace: float = GRACE
) -> Iterator[None]:
    """Raises TookTooLong in the main thread once it took so many seconds, and again from then on.

    What was started meanwhile below this process, or has ``mark`` in its environment, is killed
    first. Where the kernel has no such timers nothing is bounded.
    """
    if not sys.platform.startswith("linux"):
        yield
        return
    begun, began = _uptime(), time.monotonic()
    with _timer(_RING) as ringing, _timer(signal.SIGABRT) as aborting:

        def ring(number: int, frame: FrameType | None) -> None:
            ringing(0, 0)  # not while it rings
            took = time.monotonic() - began
            if took < seconds * _crowd():
                aborting(again + grace, grace)
                ringing(again, again)
                return
            stacks = _stacks()
            ended = end_started(begun, mark)
            ringing(again, again)
            raise TookTooLong(
                f"it took {took:.1f} s, and {seconds:g} s are given\n\n{stacks}\n"
                f"ended: {', '.join(ended) or 'no process'}"
            )

        before = signal.signal(_RING, ring)
        try:
            ringing(seconds, again)
            aborting(seconds + grace, grace)
            yield
        finally:
            ringing(0, 0)
            signal.signal(_RING, before)


def _crowd() -> float:
    """Returns how many want each core."""
    return min(max(1, os.getloadavg()[0] / (os.cpu_count() or 1)), CROWDED)


def _uptime() -> float:
    """Returns the time as the kernel notes it of a process that starts now."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * TICKS) / TICKS


def _stacks() -> str:
    """Returns where each thread stands."""
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file)
        file.seek(0)
        return file.read().decode(errors="replace")


class _Event(ctypes.Structure):
    """``struct sigevent``: which signal a timer sends."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("rest", ctypes.c_char * 48),
    )


class _Spec(ctypes.Structure):
    """``struct itimerspec``: each how many seconds, and in how many the first time."""

    _fields_ = (
        ("each", ctypes.c_long),
        ("each_ns", ctypes.c_long),
        ("first", ctypes.c_long),
        ("first_ns", ctypes.c_long),
    )


@contextmanager
def _timer(number: int) -> Iterator[Callable[[float, float], None]]:
    """Has the kernel send this process a signal, in as many seconds as it is told, and again.

    Zero seconds stop it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    timer = ctypes.c_void_p()
    event = _Event(signal=number, notify=0)

    def called(answer: int) -> None:
        if answer != 0:
            raise OSError(ctypes.get_errno(), "no timer")

    def set_to(first: float, each: float) -> None:
        parts = (part for seconds in (each, first) for part in (seconds // 1, seconds % 1 * 1e9))
        spec = _Spec(*map(int, parts))
        called(libc.timer_settime(timer, 0, ctypes.byref(spec), None))

    called(libc.timer_create(time.CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)))
    try:
        yield set_to
    finally:
        called(libc.timer_delete(timer))
