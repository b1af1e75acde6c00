"""Sensitive names: files that usually hold a secret, told by their names alone."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

SENSITIVE_WORD: Final = "sensitive"
"""How every face marks such a file."""

_DIRECTORIES = frozenset((b".ssh", b".gnupg"))
_NAMES = frozenset((b".npmrc", b".netrc", b"_netrc", b".pypirc", b".pgpass", b".git-credentials"))
_EXAMPLES = (b"example", b"sample", b"template", b"dist")
_PUBLIC = (
    *(b".pub", b".md", b".mdx", b".rst", b".html", b".css", b".scss", b".svg", b".sql"),
    *(b".c", b".h", b".cc", b".cpp", b".hpp", b".cs", b".go", b".rs", b".swift", b".proto"),
    *(b".java", b".kt", b".scala", b".js", b".mjs", b".jsx", b".ts", b".tsx", b".vue", b".svelte"),
    *(b".py", b".pyi", b".rb", b".php", b".pl", b".lua", b".ex", b".exs", b".sh", b".tf"),
)
"""How names of public keys, programs and pages end: these speak about secrets and hold none."""


_HINTS = (b".env", b"id_", b"credentials", b".pem", b"rc", b".pgpass", *_DIRECTORIES)


def may_be_sensitive(names: bytes) -> bool:
    """Tells, for many names in one text at once, whether one of them may be sensitive."""
    names = names.lower()
    return any(hint in names for hint in _HINTS)


def is_sensitive(path: bytes) -> bool:
    """Tells whether a file usually holds a secret, by its name and the directories above it."""
    above, _, name = path.rpartition(b"/")
    if is_sensitive_name(name):
        return True
    return bool(above) and any(is_sensitive_directory(part) for part in above.split(b"/"))


def is_sensitive_directory(name: bytes) -> bool:
    """Tells whether all that is in a directory of this name counts as sensitive."""
    return name.lower() in _DIRECTORIES


def is_sensitive_name(name: bytes) -> bool:
    """Tells whether a file of this name usually holds a secret, wherever it is."""
    name = name.lower()
    if name.startswith(b".env"):
        return not name.endswith(_EXAMPLES)
    if name.startswith((b"id_", b"credentials")):
        return not name.endswith(_PUBLIC) and not name.endswith(_EXAMPLES)
    return name.endswith(b".pem") or name in _NAMES or name in _DIRECTORIES
