"""aider: it calls nothing at its events, but writes down what the person typed and what was said.

    .aider.input.history        # 2026-11-18 14:03:07.952955      each line of a prompt after a plus
                                +add a test for the parser
    .aider.chat.history.md      #### add a test ...               what was said, and what it did

Prompts are taken from the first alone: in the second a model can write a line like a person's.
"""

from __future__ import annotations

import os

from takeback.model.json_text import dumps
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAME = "aider"
_INPUT, _CHAT = ".aider.input.history", ".aider.chat.history.md"
_STARTERS = frozenset(("env", "exec", "nice", "pipx", "poetry", "run", "time", "tool", "uv", "uvx"))
_OWN = b".aider"
_COMMAND = "/"
_ECHO = "####"
_MOST_READ = 1 << 20
_MOST_SAID = 1 << 24


class HistoryFiles(Value):
    """Where aider writes down what was typed and what was said."""

    input: str
    chat: str


def is_aider(words: Sequence[str]) -> bool:
    """Tells whether a command is aider, if need be behind what starts it.

    That is ``aider``, ``python -m aider``, ``uvx aider``, ``env A=1 aider`` ...
    """
    for word in words:
        name = os.path.basename(word)
        if name == NAME:
            return True
        starts_it = name in _STARTERS or name.startswith("python")
        if not (starts_it or word.startswith("-") or "=" in word):
            return False
    return False


def history_files(
    words: Sequence[str], environ: Mapping[str, str], directory: str, project: str
) -> HistoryFiles:
    """Returns where aider's history is: as its options say, its variables, or in the project.

    ``project`` is the root of the git repository, if there is one.
    """
    beside = directory if "--no-git" in words else project

    def place(option: str, name: str) -> str:
        given = _option(words, option) or environ.get(_variable(option))
        return os.path.join(directory, given) if given else os.path.join(beside, name)

    return HistoryFiles(place("--input-history-file", _INPUT), place("--chat-history-file", _CHAT))


def own_files(history: HistoryFiles, project: str) -> tuple[bytes, ...]:
    """Returns how the paths of what aider writes for itself begin, in the project."""
    moved = (os.path.relpath(path, project) for path in (history.input, history.chat))
    return (_OWN, *(os.fsencode(path) for path in moved))


def _option(words: Sequence[str], option: str) -> str | None:
    for at, word in enumerate(words):
        if word == option and at + 1 < len(words):
            return words[at + 1]
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
    return None


def _variable(option: str) -> str:
    return f"AIDER_{option.removeprefix('--').replace('-', '_').upper()}"


def is_command(prompt: str) -> bool:
    """Tells whether a prompt is a command to aider itself (``/add``, ``/undo``)."""
    return prompt.startswith(_COMMAND)


def prompts_in(text: str) -> list[str]:
    """Returns the prompts that a piece of the input history has, in order.

    aider writes some of them down twice.
    """
    found: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.startswith("+"):
            found[-1].append(line[1:])
        elif found[-1]:
            found.append([])
    prompts = ["\n".join(lines).strip() for lines in found]
    before = ["", *prompts]
    return [one for one, last in zip(prompts, before, strict=False) if one and one != last]


class SaidInAider:
    """What was said since the program began, in the form that the generic reader knows."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._size = 0
        self._said = ""
        self._asked = False

    @property
    def is_answered(self) -> bool:
        """Whether anything was said after the newest prompt."""
        return self._asked and bool(_without_echo(self._said).strip())

    def ask(self, prompt: str) -> None:
        """Adds a prompt, after what was said before it."""
        self._flush()
        self._add("user", prompt)
        self._asked = True

    def hear(self, text: str) -> None:
        """Adds what aider has written down since."""
        if self._asked and len(self._said) < _MOST_READ:
            self._said += text

    def messages(self) -> bytes:
        """Returns all of it, one message a line."""
        said = _without_echo(self._said).strip()
        return b"".join(self._lines) + (_message("assistant", said) if said else b"")

    def _flush(self) -> None:
        said = _without_echo(self._said).strip()
        if said:
            self._add("assistant", said)
        self._said = ""

    def _add(self, role: str, text: str) -> None:
        line = _message(role, text)
        if self._size + len(line) <= _MOST_SAID:
            self._lines.append(line)
            self._size += len(line)


def _message(role: str, text: str) -> bytes:
    return dumps({"role": role, "content": text}).encode("utf-8", "replace") + b"\n"


def _without_echo(said: str) -> str:
    """Returns what was said without the prompt, which it begins with."""
    lines = said.splitlines(keepends=True)
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    while first < len(lines) and lines[first].startswith(_ECHO):
        first += 1
    return "".join(lines[first:])


class Grown:
    """A file that only grows, read piece by piece from where it ended at first."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._at = self._size()

    def text(self) -> str:
        """Returns what was appended since, not more than a megabyte of it; "" if nothing was.

        What became shorter was replaced: it is read from its new end on.
        """
        from takeback.ordinary import ordinary

        try:
            with open(self._path, "rb", opener=ordinary) as file:
                size = os.fstat(file.fileno()).st_size
                if size > self._at:
                    file.seek(max(self._at, size - _MOST_READ))
                    data = file.read(size - file.tell())
                else:
                    data = b""
                self._at = size
        except OSError:
            return ""
        return data.decode("utf-8", "replace")

    def _size(self) -> int:
        try:
            return os.stat(self._path).st_size
        except OSError:
            return 0
