"""What records beside the proxy never holds up the editor and its agent."""

from __future__ import annotations

import os
import signal

from takeback.acp.recorder import Recorder


def test_one_that_hangs_is_not_waited_for() -> None:
    recorder = Recorder(os.environ, 1.0)
    process = recorder._process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    try:
        recorder._forget()
        assert process.poll() is None
    finally:
        process.kill()
        process.wait(30)
