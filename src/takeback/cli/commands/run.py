"""takeback run: a command that reports nothing, and what becomes of the files."""

from __future__ import annotations

import errno
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
from functools import partial

import click

from takeback.cli.call import Call
from takeback.cli.options import completed_by, seconds, verb
from takeback.cli.terminal import is_terminal
from takeback.errors import CannotRun, Command, NoSuchCommand, Refused, TakebackError, UsageError
from takeback.visible import shown
from takeback.words import outcomes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FrameType

    from takeback.app.protected_run import ProtectedRun


# -- a program that is run for the person, as if takeback were not there
#
# It has the caller's streams, terminal, process group, environment and umask: nothing is in
# between. What happens to it happens to us: we stop when it is stopped, go on when we are
# continued, and end as it ended, by the same signal if it was one. A signal that was sent to us
# alone is handed on; what a key of the terminal sends reaches all programs there, so it has had
# that already.
#
# No signal is lost: the interpreter notes each in a pipe, in the order in which they come, and they
# are read from there when the process is known (a program may send one before we know that it runs)
# and cannot have been waited for meanwhile, after which its number may be another's.


_HANDED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_OF_KEYS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
_HEARD = (*_HANDED_ON, *_OF_KEYS, signal.SIGCONT, signal.SIGCHLD)
_SHELL = "/bin/sh"
_SIGNALLED = 128
_AT_ONCE = 1 << 12


class Program:
    """A running program; a context manager, outside of which signals mean what they meant."""

    def __init__(self, words: Sequence[str], environ: Mapping[str, str], umask: int) -> None:
        """Raises NoSuchCommand."""
        self._words = list(words)
        self._environ = dict(environ)
        self._found = shutil.which(words[0], path=environ.get("PATH"))
        if self._found is None and not ("/" in words[0] and os.path.lexists(words[0])):
            raise NoSuchCommand(f"{shown(words[0])}: there is no such command")
        self._umask = umask
        self._process: subprocess.Popen[bytes] | None = None
        self._put_off = True
        """Whether what comes stays in the pipe for now."""
        self._status: int | None = None
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Program:
        """Starts it; raises CannotRun."""
        self._ends = self._awake, awaken = os.pipe()
        for end in self._ends:
            os.set_blocking(end, False)
        self._wakeup = signal.set_wakeup_fd(awaken, warn_on_full_buffer=False)
        for one in _HEARD:
            # What is ignored here, as under nohup, is ignored by the program, too. What has a
            # handler is not: only that is lost when it is started.
            if signal.getsignal(one) is not signal.SIG_IGN:
                self._before[one] = signal.signal(one, self._came)
        try:
            self._process = self._started()
        except BaseException:
            self.__exit__()
            raise
        self._hand_on(unheard=True)
        self._put_off = False
        return self

    def __exit__(self, *exc: object) -> None:
        for one, before in self._before.items():
            signal.signal(one, before)  # type: ignore[arg-type]
        signal.set_wakeup_fd(self._wakeup)
        for end in self._ends:
            os.close(end)

    def wait(self, seconds: float | None, queue: int | None) -> bool:
        """Waits until something happens, or as long; False once the program has ended.

        ``queue`` is another thing that may become readable.
        """
        self._put_off = True
        try:
            if self._goes_on():
                watched = [self._awake] if queue is None else [self._awake, queue]
                select.select(watched, [], [], seconds)
            return self._goes_on()
        finally:
            self._put_off = False

    def end_likewise(self) -> int:
        """Ends this process by the signal that ended the program; else returns its exit status."""
        assert self._status is not None
        if not os.WIFSIGNALED(self._status):
            return os.waitstatus_to_exitcode(self._status)
        number = os.WTERMSIG(self._status)
        sys.stdout.flush()
        sys.stderr.flush()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program's own is the one to keep
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        return _SIGNALLED + number

    def _started(self) -> subprocess.Popen[bytes]:
        program, found = self._words[0], self._found
        try:
            return self._spawned(self._words)
        except OSError as error:
            if error.errno == errno.ENOEXEC and found is not None:  # a script without a first line
                return self._spawned([_SHELL, found, *self._words[1:]])
            reason = os.strerror(error.errno or 0)
            raise CannotRun(f"{shown(program)} cannot be run: {reason}") from None
        except ValueError as error:
            raise CannotRun(f"{shown(program)} cannot be run: {error}") from None

    def _spawned(self, words: list[str]) -> subprocess.Popen[bytes]:
        # What the caller has left open for the program stays open; ours is closed by itself.
        return subprocess.Popen(words, env=self._environ, close_fds=False, umask=self._umask)

    def _came(self, number: int, frame: FrameType | None) -> None:
        if not self._put_off:
            self._put_off = True
            self._hand_on()
            self._put_off = False

    def _hand_on(self, *, unheard: bool = False) -> bool:
        """Sends the program what came; tells whether that lets it go on.

        If it is ``unheard`` the program may not have been there yet when a key was pressed: it is
        sent that, too.
        """
        continued = False
        for number in self._noted():
            if number in _OF_KEYS and not unheard and _is_of_a_key():
                continue
            if number in _HEARD and number != signal.SIGCHLD:
                continued = number == signal.SIGCONT or (continued and number != signal.SIGTSTP)
                self._send(number)
        return continued

    def _noted(self) -> bytes:
        noted = b""
        try:
            while some := os.read(self._awake, _AT_ONCE):
                noted += some
        except BlockingIOError:
            pass
        return noted

    def _goes_on(self) -> bool:
        """Looks after the program; we are stopped as long as it is stopped."""
        assert self._process is not None
        while self._status is None:
            self._hand_on()  # before it is asked after: what comes later is in the pipe again
            pid, status = os.waitpid(self._process.pid, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                return True
            if not os.WIFSTOPPED(status):
                self._status = status
                self._process.returncode = os.waitstatus_to_exitcode(status)
            elif os.WSTOPSIG(status) != signal.SIGSTOP or _has_terminal():
                self._stop()
        return False

    def _stop(self) -> None:
        """Stops this process, too, until it is continued; not if that was said meanwhile.

        The stop waits, blocked, while that is looked at: SIGCONT takes back a stop that waits, so
        there is no moment in which it could come for nothing.
        """
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTSTP])
        before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        try:
            signal.raise_signal(signal.SIGTSTP)
            if self._hand_on():
                signal.signal(signal.SIGTSTP, signal.SIG_IGN)  # drops what waits
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTSTP])
            signal.signal(signal.SIGTSTP, before)

    def _send(self, number: int) -> None:
        assert self._process is not None
        if self._status is None:
            os.kill(self._process.pid, number)


