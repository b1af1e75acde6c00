"""One running git and the pipes to it.

``subprocess`` would cost the hook path 10 ms to import, more than git takes to answer.
"""

from __future__ import annotations

import os
import select
import time

from takeback import errors
from takeback.errors import Command
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# the module `signal` imports enum; these two numbers are the same on Linux and macOS
_SIGKILL = 9
_SIGPIPE = 13
_PIECE = 1 << 16
_KEPT_STDERR = 1 << 20


class ProcessResult(Value):
    """How a git process ended; ``status`` is negative if a signal ended it."""

    status: int
    stdout: bytes
    stderr: bytes


class GitProcess:
    """One running git with pipes to all three of its streams.

    Its pipes never block us: its output is read while its input is being written, so neither side
    can wait for the other.
    """

    def __init__(self, argv: list[str], env: Mapping[str, str], args: tuple[str, ...]) -> None:
        self._args = args
        self._status: int | None = None
        self._unread = bytearray()
        self._stderr = bytearray()
        pipes = _pipes(3)
        (child_in, self._stdin), (self._stdout, child_out), (self._errors, child_err) = pipes
        try:
            self._pid = os.posix_spawn(
                argv[0],
                argv,
                env,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, child_in, 0),
                    (os.POSIX_SPAWN_DUP2, child_out, 1),
                    (os.POSIX_SPAWN_DUP2, child_err, 2),
                ],
                setpgroup=0,
                setsigmask=(),
                setsigdef=(_SIGPIPE,),  # Python ignores it, and children inherit that
            )
        except OSError as error:
            for fd in (self._stdin, self._stdout, self._errors):
                os.close(fd)
            raise errors.GitUnusable(
                f"{argv[0]} does not start: {error.strerror}", hint=("run: ", Command("doctor"))
            ) from error
        finally:
            for fd in (child_in, child_out, child_err):
                os.close(fd)
        for fd in (self._stdin, self._stdout, self._errors):
            os.set_blocking(fd, False)

    def ask(
        self, data: bytes, done: Callable[[bytearray], bool], *, timeout: float = 60.0
    ) -> bytes:
        """Writes ``data`` and returns git's answer once ``done`` says it is complete.

        ``done`` is called with the answer so far each time it has grown. Raises GitFailed if git
        ends before that, TimedOut (and ends git) if it takes longer.
        """
        deadline = time.monotonic() + timeout
        if not self._exchange(memoryview(data), deadline, done):
            status = self._wait(deadline)
            raise errors.GitFailed(self._args, status, last_line(self._stderr))
        answer = bytes(self._unread)
        self._unread.clear()
        return answer

    def finish(self, stdin: bytes = b"", *, timeout: float = 60.0) -> ProcessResult:
        """Writes the last input, closes stdin and waits for git to end."""
        deadline = time.monotonic() + timeout
        self._exchange(memoryview(stdin), deadline, None)
        status = self._wait(deadline)
        return ProcessResult(status, bytes(self._unread), bytes(self._stderr))

    def close(self) -> None:
        """Ends git with all its children if it is still running, and releases everything."""
        if self._status is None:
            self._kill()
        for name in ("_stdin", "_stdout", "_errors"):
            self._close(name)

    def _close(self, name: str) -> None:
        fd = getattr(self, name)
        if fd >= 0:
            os.close(fd)
            setattr(self, name, -1)

    def _exchange(
        self, data: memoryview, deadline: float, done: Callable[[bytearray], bool] | None
    ) -> bool:
        """Writes and reads; returns True once ``done`` is satisfied, False if git's output ended.

        Without ``done``, stdin is closed after ``data`` and everything is read to its end.
        """
        while True:
            if not data:
                if done is None:
                    self._close("_stdin")
                elif self._unread and done(self._unread):
                    return True
            if self._stdout < 0 and (self._errors < 0 or done is not None):
                return False
            for fd in self._ready(deadline, writing=bool(data)):
                if fd == self._stdin:
                    data = self._write(data)
                elif fd == self._stdout:
                    self._read_answer()
                else:
                    self._read_errors()

    def _ready(self, deadline: float, *, writing: bool) -> list[int]:
        """Waits until a pipe can be used and returns which."""
        poll = select.poll()
        if writing:
            poll.register(self._stdin, select.POLLOUT)
        for fd in (self._stdout, self._errors):
            if fd >= 0:
                poll.register(fd, select.POLLIN)
        left = deadline - time.monotonic()
        ready = poll.poll(left * 1000) if left > 0 else []
        if not ready:
            self._time_out()
        return [fd for fd, _ in ready]

    def _write(self, data: memoryview) -> memoryview:
        try:
            return data[os.write(self._stdin, data) :]
        except BlockingIOError:
            return data
        except BrokenPipeError:  # git does not want more; its status will say why
            self._close("_stdin")
            return data[len(data) :]

    def _read_answer(self) -> None:
        piece = _read(self._stdout)
        if piece:
            self._unread += piece
        elif piece is not None:
            self._close("_stdout")

    def _read_errors(self) -> None:
        piece = _read(self._errors)
        if piece:
            self._stderr += piece
            del self._stderr[:-_KEPT_STDERR]
        elif piece is not None:
            self._close("_errors")

    def _wait(self, deadline: float) -> int:
        """Returns the status of git, whose output has ended."""
        pause = 0.0001
        while self._status is None:
            pid, status = self._reap(os.WNOHANG)
            if pid:
                self._status = status
            elif time.monotonic() > deadline:
                self._time_out()
            else:
                time.sleep(pause)
                pause = min(pause * 2, 0.01)
        return self._status

    def _reap(self, flags: int) -> tuple[int, int]:
        try:
            pid, status = os.waitpid(self._pid, flags)
        except ChildProcessError as error:  # the host program ignores SIGCHLD
            self._status = -1
            raise errors.GitFailed(self._args, -1, "its status was lost") from error
        return pid, os.waitstatus_to_exitcode(status) if pid else 0

    def _kill(self) -> None:
        try:
            os.killpg(self._pid, _SIGKILL)
        except (ProcessLookupError, PermissionError):  # macOS: EPERM for a zombie
            pass
        try:
            self._status = self._reap(0)[1]
        except errors.GitFailed:
            self._status = -1

    def _time_out(self) -> None:
        self.close()
        raise errors.TimedOut(f"git {' '.join(self._args)} took too long and was ended")


def _pipes(count: int) -> list[tuple[int, int]]:
    """Returns ``count`` pipes, or closes those it has made if no more can be had."""
    pipes: list[tuple[int, int]] = []
    try:
        for _ in range(count):
            pipes.append(_pipe())
    except OSError as error:
        for pipe in pipes:
            os.close(pipe[0])
            os.close(pipe[1])
        raise errors.GitUnusable(f"git does not start: {error.strerror}") from error
    return pipes


def _pipe() -> tuple[int, int]:
    """Returns a pipe whose ends are not 0, 1 or 2, even if the host program closed those."""
    low = []
    reader, writer = os.pipe()
    while reader < 3:
        low.append(reader)
        reader = os.dup(reader)
    while writer < 3:
        low.append(writer)
        writer = os.dup(writer)
    for fd in low:
        os.close(fd)
    return reader, writer


def _read(fd: int) -> bytes | None:
    """Returns what a pipe holds, b"" at its end, None if there is nothing at the moment."""
    try:
        return os.read(fd, _PIECE)
    except BlockingIOError:
        return None


def last_line(text: bytes | bytearray) -> str:
    """Returns the last line that git printed, which is where it names the failure."""
    lines = bytes(text).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""
