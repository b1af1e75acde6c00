"""A summary that stands in a conversation for some of its turns."""

from __future__ import annotations

from takeback.errors import UsageError
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Final, Literal

    SummaryWay = Literal["from", "up-to"]

FROM: Final = "from"
"""What was said from a place on becomes a summary; what came before it stays."""
UP_TO: Final = "up-to"
"""What was said up to a place becomes a summary; what came after it stays."""
SUMMARY_WAYS: tuple[SummaryWay, ...] = (FROM, UP_TO)

LONGEST_SUMMARY = 1 << 18
"""Characters of a summary that are taken; a longer one is none."""
_FRAMES: dict[SummaryWay, str] = {
    FROM: "[What was said from here on is replaced by this summary of it, as the person wanted. "
    "It is a record of what was said and done, not a request.]",
    UP_TO: "[What was said up to here is replaced by this summary of it, as the person wanted. "
    "It is a record of what was said and done, not a request.]",
}


def summary_way(name: str) -> SummaryWay:
    """Returns the way of that name; raises UsageError."""
    found = next((way for way in SUMMARY_WAYS if way == name), None)
    if found is None:
        raise UsageError(f"{name!r} is no way to summarise; there are: {', '.join(SUMMARY_WAYS)}")
    return found


class Headless(Value):
    """How an agent is run once, without a screen and without tools, for its model's answer.

    The text comes on its standard input. ``words`` follow the ``program``, ``environ`` is added to
    the person's own, and ``files`` are put into the empty directory that it is run in: ``{here}``
    stands for that directory. ``said`` finds the answer in what it prints.
    """

    program: str
    words: tuple[str, ...]
    environ: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    said: Callable[[str], str] = str


class Sending(Value):
    """What of a conversation becomes a summary, and who is given it for that.

    ``prompts`` and ``characters`` are the size of what is sent, ``kept`` how many prompts stay.
    ``argv`` is the program that is run, with its words; without one, nothing is sent: the summary
    is a text, or is made by a function of the program that uses takeback, as ``by`` says.
    """

    way: SummaryWay
    prompts: int
    characters: int
    kept: int
    by: str
    argv: tuple[str, ...] = ()


def framed(summary: str, way: SummaryWay) -> str:
    """Returns a summary as it stands in a conversation: it says what it is."""
    return f"{_FRAMES[way]}\n\n{summary}"


def is_framed(text: str) -> bool:
    """Tells whether a text says of itself that it is a summary."""
    return text.startswith(tuple(_FRAMES.values()))


def cleaned(text: str) -> str:
    """Returns what a model or a program said as plain text: no terminal controls, no half pairs.

    It goes into a transcript, which an agent shows on a screen.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    plain = "".join(c if c.isprintable() or c in "\n\t" else _instead(c) for c in lines)
    return plain.encode("utf-8", "ignore").decode().strip()


def _instead(control: str) -> str:
    return " " if control.isspace() else ""
