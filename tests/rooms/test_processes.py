"""Whether an agent's process is still there, and not another one that has its number."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.model.checkpoint import Process
from takeback.turns.processes import is_alive, started
from tests.support.processes import Started, wait_for


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits until its input is closed."""
    with Started[bytes](["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        yield process


def test_a_process_is_there_until_it_has_ended(child: subprocess.Popen[bytes]) -> None:
    process = Process(child.pid, started(child.pid))
    assert process.started is not None
    assert is_alive(process)
    child.kill()
    child.wait(60)
    assert not is_alive(process)
    assert started(child.pid) is None


def test_a_dead_process_that_nobody_waited_for_is_gone(child: subprocess.Popen[bytes]) -> None:
    process = Process(child.pid, started(child.pid))
    child.kill()
    looking = os.WEXITED | os.WNOHANG | os.WNOWAIT  # which leaves it a zombie
    wait_for(lambda: os.waitid(os.P_PID, child.pid, looking))
    os.kill(child.pid, 0)
    assert not is_alive(process)


def test_a_stopped_process_is_there(child: subprocess.Popen[bytes]) -> None:
    process = Process(child.pid, started(child.pid))
    child.send_signal(signal.SIGSTOP)
    assert is_alive(process)
    child.send_signal(signal.SIGCONT)


def test_a_later_process_of_the_same_number_is_another_one(child: subprocess.Popen[bytes]) -> None:
    assert not is_alive(Process(child.pid, "1"))


def test_a_process_whose_start_nobody_noted_is_told_by_its_number(
    child: subprocess.Popen[bytes],
) -> None:
    assert is_alive(Process(child.pid))


def test_the_start_of_a_process_stays_the_same() -> None:
    assert started(os.getpid()) == started(os.getpid())
    assert started(os.getpid()) != started(1)


@pytest.mark.parametrize("pid", [1 << 22, (1 << 31) - 1, 1 << 40, 1 << 80])
def test_a_number_that_nobody_has_is_nobody(pid: int) -> None:
    assert started(pid) is None
    assert not is_alive(Process(pid))


def test_a_name_with_blanks_and_brackets_does_not_move_the_fields(tmp_path: Path) -> None:
    program = tmp_path / ") 1 (x"
    program.symlink_to("/bin/cat")
    with (
        Started[bytes]([program], stdin=subprocess.PIPE) as odd,
        Started[bytes](["cat"], stdin=subprocess.PIPE) as plain,
    ):
        odd_start, plain_start = started(odd.pid), started(plain.pid)
    assert odd_start is not None
    assert plain_start is not None
    assert 0 <= int(plain_start) - int(odd_start) < 500  # both just now, in hundredths of seconds


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_somebody_else_s_process_is_there(child: subprocess.Popen[bytes]) -> None:
    script = (
        "import os\n"
        "from takeback.model.checkpoint import Process\n"
        "from takeback.turns.running import is_alive\n"
        "os.setuid(65534)\n"
        f"print(is_alive(Process({child.pid})))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"True\n"
