"""Runs one call: the one place where an exception becomes an exit status."""

from __future__ import annotations

import os
import sys

from takeback import durable
from takeback.cli.call import Call
from takeback.cli.output import flush, prepare_streams
from takeback.cli.terminal import Unanswered
from takeback.errors import Bug, TakebackError, WriteFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FAILED, INTERRUPTED, PIPE_CLOSED = 1, 130, 141
COMPLETE = "_TAKEBACK_COMPLETE"
"""The variable by which a shell asks what could follow."""


def guarded(answer: Callable[[Call], int], words: Sequence[str]) -> int:
    """Runs one call and returns its exit status; no exception leaves it."""
    umask = durable.unmask_owner()
    prepare_streams()
    before_paths = words[: words.index("--")] if "--" in words else words
    # Determined before parsing, which may fail and has to say so in the right form.
    call = Call(json="--json" in before_paths, umask=umask)
    try:
        try:
            status = answer(call)
            flush()  # a full disk or a closed pipe must not look like success
            return status
        finally:
            call.close()
    except Bug as error:
        return _bug(call, error)
    except TakebackError as error:
        if isinstance(error.__cause__, BrokenPipeError):
            return _reader_gone()
        return _say(call, error)
    except Unanswered as left:
        from takeback.words.text import NOTHING_CHANGED

        call.output.note(str(left) or NOTHING_CHANGED)
        return INTERRUPTED
    except KeyboardInterrupt:
        return _say(call, Interrupted())
    except BrokenPipeError:
        return _reader_gone()
    except OSError as error:  # from this face itself: the layers below report their own
        return _say(call, WriteFailed.of("the command", error))
    except Exception as error:
        return _bug(call, error)


class Interrupted(TakebackError):
    """The person pressed Ctrl+C."""

    code = "interrupted"
    exit_status = INTERRUPTED

    def __init__(self) -> None:
        hint = "an operation that had begun is finished by the next changing command"
        super().__init__("interrupted", hint=hint)


def _say(call: Call, error: TakebackError) -> int:
    from takeback.words.choices import said

    told = said(error)
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _silence()
    try:
        call.output.error(told)
        sys.stderr.flush()
    except (OSError, ValueError):
        _silence()
    return told.status


def _bug(call: Call, error: Exception) -> int:
    from takeback.app.border import bug

    if call.verbose:
        import traceback

        sys.stderr.write("".join(traceback.format_exception(error)))
    return _say(call, bug(error))


def _reader_gone() -> int:
    """The reader of a pipe has read enough (``| head``): no message, and the shell's own status."""
    _silence()
    return PIPE_CLOSED


def _silence() -> None:
    """Makes the interpreter's last flush go nowhere, so that it cannot fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            os.dup2(nowhere, stream.fileno())
