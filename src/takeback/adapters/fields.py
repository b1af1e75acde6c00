"""What adapters share: the fields of events, the places of agents, their usual answers."""

from __future__ import annotations

import os

from takeback.model import json_text
from takeback.model.checkpoint import Resume

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from takeback.model.checkpoint import NewSession
    from takeback.ports import Importer


# -- reads fields of a payload from another program, which may have any shape


_HEX = frozenset("0123456789abcdefABCDEF")
_LETTERS = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def is_uuid(text: str) -> bool:
    """Tells whether a text is a UUID: the only session ids allowed on most command lines.

    An id is whatever an event says. One that is an option of the command line would be obeyed.
    """
    groups = text.split("-")
    return [len(group) for group in groups] == [8, 4, 4, 4, 12] and _HEX.issuperset("".join(groups))


def is_prefixed(text: str, prefix: str) -> bool:
    """Tells whether a text is a prefix followed only by letters and digits."""
    rest = text.removeprefix(prefix)
    return text.startswith(prefix) and 0 < len(rest) <= 64 and _LETTERS.issuperset(rest)


def told(event: str, note: str, warning: str) -> str:
    """Returns what a hook prints, in the JSON that Claude Code, Codex and Gemini all read.

    ``note`` is for the model, at the event of a prompt; ``warning`` is shown to the person.
    """
    answer: dict[str, Any] = {}
    if warning:
        answer["systemMessage"] = warning
    if note:
        answer["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": note}
    return json_text.dumps(answer)


def text(payload: Mapping[str, Any], name: str) -> str | None:
    """Returns a field that is a string and not empty, else None."""
    value = payload.get(name)
    return value if isinstance(value, str) and value else None


def required(payload: Mapping[str, Any], name: str) -> str:
    """Returns a field that must be a string; raises ValueError naming it."""
    value = text(payload, name)
    if value is None:
        raise ValueError(f"the payload has no {name}")
    return value


def texts(payload: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Returns the strings of a field that is a list, else an empty tuple."""
    value = payload.get(name)
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()


def flag(payload: Mapping[str, Any], name: str, *, default: bool = False) -> bool:
    value = payload.get(name)
    return value if isinstance(value, bool) else default


def number(payload: Mapping[str, Any], name: str) -> int | None:
    value = payload.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def records_with(tail: bytes, word: str) -> Iterator[Mapping[str, Any]]:
    """Yields the JSON objects of the last lines that hold a string, the newest first.

    Of eight lines at most; a line that is torn or no object is passed over.
    """
    for _, record in lines_with(tail, word, most=8):
        yield record


def lines_with(
    data: bytes, word: str, *, before: int | None = None, first: bool = False, most: int = 64
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yields lines that hold a string: where each begins, what it says.

    The newest first, of those ``before`` a place; or, if asked, the ``first`` ones in their order.
    """
    wanted = json_text.dumps(word).encode()
    begin, end = len(data) if before is None else before, 0
    for _ in range(most):
        at = data.find(wanted, end) if first else data.rfind(wanted, 0, begin)
        if at < 0:
            return
        begin, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        end = end if end >= 0 else len(data)
        try:
            record = json_text.loads(data[begin:end].decode("utf-8", "surrogateescape"))
        except ValueError:
            continue
        if isinstance(record, dict):
            yield begin, record


def table(payload: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Returns a field that is an object, else an empty one."""
    value = payload.get(name)
    return value if isinstance(value, dict) else {}


def tables(payload: Mapping[str, Any], name: str) -> tuple[Mapping[str, Any], ...]:
    """Returns the objects of a field that is a list, else an empty tuple."""
    value = payload.get(name)
    return tuple(v for v in value if isinstance(v, dict)) if isinstance(value, list) else ()


# -- what most agents do alike, so that an adapter says only what its own does otherwise


# -- finds agents and their files on this machine


def on_path(program: str, environ: Mapping[str, str]) -> bool:
    """Tells whether a program can be started by its name."""
    places = (f"{folder}/{program}" for folder in environ.get("PATH", "").split(":") if folder)
    return any(os.path.isfile(one) and os.access(one, os.X_OK) for one in places)


def config_directory(environ: Mapping[str, str], variable: str, name: str) -> str:
    """Returns an agent's directory: the value of a variable, else one in the home directory."""
    return environ.get(variable) or os.path.join(environ.get("HOME", "/"), name)


def files_in(folder: str, ending: str) -> tuple[tuple[str, float], ...]:
    """Returns the files with this ending in a folder, and when each was written."""
    try:
        with os.scandir(folder) as listing:
            found = [one for one in listing if one.name.endswith(ending) and one.is_file()]
            return tuple((one.path, one.stat().st_mtime) for one in found)
    except OSError:
        return ()


# -- what most agents do alike, so that an adapter says only what its own does otherwise


class Usual:
    """The usual answers to what ``ports.Adapter`` asks; there is what each of them means."""

    name: str
    starts_by_id = False
    mute_on_esc = False
    command: str | None = None

    @property
    def importer(self) -> Importer | None:
        return None

    def transcript_files(self, path: str) -> tuple[str, ...]:
        return (path,)

    def sessions_root(self, environ: Mapping[str, str]) -> str | None:
        return None

    def moved_to(self, new: NewSession, directory: str) -> NewSession:
        """Returns it as it is: its agent finds it wherever it was made."""
        return new

    def start(self, directory: str) -> Resume:
        return Resume((self.name,), directory)

    def is_over(self, tail: bytes, turn: str | None) -> bool:
        """Returns False: every end is announced, even by Esc."""
        return False

    def command_in(self, tail: bytes, turn: str | None) -> str | None:
        """Returns None: nothing reports a command, or its event has the words."""
        return None

    def status_in(self, tail: bytes, call: str) -> int | None:
        """Returns None: the event of a command's end has its status."""
        return None

    def follows(self, said: bytes, turn: str) -> tuple[str, ...]:
        """Returns nothing: an event says that it went back, or where it stands."""
        return ()

    def note(self, text: str, warning: str = "") -> str:
        return text

    def answer(self, text: str) -> str:
        return text
