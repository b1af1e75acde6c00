"""The patterns of the settings ``include`` and ``exclude``.

``*`` and ``?`` stop at a slash, ``**`` does not; a pattern without a slash matches a name at
any depth; a pattern that matches a directory matches all below it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern


class Patterns:
    """A list of patterns, compiled on first use (``re`` costs 10 ms, most people set none)."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self._patterns = patterns
        self._compiled: list[Pattern[bytes]] | None = None

    def match(self, path: bytes) -> bool:
        """Tells whether a path, or a directory above it, matches one of the patterns."""
        if not self._patterns:
            return False
        if self._compiled is None:
            self._compiled = [_compile(pattern) for pattern in self._patterns]
        return any(pattern.match(path) for pattern in self._compiled)


def _compile(pattern: str) -> Pattern[bytes]:
    import re

    text = pattern.strip("/")
    anywhere = "/" not in text and not pattern.startswith("/")
    parts = []
    for piece in re.split(r"(\*\*/?|\*|\?)", text):
        if piece == "**/":
            parts.append("(?:.*/)?")
        elif piece == "**":
            parts.append(".*")
        elif piece == "*":
            parts.append("[^/]*")
        elif piece == "?":
            parts.append("[^/]")
        else:
            parts.append(re.escape(piece))
    body = "".join(parts)
    full = ("(?:.*/)?" if anywhere else "") + body + r"(?:/.*)?\Z"
    return re.compile(full.encode("utf-8", "surrogateescape"), re.DOTALL)
