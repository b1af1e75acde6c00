"""The patterns of ``include`` and ``exclude``, and what the settings keep out of every capture.

``*`` and ``?`` stop at a slash, ``**`` does not; a pattern without a slash matches a name at
any depth; a pattern that matches a directory matches all below it.
"""

from __future__ import annotations

from takeback.model.coverage import EXCLUDED, SENSITIVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

    from takeback.model.coverage import Reason
    from takeback.model.policy import Policy


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


class LeftOut:
    """The user's own word on which paths takeback must not have."""

    def __init__(self, policy: Policy) -> None:
        self._include = Patterns(policy.include)
        self._exclude = Patterns(policy.exclude)
        self._skip_sensitive = policy.skip_sensitive

    def reason(self, path: bytes, *, directory: bool = False) -> Reason | None:
        """Returns why a path is never captured; None if the settings do not speak against it."""
        if self._exclude.match(path):
            return EXCLUDED
        return SENSITIVE if self.is_secret(path, directory=directory) else None

    def is_secret(self, path: bytes, *, directory: bool = False) -> bool:
        """Tells whether no byte of a file may enter the store, not even to be saved for undo.

        What ``include`` names is captured although its name is sensitive.
        """
        if not self._skip_sensitive:
            return False
        from takeback.model import sensitive  # few people set it

        if directory:
            found = sensitive.is_sensitive_directory(path.rpartition(b"/")[2])
        else:
            found = sensitive.is_sensitive(path)
        return found and not self._include.match(path)
