"""Proxy: passes lines on in both directions, and ends when the agent has ended.

the editor's stdin ends    so does the agent's, which then ends when it likes
the editor has gone        the same, and an agent that stays for long is ended
a signal                   goes on to the agent; then as if the editor had gone
the agent ends             its turns end, what it has not answered is answered with an error
the proxy is killed        the agent reads the end of its stdin; whoever looks next ends its
                           turn, by its process, which every event names
"""

from __future__ import annotations

import os
import select
import signal
import time

from takeback import config
from takeback.acp.listener import LineListener
from takeback.acp.recorder import Recorder
from takeback.acp.streams import IncomingLines, OutgoingBytes
from takeback.errors import TakebackError
from takeback.store.notes import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping
    from types import FrameType

    from takeback.acp.sessions import ProxiedAgent

    Look = Callable[[bytes, Callable[[bytes], None]], None]

_LONGEST_LINE = 32 << 20
"""Bytes of a line that is looked at; a longer one passes as it comes."""
_EDITOR_AT_ONCE = select.PIPE_BUF
"""So much goes at once into a pipe that has room. This one is the editor's and may be shared with
others, so it must not be told not to block."""
_AGENT_AT_ONCE = 1 << 16
_GRACE = 3.0
"""Seconds that an agent has to end by itself, and again after a signal."""
_LAST_WORDS = 2.0
"""Seconds for what programs that the agent started may say when the agent itself has ended."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_FOREVER = float("inf")


class _Way:
    """One direction: lines are read, looked at, and written, each after the one before it."""

    def __init__(self, reader: IncomingLines, writer: OutgoingBytes, look: Look) -> None:
        self.reader, self.writer = reader, writer
        self._look = look
        self._held: bytes | None = None
        self._asides: list[bytes] = []

    @property
    def is_held(self) -> bool:
        """Whether a line waits until it may go on."""
        return self._held is not None

    @property
    def wants_more(self) -> bool:
        return self.reader.is_open and not self.is_held and not self.writer.is_full

    @property
    def is_done(self) -> bool:
        """Whether all that came has been handed on, and no more can come."""
        return not (self.reader.is_open or self.is_held or self.writer.has_waiting)

    def pass_on(self) -> None:
        """Hands on what has come, up to a line that has to wait."""
        while not self.is_held and not self.writer.is_full:
            piece = self.reader.next()
            if piece is None:
                return
            if piece.is_line:
                self._pass_on_line(piece.data)
            else:
                self.writer.write(piece.data)
            self._say_asides()

    def _pass_on_line(self, line: bytes) -> None:
        self._held = line
        try:
            self._look(line, self._let_go)
        except Exception as error:  # a bug of ours must not stop the agent
            from takeback.app.border import bug

            bug(error)
            complain(f"acp: bug: {type(error).__name__}: {error}")
            if self.is_held:
                self._let_go(line)

    def _let_go(self, line: bytes) -> None:
        self.writer.write(line)
        self._held = None

    def say(self, line: bytes) -> None:
        """Writes a line of our own as soon as it does not come amid another one."""
        self._asides.append(line)
        self._say_asides()

    def _say_asides(self) -> None:
        if self.reader.is_between_lines:
            self.writer.write(b"".join(self._asides))
            self._asides.clear()


class Proxy:
    """An editor at stdin and stdout, and the agent that was started for it."""

    def __init__(
        self, process: subprocess.Popen[bytes], agent: ProxiedAgent, environ: Mapping[str, str]
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._agent_stdin = process.stdin
        os.set_blocking(process.stdin.fileno(), False)
        self._limit = _limit(environ)
        self._recorder = Recorder(environ, self._limit)
        listener = LineListener(agent, self._recorder, self._say, environ)
        self._listener = listener
        self._to_agent = _Way(
            IncomingLines(0, _LONGEST_LINE),
            OutgoingBytes(process.stdin.fileno(), _AGENT_AT_ONCE),
            listener.from_editor,
        )
        self._to_editor = _Way(
            IncomingLines(process.stdout.fileno(), _LONGEST_LINE),
            OutgoingBytes(1, _EDITOR_AT_ONCE),
            listener.from_agent,
        )
        self._woken, self._wake = os.pipe()
        self._signal = 0
        self._deadline = _FOREVER
        """When an agent that should have ended is ended, or one that has is heard no longer."""
        self._patience = 1
        """How often an agent is asked to end before it is killed."""

    def _say(self, line: bytes) -> None:
        self._to_editor.say(line)

    def run(self) -> int:
        """Passes everything on until the agent has ended; returns its exit status."""
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)  # wakes us
        for one in _SIGNALS:
            signal.signal(one, self._signalled)
        while self._process.poll() is None:
            self._turn()
            self._part()
        self._close_stdin()
        if self._process.returncode < 0:  # it was killed: what is left of it would work on
            self._end(signal.SIGTERM)
        self._deadline = time.monotonic() + _LAST_WORDS
        while self._to_editor.is_held or (
            self._to_editor.reader.is_open and time.monotonic() < self._deadline
        ):
            self._turn()
            if self._to_editor.writer.has_waiting and not self._signal:
                self._deadline = time.monotonic() + _LAST_WORDS  # the editor takes its time
        if self._process.returncode < 0:
            self._end(signal.SIGKILL)
        return self._conclude()

    def _turn(self) -> None:
        self._wait()
        self._recorder.let_go()
        self._to_agent.pass_on()
        self._to_editor.pass_on()

    def _wait(self) -> None:
        """Waits until something can be read or written, and does that; or until a deadline."""
        recorder, editor = self._recorder, self._to_editor.writer
        ready = {self._woken: self._take_wake}
        for way in (self._to_agent, self._to_editor):
            if way.wants_more:
                ready[way.reader.fd] = way.reader.read
        if recorder.reader is not None:
            ready[recorder.reader.fd] = recorder.hear
        wanted = dict.fromkeys(ready, select.POLLIN)
        if editor.is_open:
            ready[editor.fd], wanted[editor.fd] = editor.abandon, 0  # only that it has gone
        for writer in (editor, self._to_agent.writer, recorder.writer):
            if writer is not None and writer.has_waiting:
                ready[writer.fd], wanted[writer.fd] = writer.flush, select.POLLOUT
        poll = select.poll()
        for fd, events in wanted.items():
            poll.register(fd, events)
        until = min(self._deadline, recorder.next_deadline)
        left = None if until == _FOREVER else max(0.0, until - time.monotonic()) * 1000 + 1
        for fd, _ in poll.poll(left):
            ready[fd]()

    def _take_wake(self) -> None:
        os.read(self._woken, 1024)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        self._signal = self._signal or number

    def _part(self) -> None:
        """Closes the agent's stdin after the editor's, and ends an agent that nobody hears."""
        has_gone = bool(self._signal) or not self._to_editor.writer.is_open
        if has_gone or self._to_agent.is_done:
            self._close_stdin()
        if not has_gone:
            return
        if self._deadline == _FOREVER:
            self._deadline = time.monotonic() + _GRACE
            if self._signal:
                self._end(self._signal)
        elif time.monotonic() >= self._deadline:
            self._end(signal.SIGTERM if self._patience else signal.SIGKILL)
            self._patience = 0
            self._deadline = time.monotonic() + _GRACE

    def _end(self, number: int) -> None:
        """Sends a signal to the agent, and to what of it is left."""
        try:
            os.killpg(self._process.pid, number)
        except OSError:  # nothing is
            return

    def _close_stdin(self) -> None:
        if not self._agent_stdin.closed:
            self._to_agent.reader.is_open = False
            self._to_agent.writer.abandon()
            self._agent_stdin.close()

    def _conclude(self) -> int:
        """Ends the turns, and says to the editor what the agent will not say any more."""
        status = self._process.wait()
        how = f"was killed by signal {-status}" if status < 0 else f"has ended with status {status}"
        for line in self._listener.end(f"the agent {how}"):
            self._say(line)
        self._deadline = time.monotonic() + self._limit
        while not self._recorder.is_idle and time.monotonic() < self._deadline:
            self._turn()
        self._recorder.close()
        self._deadline = _FOREVER if not self._signal else time.monotonic() + _GRACE
        while self._to_editor.writer.has_waiting and time.monotonic() < self._deadline:
            self._wait()
        if self._signal:
            return 128 + self._signal
        return 128 - status if status < 0 else status


def _limit(environ: Mapping[str, str]) -> float:
    """Returns how many seconds anything here ever waits for a checkpoint.

    A hook waits as long as it may, and once more for a round before it; this is for the case that
    it does not keep to that, because the disk hangs.
    """
    try:
        own = float(config.for_all(environ)["hook_seconds"])
    except TakebackError:  # the event itself has reported it
        own = 5.0
    return 2 * own + 5
