"""An agent's screen: a terminal of its own in tmux, typed into and looked at as a person does."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import pytest

_Found = TypeVar("_Found")

_SECONDS = 60.0
_PAUSE = 0.05
_STILL = 3.0
_SHORTLY = 1.0
_AGAIN = 5.0
_DROPPED = 15.0
_BETWEEN = 0.2  # keys that come at once are one key to some: Alt with the second


class Terminal:
    """A program at a terminal; a context manager, which ends the program if it still runs."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        size: tuple[int, int] = (120, 50),
    ) -> None:
        # A short path: the name of a socket may not be longer than 104 characters.
        self._folder = tempfile.mkdtemp(prefix="takeback-")
        words = [f"{name}={value}" for name, value in env.items()]
        sized = ("-x", str(size[0]), "-y", str(size[1]))
        self._tmux("new-session", "-d", *sized, "-c", str(cwd), "env", "-i", *words, *argv)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None and self.is_open:
            error.add_note(f"The screen was:\n{self.screen}")
        if self.is_open:
            self._tmux("kill-server")
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    @property
    def is_open(self) -> bool:
        try:
            self._tmux("has-session")
        except subprocess.CalledProcessError:
            return False
        return True

    def tells(self, name: str) -> str:
        """Returns what tmux knows of the terminal: ``cursor_flag``, ``alternate_on``, ..."""
        return self._tmux("display-message", "-p", f"#{{{name}}}").strip()

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Types a text and waits until it is on the screen, once more than it was before.

        Where the screen has moved on meanwhile, it is enough that the text stands still there. It
        is typed again if nothing of it is seen for long: some drop keys while they draw.
        """
        before, is_still = _count(text, self.screen), _Stillness()
        sent = 0.0

        def typed() -> bool:
            nonlocal sent
            screen = self.screen
            still, count = is_still(screen), _count(text, screen)
            if count > before or (count > 0 and still and sent):
                return True
            if time.monotonic() - sent > _DROPPED and (still or not sent):
                sent = time.monotonic()
                self._tmux("send-keys", "-l", text)
            return False

        self.until(typed, f"see {text!r} typed")

    def say(self, text: str) -> None:
        """Types a line and sends it."""
        self.type(text)
        self.press("Enter")

    def send(self, words: str, line: Callable[[str], str]) -> None:
        """Types words into a line of input and sends them, each again until it is seen to be done.

        For programs that drop keys while they draw. ``line`` returns what stands in the line of
        input of a screen; it is emptied before the words are typed again. They are sent when the
        screen stands still: what completes words may not have looked at all of them before.
        """
        self._repeat(
            lambda: line(self.screen) == words,
            lambda: self._tmux("send-keys", "C-u", ";", "send-keys", "-l", words),
            f"see {words!r} typed",
        )
        self.settles(_SHORTLY)
        self._repeat(
            lambda: line(self.screen) != words, lambda: self.press("Enter"), f"see {words!r} sent"
        )

    def shows(self, text: str) -> None:
        """Waits until a text is on the screen, wherever its lines are broken."""
        self.until(lambda: _count(text, self.screen) > 0, f"see {text!r}")

    def settles(self, seconds: float = _STILL) -> None:
        """Waits until the screen stands still: what is typed while it is drawn anew may be lost."""
        is_still = _Stillness(seconds)
        self.until(lambda: is_still(self.screen), "see the screen stand still")

    def insist(self, text: str, *keys: str) -> None:
        """Presses keys, again each few seconds, until a text is on the screen.

        For keys that a busy program may not take for what they are: two of them that must follow
        each other quickly, or one that comes while it draws.
        """

        def press() -> None:
            for key in keys:
                self.press(key)
                time.sleep(_BETWEEN)

        self._repeat(lambda: _count(text, self.screen) > 0, press, f"see {text!r}")

    def _repeat(self, holds: Callable[[], bool], do: Callable[[], object], what: str) -> None:
        """Does something, again each few seconds, until something holds."""
        done = 0.0

        def tried() -> bool:
            nonlocal done
            if holds():
                return True
            if time.monotonic() - done > _AGAIN:
                done = time.monotonic()
                do()
            return False

        self.until(tried, what)

    def finds(self, find: Callable[[str], _Found | None], what: str) -> _Found:
        """Returns what is found on the screen, once two looks in a row found the same.

        To look once more after waiting is to look at another screen: one that is drawn anew.
        """
        found: list[_Found] = []

        def twice() -> bool:
            seen, before = find(self.screen), found[:]
            found[:] = [] if seen is None else [seen]
            return bool(found) and found == before

        self.until(twice, what)
        return found[0]

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Waits until something holds; fails the test if it never does."""
        deadline = time.monotonic() + _SECONDS
        while not holds():
            assert time.monotonic() < deadline, f"waited too long to {what}"
            time.sleep(_PAUSE)

    def closes(self) -> None:
        """Waits until the program has ended."""
        self.until(lambda: not self.is_open, "see it end")

    def end(self, key: str) -> None:
        """Presses a key until the program has ended: some ask for it twice."""

        def ended() -> bool:
            if self.is_open:
                with suppress(subprocess.CalledProcessError):  # it has ended just now
                    self.press(key)
            return not self.is_open

        self.until(ended, "see it end")

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-f", os.devnull, "-S", os.path.join(self._folder, "s"), *words],
            env={**os.environ, "TERM": "xterm-256color"},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
        return done.stdout


class _Stillness:
    """Tells of each screen in turn whether it has stood still for a while."""

    def __init__(self, seconds: float = _STILL) -> None:
        self._seen, self._since, self._seconds = "", time.monotonic(), seconds

    def __call__(self, screen: str) -> bool:
        if screen != self._seen:
            self._seen, self._since = screen, time.monotonic()
        return time.monotonic() - self._since > self._seconds


def _count(text: str, screen: str) -> int:
    """Counts a text on a screen, wherever its lines are broken."""
    return "".join(screen.split()).count("".join(text.split()))


def need_tmux(what: str = "an agent's screen") -> None:
    """Skips a test where there is no tmux, loudly."""
    if shutil.which("tmux") is None:
        pytest.skip(f"NOT TESTED: {what} needs tmux, and there is none")
