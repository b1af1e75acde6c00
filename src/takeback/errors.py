"""Every exception of takeback, on one page.

    TakebackError                     1   failed
    ├── UsageError                    2   the words of the call are off
    │   └── SettingsUnknown           2   the settings do not say what this needs to know
    ├── PartlyDone                    3   done, except for the paths it names
    ├── RecoveredInstead              4   an interrupted operation was recovered, nothing else
    ├── NotAWorkspace                10   no workspace, or one that takeback will not protect
    ├── InUse                        11   another process holds the workspace
    ├── NoSuchCheckpoint             12   unknown or ambiguous name
    │   └── Expired                  12   its files were dropped to save space
    ├── Refused                      13   a precondition failed; says which flag overrides it
    │   └── WhichSession             13   several sessions could be meant
    ├── GitUnusable                  20   git is missing or too old
    ├── GitFailed                     1   git on our own store ended with an error
    ├── StoreDamaged                  1   an object, ref or record cannot be read back
    │   ├── ObjectMissing             1
    │   └── LedgerDamaged             1   the index of the store; it is rebuilt
    ├── StoreMoved                    1   another process moved or deleted the store meanwhile
    ├── StoreTooNew                   1   written by a later version
    ├── StoreTooOld                   1   written before formats were promises
    ├── CaptureFailed                 1   no snapshot was made
    ├── WriteFailed                   1   the disk would not take it (full, read-only, I/O error)
    │   └── LedgerUnwritable          1   the index of the store; commands do without
    ├── TimedOut                      1   a time limit of ours ran out
    ├── BrokenOff                     1   a command that takeback runs for the person was killed
    ├── CannotRun                   126   a command cannot be started
    │   └── NoSuchCommand           127   there is none
    └── Bug                          70   any exception that is not in this tree

The last is made at the borders: the Python API and the faces. Exit status 130 (interrupted) has no
class here: it is KeyboardInterrupt.
"""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

    Hint = str | tuple["str | Command", ...]
    """What to do about an error: words, or words and the commands and options in them."""

_FULL = (errno.ENOSPC, errno.EDQUOT)


class Command:
    """A command of takeback in a hint: data, as not every face has a command line."""

    __slots__ = ("words",)

    def __init__(self, *words: str) -> None:
        self.words = words

    def __str__(self) -> str:
        return " ".join(("takeback", *self.words))


class Option(Command):
    """An option, in a hint, that makes a refused call possible; and its value, if it has one."""

    __slots__ = ()

    def __str__(self) -> str:
        return " ".join(self.words)


_VERIFY = ("run: ", Command("verify"))
_DISK = ("see what is wrong with the disk: ", Command("doctor"))
FILES_ALONE = Option("--files")
"""Said where the conversation cannot go along."""
CONVERSATION_ALONE = Option("--conversation")
"""Said where the files cannot come along."""


class TakebackError(Exception):
    """What went wrong in one sentence, and what to do about it; fit to be shown anywhere."""

    code = "failed"
    exit_status = 1

    def __init__(self, message: str, *, hint: Hint = "") -> None:
        from takeback.visible import shown  # most events go without any error

        message = shown(message)
        super().__init__(message)
        self.message = message
        self.advice = (hint,) if isinstance(hint, str) else hint
        """What to do about it, part by part, for a face that says it in its own way."""
        self.hint = shown("".join(map(str, self.advice)))
        """The same in the words of the command line."""


class UsageError(TakebackError):
    code = "usage"
    exit_status = 2


class SettingsUnknown(UsageError):
    """A file of settings does not read, and what it may forbid is not done."""

    code = "settings_unknown"


class PartlyDone(TakebackError):
    """The operation is done and recorded; ``paths`` were left as they are."""

    code = "partly_done"
    exit_status = 3

    def __init__(self, message: str, *, paths: Sequence[bytes] = (), hint: Hint = "") -> None:
        super().__init__(message, hint=hint)
        self.paths = tuple(paths)


class RecoveredInstead(TakebackError):
    code = "recovered"
    exit_status = 4


