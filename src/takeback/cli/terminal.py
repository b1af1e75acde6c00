"""The terminal: questions, sizes, numbers, a pager, and everything that is printed."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from contextlib import contextmanager

from takeback.errors import UsageError, WriteFailed
from takeback.model import json_text
from takeback.visible import shown
from takeback.words.text import Paint, shown_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from subprocess import Popen
    from typing import Any, TextIO

    from _typeshed import ReadableBuffer as Buffer
    from rich.progress import Progress, TaskID

    from takeback.app.engine import Engine
    from takeback.cli.call import Call
    from takeback.words.choices import Said


# -- numbers of a list, typed by a person: the one way that line by line something is chosen


def ask_number(
    ask: Callable[[], str | None],
    say: Callable[[str], None],
    most: int,
    words: Mapping[str, int] | None = None,
) -> int | None:
    """Asks until a number of the list is given, or a word that means one; None steps back."""
    while (typed := ask()) is not None:
        number = number_of(typed, most)
        if number is None and words:
            number = words.get(typed.lower())
        if number is not None:
            return number
        say(not_listed(typed))
    return None


def number_of(typed: str, most: int) -> int | None:
    """Returns the number that was typed, None if the list has no such number."""
    if typed.isascii() and typed.isdigit() and 1 <= int(typed) <= most:
        return int(typed)
    return None


def not_listed(typed: str) -> str:
    """Says that an answer is none of those that are offered."""
    return f"{shown(typed)} is not in the list."


# -- the terminal


PATIENCE = 1.0
"""Seconds of silence before a progress bar appears."""
BETWEEN = 0.05
"""Seconds between two pictures of it: drawing one takes longer than most steps of a job."""


def is_terminal(stream: TextIO | None) -> bool:
    """Tells whether a person is at the other end."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def terminal_width(stream: TextIO) -> int | None:
    """Returns how many characters fit into a line; None if there is no terminal."""
    if not is_terminal(stream):
        return None
    from shutil import get_terminal_size

    return get_terminal_size().columns