def _has_terminal() -> bool:
    """Tells whether somebody at a terminal can continue what is stopped."""
    return _foreground() is not None


def _is_of_a_key() -> bool:
    """Tells whether a signal may have come from a key, which all in the foreground hear."""
    return _foreground() == os.getpgrp()


def _foreground() -> int | None:
    """Returns the process group in the terminal's foreground; None without a terminal."""
    try:
        terminal = os.open(os.ctermid(), os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.tcgetpgrp(terminal)
    except OSError:
        return None
    finally:
        os.close(terminal)


# -- takeback run


@verb("run", options_first=True)
@click.option(
    "--every",
    metavar="TIME",
    type=seconds,
    default="30s",
    help="While changes go on, a checkpoint at least so often: 30s (the default), 5m.",
)
@click.argument(
    "words",
    metavar="[--] CMD...",
    nargs=-1,
    type=click.UNPROCESSED,
    shell_complete=completed_by("files"),
)
def run_command(call: Call, every: float, words: tuple[str, ...]) -> int:
    """Run a program without hooks, and keep what it does by turns.

    A checkpoint before it starts, one whenever its changes have come to rest, one at its end. Each
    burst of changes is a turn; of aider each prompt. The program has the terminal and all streams
    as they are, and its exit status is passed on: 126 and 127 if it cannot be started.
    """
    call.refuse_dry_run("run")
    if not words:
        raise UsageError(
            "run needs a command", hint=("for example: ", Command("run", "--", "aider"))
        )
    from takeback.app.protected_run import ProtectedRun

    with call.open("run", create=True) as tb:
        off = tb.recording_off_by
        if off is not None:
            raise Refused(f"nothing is kept here ({off}); nothing was run", hint=_ON)
        name_turn = partial(outcomes.turn_words, words)
        watched = ProtectedRun(tb, words, os.environ, every=every, name_turn=name_turn)
        program = Program(words, {**os.environ, **watched.variables}, call.umask)
        watched.begin()
        with program:
            _follow(program, watched)
    line = outcomes.end_line(watched.turns, watched.failure)
    if line is not None and is_terminal(sys.stderr) and not call.json:
        call.output.note(line)
    return program.end_likewise()


_AGAIN = 1.0
_ON = ("keep it again: ", Command("on"))


def _follow(program: Program, watched: ProtectedRun) -> None:
    """Keeps what a program does until it has ended; what fails does not concern the program."""
    pause: float | None = 0.0
    while program.wait(pause, watched.queue):
        try:
            pause = watched.attend()
        except TakebackError as error:
            watched.fail(error)
            pause = _AGAIN
    try:
        watched.end()
    except TakebackError as error:
        watched.fail(error)
