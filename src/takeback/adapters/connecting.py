"""What connects an agent: edits of its settings, shown before they are made, and taken back whole.

plan      FileEdit(path, before, after), nothing written
apply     the file is replaced in one instant; its old bytes are kept in the store's home
take back exact: a file that was not touched since gets its old bytes again; else only our
          own entries are taken out of it
"""

from __future__ import annotations

import os
from hashlib import sha256

from takeback import durable
from takeback.errors import Command, Refused, WriteFailed
from takeback.model import json_text
from takeback.model.value import Value
from takeback.ordinary import ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from takeback.model.agent import FileEdit


def located(edits: Sequence[FileEdit], within: str | None) -> tuple[FileEdit, ...]:
    """Resolves which file each edit really changes.

    Raises Refused for a change that a link would take out of the directory ``within``: the links of
    a project are not the person's own.
    """
    found = []
    for edit in edits:
        real = os.path.realpath(edit.path)
        outside = within is not None and not real.startswith(os.path.realpath(within) + os.sep)
        if outside and edit.changes:
            raise Refused(
                f"{edit.path} leads out of the project, to {real}",
                hint=("remove the link, or connect the agent for all projects: ", Command("init")),
            )
        found.append(edit.replace(real=real))
    return tuple(found)


def read(path: str) -> bytes | None:
    """Returns a file's bytes, None if it does not exist."""
    try:
        with open(path, "rb", opener=ordinary) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise WriteFailed(f"cannot read {path}: {error.strerror}") from error


def apply(
    edits: Sequence[FileEdit], without: Sequence[FileEdit], home: str, agent: str, here: str | None
) -> None:
    """Makes edits and keeps what was there before, so that they can be taken back whole.

    ``without`` are the edits that would remove ours from the same files as they are now. ``here``
    is the project that they are for, None for all of the person's projects.
    """
    clean = {edit.path: edit.after for edit in without}
    for edit in edits:
        if edit.changes:
            _check_unchanged(edit)
            _remember(edit, clean.get(edit.path), home, agent, here)
            _write(edit)


def _write(edit: FileEdit) -> None:
    """Writes to what the path leads to, so that a settings file that is a link stays one."""
    path = edit.real
    try:
        _check_unchanged(edit)
        if edit.after is None:
            durable.unlink(path)
            return
        durable.make_directories(os.path.dirname(path))
        mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else edit.mode
        durable.replace_file(path, edit.after, check=lambda: _check_unchanged(edit), mode=mode)
    except OSError as error:
        raise WriteFailed(f"cannot write {path}: {os.strerror(error.errno or 0)}") from error


def _check_unchanged(edit: FileEdit) -> None:
    """Raises Refused if the file has changed since the edit was shown."""
    if os.path.realpath(edit.path) != edit.real or read(edit.real) != edit.before:
        raise Refused(
            f"{edit.real} was changed while its edit was being looked at; it stays as it is",
            hint="run the command again to see the new edit",
        )


# -- what was there before


class RememberedFile(Value):
    """What is remembered of one file: the project it is for, a copy of it, what we wrote.

    ``copy`` is the name of the copy in our own home, None if there was no file. ``written`` is
    the hash of what we wrote. ``made`` are the directories that were made for the file.
    """

    here: str | None
    copy: str | None
    written: str
    made: tuple[str, ...]


def remembered(home: str, agent: str) -> dict[str, RememberedFile]:
    """Returns what was written for an agent, by path."""
    data = read(_list_path(home, agent))
    try:
        found = json_text.loads((data or b"{}").decode())
        kept = found.items() if isinstance(found, dict) else ()
        return {path: RememberedFile(**{**one, "made": tuple(one["made"])}) for path, one in kept}
    except (ValueError, TypeError, KeyError):
        return {}


def connected_at(home: str, agent: str) -> float:
    """Returns when settings were last written for an agent; 0 if not by ``init``."""
    try:
        return os.stat(_list_path(home, agent)).st_mtime
    except OSError:
        return 0.0


def take_back(edits: Sequence[FileEdit], home: str, agent: str) -> tuple[FileEdit, ...]:
    """Returns edits that leave each file as it was, if it was not touched since."""
    known = remembered(home, agent)
    return tuple(_exact(edit, known.get(edit.path), home) for edit in edits)


def _exact(edit: FileEdit, kept: RememberedFile | None, home: str) -> FileEdit:
    if kept is None or edit.before is None or kept.written != _hash(edit.before):
        return edit
    if kept.copy is None:
        return edit.replace(after=None)
    before = read(os.path.join(home, _FOLDER, kept.copy))
    return edit if before is None else edit.replace(after=before)


def withdraw(edits: Sequence[FileEdit], home: str, agent: str) -> None:
    """Makes the edits that take ours back, and forgets what was kept for them."""
    made: set[str] = set()
    for edit in edits:
        if edit.changes:
            _write(edit)
        known = remembered(home, agent)
        kept = known.pop(edit.path, None)
        if kept is None:
            continue
        made.update(kept.made)
        _write_list(known, home, agent)
        if kept.copy is not None:
            _unlink(os.path.join(home, _FOLDER, kept.copy))
    for folder in sorted(made, key=len, reverse=True):  # inner ones first
        try:
            durable.rmdir(folder)
        except OSError:  # something else is in it
            continue


_FOLDER = "connected"


def _list_path(home: str, agent: str) -> str:
    return os.path.join(home, _FOLDER, f"{agent}.json")


def _remember(edit: FileEdit, clean: bytes | None, home: str, agent: str, here: str | None) -> None:
    """Notes what a file was before our first edit.

    If it was written to since, what it was is its present text without our entries.
    """
    assert edit.after is not None
    known = remembered(home, agent)
    kept = known.get(edit.path)
    durable.make_directories(os.path.join(home, _FOLDER))
    if kept is None:
        made = tuple(_missing(os.path.dirname(edit.real)))
        kept = RememberedFile(here, None, "", made)
    if edit.before is None or kept.written != _hash(edit.before):
        copy = None if clean is None else _copy(edit.path, clean, home, agent)
        kept = kept.replace(copy=copy)
    _write_list({**known, edit.path: kept.replace(written=_hash(edit.after))}, home, agent)


def _copy(path: str, data: bytes, home: str, agent: str) -> str:
    """Keeps a plain copy of a file as it was: a person can put it back by hand."""
    name = f"{agent}-{_hash(os.fsencode(path))[:8]}-{os.path.basename(path)}"
    durable.replace_file(os.path.join(home, _FOLDER, name), data)
    return name


def _write_list(known: Mapping[str, RememberedFile], home: str, agent: str) -> None:
    path = _list_path(home, agent)
    if not known:
        _unlink(path)
        return
    records = {
        path: {"here": k.here, "copy": k.copy, "written": k.written, "made": list(k.made)}
        for path, k in known.items()
    }
    durable.replace_file(path, json_text.dumps(records).encode())


def _hash(data: bytes) -> str:
    return sha256(data).hexdigest()


def _missing(folder: str) -> list[str]:
    """Returns the directories that do not exist yet, the innermost first."""
    found = []
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        found.append(folder)
        folder = os.path.dirname(folder)
    return found


def _unlink(path: str) -> None:
    try:
        durable.unlink(path)
    except FileNotFoundError:
        return