def wants_color(choice: str, stream: TextIO) -> bool:
    """Decides about colour: ``always`` and ``never`` are obeyed, ``auto`` looks around."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return is_terminal(stream)


class Unanswered(KeyboardInterrupt):
    """Ctrl-C at a question: what was asked about is not done."""


def ask(question: str) -> str:
    """Asks on stderr and returns the line typed; empty at the end of the input.

    Raises Unanswered on Ctrl-C.
    """
    return _typed(question).strip()


def _typed(question: str) -> str:
    """Returns the line as it was typed: without its end if that was the end of the input."""
    make_way()
    sys.stderr.write(question)
    sys.stderr.flush()
    try:
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        raise Unanswered from None
    if not line.endswith("\n"):
        sys.stderr.write("\n")
    return line


def agrees(question: str) -> bool:
    """Asks a question whose default is No."""
    return ask(f"{question} [y/N] ").lower() in ("y", "yes")


def choose(
    question: str, choices: Sequence[str], about: Sequence[str], *, first: bool = False
) -> str:
    """Asks for one of several, each with a description; raises UsageError if none is named.

    With ``first`` an empty line means the first of them; the end of the input never does.
    """
    widest = max(map(len, choices))
    for number, (choice, words) in enumerate(zip(choices, about, strict=True), 1):
        sys.stderr.write(f"  {number}  {choice:<{widest}}  {words}\n")
    typed = _typed(f"{question} [1-{len(choices)}{', Enter: 1' if first else ''}] ")
    answer = typed.strip()
    if first and typed.endswith("\n") and not answer:
        return choices[0]
    if answer in choices:
        return answer
    chosen = number_of(answer, len(choices))
    if chosen is not None:
        return choices[chosen - 1]
    raise UsageError("none was chosen; nothing was done")


_showing: list[TerminalReporter] = []
"""Whose bar stands on the terminal, of which there is one."""


def make_way() -> None:
    """Removes the bar that stands on the terminal: something else is about to be said there."""
    for reporter in list(_showing):
        reporter.close()


class TerminalReporter:
    """Shows how a long job is going: prints notes, and on a terminal a bar after a second.

    The bar has no thread of its own (the scan forks): it moves when the job reports. The second
    counts from the first report since anything else was said or asked.
    """

    def __init__(self, say: Callable[[str], None], *, bar: bool) -> None:
        self._say = say
        self._wanted = bar
        self._since: float | None = None
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._drawn = 0.0

    def progress(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._wanted:
            return
        if self._since is None:
            self._since = now
            _showing.append(self)
        if now - self._since < PATIENCE:
            return
        if now - self._drawn < BETWEEN:
            return
        self._drawn = now
        if self._bar is None:
            self._bar = _new_bar()
        if what not in self._tasks:
            self._tasks[what] = self._bar.add_task(what, total=None)
        self._bar.update(self._tasks[what], completed=done, total=total or None)
        self._bar.refresh()

    def note(self, text: str) -> None:
        self.close()
        self._say(text)

    def close(self) -> None:
        """Removes the bar; the next one waits for a second again."""
        if self._since is not None:
            self._since = None
            _showing.remove(self)
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
            self._tasks.clear()


def _new_bar() -> Progress:
    # rich takes 48 ms to import: only once somebody has waited for a second.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True, force_terminal=True),  # the caller has checked
        transient=True,
        auto_refresh=False,
    )
    bar.start()
    return bar


# -- the two printers: text for people, JSON for programs. stdout is the answer, stderr the rest


VERSION = 1
"""The version of the JSON documents; within one version fields are only added."""


class Output:
    """Prints the output of one call of takeback."""

    def __init__(self, *, json: bool, quiet: bool, color: str) -> None:
        self.json = json
        self.quiet = quiet
        self.paint = Paint(on=not json and wants_color(color, sys.stdout))
        self.paint_stderr = Paint(on=not json and wants_color(color, sys.stderr))

    def document(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Prints one JSON document as a line on stdout; people get nothing."""
        if self.json:
            _write(sys.stdout, _line(kind, fields))

    def lines(self, lines: Iterable[str]) -> None:
        """Prints text for people on stdout; programs get nothing."""
        if not self.json:
            for line in lines:
                _write(sys.stdout, line + "\n")

    def line(self, text: str) -> None:
        """Prints one line for people on stdout."""
        self.lines([text])

    def done(self, lines: Iterable[str]) -> None:
        """Prints what was done, unless told to be quiet."""
        if not self.quiet:
            self.lines(lines)

    def raw(self, data: bytes) -> None:
        """Prints bytes on stdout: as they are, or so that they cannot control a terminal."""
        if sys.stdout.isatty():
            _write(sys.stdout, shown_lines(data))
            return
        flush()
        with _Answering():
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

    def aside(self, lines: Iterable[str]) -> None:
        """Prints text for people on stderr: a plan before its question."""
        for line in lines:
            _write(sys.stderr, line + "\n")

    def note(self, text: str) -> None:
        """Prints one sentence on stderr that is not the answer."""
        if self.quiet:
            return
        text = shown(text)
        _write(sys.stderr, _line("note", {"message": text}) if self.json else text + "\n")

    def error(self, told: Said) -> None:
        """Says on stderr what went wrong and what to do about it."""
        if self.json:
            from takeback.words.choices import document

            _write(sys.stderr, _line("error", document(told)))
            return
        paint = self.paint_stderr
        _write(sys.stderr, f"{paint.deleted('Error:')} {shown(told.message)}\n")
        if told.hint:
            _write(sys.stderr, f"{paint.warning('Hint:')} {shown(told.hint)}\n")


def _line(kind: str, fields: Mapping[str, Any]) -> str:
    return json_text.dumps(_clean({"type": kind, "v": VERSION, **fields})) + "\n"


def _clean(value: Any) -> Any:
    """Replaces lone surrogates (bytes that are not UTF-8): strict JSON readers reject them."""
    if isinstance(value, str):
        try:
            return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        except UnicodeEncodeError:  # half of a character that is not an escaped byte either
            return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return value


def _write(stream: TextIO, text: str) -> None:
    make_way()
    if stream is not sys.stdout:
        stream.write(text)
        return
    with _Answering():
        stream.write(text)


def flush() -> None:
    """Flushes the answer; raises WriteFailed, or BrokenPipeError if nobody reads."""
    with _Answering():
        sys.stdout.flush()