class NotAWorkspace(TakebackError):
    """``new`` if it only has no checkpoint yet: those made under an earlier path may be offered."""

    code = "not_a_workspace"
    exit_status = 10

    def __init__(self, message: str, *, hint: Hint = "", new: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.new = new


class InUse(TakebackError):
    code = "locked"
    exit_status = 11


class NoSuchCheckpoint(TakebackError):
    """If a name fits several sessions, ``sessions`` names them, ``about`` says what each is."""

    code = "no_such_checkpoint"
    exit_status = 12

    def __init__(
        self,
        message: str,
        *,
        hint: Hint = "",
        sessions: Sequence[str] = (),
        about: Sequence[str] = (),
    ) -> None:
        super().__init__(message, hint=hint)
        self.sessions = tuple(sessions)
        self.about = tuple(about)


class Expired(NoSuchCheckpoint):
    """The files of a checkpoint were dropped to save space; the rest of it is there."""

    code = "expired"


class Refused(TakebackError):
    """A precondition does not hold; ``flag`` is the option that overrides it, if there is one.

    ``refusals`` are those of a plan, as data (``model.plan.Refusal``).
    """

    code = "refused"
    exit_status = 13

    def __init__(
        self,
        message: str,
        *,
        hint: Hint = "",
        flag: str = "",
        refusals: tuple[Any, ...] = (),
    ) -> None:
        super().__init__(message, hint=hint)
        self.flag = flag
        self.refusals = refusals


class WhichSession(Refused):
    """Several sessions could be meant; ``sessions`` names them, ``about`` says what each is."""

    code = "which_session"

    def __init__(self, message: str, *, sessions: Sequence[str], about: Sequence[str]) -> None:
        hint = ("say which: ", Option("--session", "ID"))
        super().__init__(message, hint=hint, flag="--session")
        self.sessions = tuple(sessions)
        self.about = tuple(about)


class GitUnusable(TakebackError):
    code = "git_unusable"
    exit_status = 20


class GitFailed(TakebackError):
    """git on our own store ended with an error: the arguments, the status, its last line."""

    code = "git_failed"

    def __init__(self, argv: Sequence[str], status: int, last_line: str) -> None:
        shown = " ".join(argv)
        super().__init__(
            f"git {shown} ended with status {status}: {last_line or 'no message'}",
            hint=_VERIFY,
        )
        self.argv = tuple(argv)
        self.status = status
        self.last_line = last_line


class StoreDamaged(TakebackError):
    code = "store_damaged"

    def __init__(self, message: str, *, hint: Hint = _VERIFY) -> None:
        super().__init__(message, hint=hint)


class ObjectMissing(StoreDamaged):
    code = "object_missing"


class LedgerDamaged(StoreDamaged):
    """The file is not a ledger any more; it is rebuilt from the store."""

    code = "ledger_damaged"

    def __init__(self, message: str) -> None:
        super().__init__(message, hint=("make it anew: ", Command("doctor", "--rebuild")))


class StoreMoved(TakebackError):
    """The store is not where it was a moment ago; the same once more finds what is there now."""

    code = "store_moved"

    def __init__(self) -> None:
        super().__init__("the store was moved or deleted meanwhile", hint="run the command again")


class StoreTooNew(TakebackError):
    code = "store_too_new"


class StoreTooOld(TakebackError):
    code = "store_too_old"

    @classmethod
    def at(cls, directory: str, version: int) -> Self:
        """Returns the error for a store, with the way out that keeps it."""
        from shlex import quote

        return cls(
            f"the store has format {version}, from before the first release, which this takeback "
            "does not read; nothing was changed",
            hint=f"begin anew and keep it aside: mv {quote(directory)} {quote(directory)}.old",
        )


class CaptureFailed(TakebackError):
    code = "capture_failed"


class WriteFailed(TakebackError):
    code = "write_failed"

    @classmethod
    def of(cls, what: str, error: OSError) -> Self:
        """Says in one sentence what the system refused."""
        reason = os.strerror(error.errno) if error.errno else str(error)
        where = ""
        if error.filename is not None:
            where = f" ({os.fsdecode(error.filename)})"
        if error.errno in _FULL:
            hint: Hint = "free some space and run the command again; nothing is lost"
        else:
            hint = ("see what is wrong with the disk or its permissions: ", Command("doctor"))
        return cls(f"{what} failed: {reason}{where}", hint=hint)


class LedgerUnwritable(WriteFailed):
    """It cannot be written now: disk full, read-only, or of a newer format. Nothing is damaged.

    ``busy`` says that another process is writing it.
    """

    code = "ledger_unwritable"

    def __init__(self, message: str, *, hint: Hint = _DISK, busy: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.busy = busy


class TimedOut(TakebackError):
    code = "timed_out"


class BrokenOff(TakebackError):
    """The command was killed, or says (128 and above) that nothing is to be concluded from it."""

    code = "broken_off"


class CannotRun(TakebackError):
    """The command of a person cannot be started; the statuses are those that shells have for it."""

    code = "cannot_run"
    exit_status = 126


class NoSuchCommand(CannotRun):
    code = "no_such_command"
    exit_status = 127


class Bug(TakebackError):
    """An error in takeback itself; what was raised is its cause."""

    code = "bug"
    exit_status = 70

    def __init__(self, error: Exception, trace: str = "") -> None:
        """``trace`` is the file that says where it happened, if one could be written."""
        what = f"{type(error).__name__}: {error}".replace("\n", " ")
        hint: Hint = ("run it again with ", Option("-v"), " and report what it prints")
        if trace:
            hint = f"report it, with what stands last in {trace}"
        super().__init__(f"This is a bug in takeback: {what}", hint=hint)
