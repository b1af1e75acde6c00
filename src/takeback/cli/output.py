"""The two printers: text for people, JSON for programs. stdout is the answer, stderr the rest."""

from __future__ import annotations

import os
import sys

from takeback.cli.terminal import make_way, wants_color
from takeback.errors import WriteFailed
from takeback.model import json_text
from takeback.visible import shown
from takeback.words.text import Paint, shown_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TextIO

    from takeback.words.choices import Said

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