class _Answering:
    """Turns a failure to write the answer into an error with its own sentence."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            reason = os.strerror(error.errno or 0)
            raise WriteFailed(
                f"the answer could not be written: {reason}",
                hint="what was asked for is done all the same, if it was to change anything",
            ) from error


def prepare_streams() -> None:
    """Makes stdout and stderr accept any character, even if they are closed or ASCII only."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller: python sets it to None
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        else:
            stream.reconfigure(errors="backslashreplace")


# -- the pager: shows answers that do not fit on the screen page by page, like git
#
# ``$TAKEBACK_PAGER``, else ``$PAGER``, else ``less``; none is started for what fits on the
# screen. Each is a program with its arguments, not a shell command; ``cat`` or nothing means no
# pager. One in a workspace is not run: an agent could have put it there.


_NONE = ("", "cat")


@contextmanager
def paged(call: Call, tb: Engine) -> Iterator[None]:
    """Sends what is written to stdout meanwhile to the pager, if it is too long."""
    argv = _pager(call, tb)
    if not argv:
        yield
        return
    screen = sys.stdout
    screen.flush()
    sheet = _Sheet(screen, argv, {"LESS": "FRX", "LV": "-c", **os.environ, "PATH": tb.trusted_path})
    page = io.TextIOWrapper(
        io.BufferedWriter(sheet), encoding="utf-8", errors="backslashreplace", write_through=True
    )
    sys.stdout = page
    try:
        yield
        page.flush()
    except BrokenPipeError:  # the reader has seen enough
        pass
    finally:
        sys.stdout = screen
        failure = sheet.end()
        _close(page)
        if failure is not None:
            call.output.note(f"{argv[0]} could not be started: {failure}")


def _close(page: io.TextIOWrapper) -> None:
    try:
        page.close()
    except BrokenPipeError:
        pass


class _Sheet(io.RawIOBase):
    """Bytes for a terminal: kept while they fit on its screen, else given to the pager."""

    def __init__(self, screen: TextIO, argv: list[str], environ: Mapping[str, str]) -> None:
        self._screen = screen
        self._argv = argv
        self._environ = environ
        from shutil import get_terminal_size  # 3 ms, for the compressors that it brings along

        self._size = get_terminal_size()
        self._kept = bytearray()
        self._pager: Popen[bytes] | None = None
        self._failure: str | None = None
        self._interrupt: Any = None

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer) -> int:
        self._kept += data
        if self._pager is None and self._failure is None and self._is_full():
            self._start()
        if self._pager is not None:
            assert self._pager.stdin is not None
            self._pager.stdin.write(self._kept)
            self._kept.clear()
        return len(memoryview(data))

    def _is_full(self) -> bool:
        rows = sum(1 + len(line) // self._size.columns for line in self._kept.split(b"\n"))
        return rows > self._size.lines

    def _start(self) -> None:
        from subprocess import PIPE, Popen

        try:
            self._pager = Popen(self._argv, stdin=PIPE, env=self._environ)
        except OSError as error:
            self._failure = os.strerror(error.errno or 0)
            return
        # Ctrl-C is for the pager, to stop a search for example.
        self._interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end(self) -> str | None:
        """Waits for the pager to end, or writes what is kept; returns why there was no pager."""
        if self._pager is None:
            self._screen.buffer.write(self._kept)
            self._screen.flush()
            return self._failure
        assert self._pager.stdin is not None
        try:
            self._pager.stdin.close()
        except BrokenPipeError:
            pass
        self._pager.wait()
        signal.signal(signal.SIGINT, self._interrupt)
        return None


def _pager(call: Call, tb: Engine) -> list[str]:
    """Returns the pager with its arguments; empty if there is none, or nobody to read."""
    if call.json or not call.pager or not is_terminal(sys.stdout):
        return []
    if os.environ.get("TERM", "dumb") == "dumb":
        return []
    words = _words(os.environ)
    if not words:
        return []
    found = tb.find_program(words[0])
    if found.program is None:
        if found.passed_over:
            call.output.note(found.passed_over)
        return []
    return [found.program, *words[1:]]


def _words(environ: Mapping[str, str]) -> list[str]:
    from shlex import split

    line = next((environ[n] for n in ("TAKEBACK_PAGER", "PAGER") if n in environ), "less")
    try:
        words = split(line)
    except ValueError:  # a quotation mark without its end
        return []
    return [] if not words or words[0] in _NONE else words
