"""What connects an agent: edits of its settings, shown before they are made, and taken back whole.

plan      FileEdit(path, before, after), nothing written
apply     the file is replaced in one instant; its old bytes are kept in the store's home
take back exact: a file that nobody touched since gets its old bytes again; else only our
          own entries are taken out of it
"""

from __future__ import annotations

import os
from base64 import b64decode, b64encode

from takeback import durable
from takeback.errors import WriteFailed
from takeback.model import json_text
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol

    class Connection(Protocol):
        """How one agent is connected. Nothing of it is on the hook path."""

        name: str
        title: str
        program: str
        capabilities: Capabilities

        def is_there(self, environ: Mapping[str, str]) -> bool:
            """Tells whether the agent is installed, or was used, on this machine."""

        def connect(
            self, environ: Mapping[str, str], home: str, here: str | None
        ) -> tuple[FileEdit, ...]:
            """Returns the edits that connect it, for the user or for one project."""

        def disconnect(
            self, environ: Mapping[str, str], home: str, here: str | None
        ) -> tuple[FileEdit, ...]:
            """Returns the edits that take our own entries out again."""

        def is_connected(self, environ: Mapping[str, str], home: str, here: str | None) -> bool:
            """Tells whether all that ``connect`` writes is there."""

        def advice(self) -> str:
            """Says what the person still has to do, or nothing."""

        def newest_transcript(self, environ: Mapping[str, str], root: str) -> float | None:
            """Returns when the agent last wrote a transcript in a directory, if ever."""


class Capabilities(Value):
    """What takeback can do with an agent, as data for the table in the README and ``doctor``."""

    files: str = "exact"
    shell: str = "yes"
    conversation: str = "new session"
    inside: str = ""
    resumes: str = ""
    note: str = "yes"
    tested: str = ""


class FileEdit(Value):
    """One file before and after; None stands for "not there"."""

    path: str
    before: bytes | None
    after: bytes | None
    mode: int = 0o600

    @property
    def changes(self) -> bool:
        return self.before != self.after


def read(path: str) -> bytes | None:
    """Returns a file's bytes, None if it is not there."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise WriteFailed(f"cannot read {path}: {os.strerror(error.errno or 0)}") from error


def apply(edits: Sequence[FileEdit], home: str, agent: str) -> None:
    """Makes edits and keeps what stood there before, so that they can be taken back whole."""
    for edit in edits:
        if edit.changes:
            _remember(edit, home, agent)
            _write(edit)


def _write(edit: FileEdit) -> None:
    path = os.path.realpath(edit.path)  # a settings file that is a link stays one
    try:
        if edit.after is None:
            durable.unlink(path)
            return
        durable.make_directories(os.path.dirname(path))
        mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else edit.mode
        durable.replace_file(path, edit.after)
        os.chmod(path, mode)
    except OSError as error:
        raise WriteFailed(f"cannot write {path}: {os.strerror(error.errno or 0)}") from error


def _ledger_path(home: str, agent: str) -> str:
    return os.path.join(home, "connected", f"{agent}.json")


def remembered(home: str, agent: str) -> dict[str, Any]:
    """Returns what was written for an agent, by path: the bytes before and after."""
    data = read(_ledger_path(home, agent))
    if data is None:
        return {}
    try:
        found = json_text.loads(data.decode())
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _remember(edit: FileEdit, home: str, agent: str) -> None:
    known = remembered(home, agent)
    first = known.get(edit.path)
    before = first["before"] if isinstance(first, dict) else _text(edit.before)
    known[edit.path] = {"before": before, "after": _text(edit.after)}
    place = _ledger_path(home, agent)
    durable.make_directories(os.path.dirname(place))
    durable.replace_file(place, json_text.dumps(known).encode())


def _text(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def take_back(edits: Sequence[FileEdit], home: str, agent: str) -> tuple[FileEdit, ...]:
    """Returns edits that leave each file as it was, where nobody has touched it since."""
    known = remembered(home, agent)
    return tuple(_exact(edit, known.get(edit.path)) for edit in edits)


def _exact(edit: FileEdit, kept: Any) -> FileEdit:
    if not isinstance(kept, dict) or _text(edit.before) != kept.get("after"):
        return edit
    before = kept.get("before")
    return edit.replace(after=None if before is None else b64decode(before))


def forget(home: str, agent: str) -> None:
    """Drops what was remembered of an agent's settings."""
    try:
        durable.unlink(_ledger_path(home, agent))
    except FileNotFoundError:
        return
