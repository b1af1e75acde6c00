"""Makes names, times and sizes readable, and harmless for a terminal."""

from __future__ import annotations

from datetime import UTC, datetime

from takeback.model.path_text import to_text
from takeback.model.sensitive import SENSITIVE_WORD, is_sensitive
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence, Sized

NOTHING_CHANGED = "Nothing was changed."
_UNITS = ("KB", "MB", "GB", "TB")
_LONGEST = 400
"""How many characters of a line are shown where a person is asked about it."""


def shown_lines(data: bytes) -> str:
    """Returns bytes as a terminal may show them: lines and tabs stay, the rest as ``shown``."""
    text = data.decode("utf-8", "surrogateescape")
    lines = (_shown_line(line) for line in text.split("\n"))
    return "\n".join(lines)


def _shown_line(line: str) -> str:
    ending = "\r" if line.endswith("\r") else ""  # a Windows line ending, which does no harm
    return "\t".join(shown(part) for part in line.removesuffix("\r").split("\t")) + ending


def shown_path(path: bytes) -> str:
    """Returns a path for people; the root itself is a dot."""
    return shown(to_text(path)) or "."


def shown_file(path: bytes) -> str:
    """Returns a path of the workspace for people, marked if it usually holds a secret."""
    return shown_path(path) + mark(path)


def mark(path: bytes) -> str:
    """Returns what follows the name of a file that usually holds a secret; else nothing."""
    return f" ({SENSITIVE_WORD})" if is_sensitive(path) else ""


def more_files(paths: Sequence[bytes]) -> str:
    """Says how many files there are that are not named, and whether any is sensitive."""
    if not paths:
        return ""
    hidden = sum(map(is_sensitive, paths))
    return f" +{len(paths)} more" + (f" ({hidden} {SENSITIVE_WORD})" if hidden else "")


def quoted(word: str) -> str:
    """Returns a word quoted for a shell."""
    from shlex import quote

    return shown(quote(word))


def count(things: int | Sized, one: str, many: str = "") -> str:
    """Returns ``1 file`` or ``3 files``."""
    number = things if isinstance(things, int) else len(things)
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(number: int) -> str:
    """Returns bytes as people read them, and write them in settings: a KB has 1,024.

    ``bytes`` in the page's words.js is the same; halves are rounded up, as both can.
    """
    if number < 1024:
        return f"{number} bytes"
    power = min((number.bit_length() - 1) // 10, len(_UNITS))
    tenths = (number * 20 + (1 << 10 * power)) // (2 << 10 * power)
    return f"{tenths // 10}.{tenths % 10} {_UNITS[power - 1]}"


def timestamp(time: float) -> str:
    """Returns a moment by RFC 3339, in UTC."""
    moment = datetime.fromtimestamp(time, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def shortened(line: str) -> str:
    """Returns a line without the end of a very long one, and says how much that is."""
    if len(line) <= _LONGEST:
        return line
    return f"{line[:_LONGEST]}... and {len(line) - _LONGEST:,} characters more"
