"""Names of things. Each is a distinct type, so that one cannot be passed for another."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NewType

    SnapshotId = NewType("SnapshotId", str)
    CheckpointId = NewType("CheckpointId", str)
    SessionId = NewType("SessionId", str)
    OperationId = NewType("OperationId", str)
else:
    SnapshotId = CheckpointId = SessionId = OperationId = str

ID_LENGTH = 12
_LETTERS = "abcdefghjkmnpqrstvwxyz"
_LETTERS_AND_DIGITS = _LETTERS + "23456789"

_REF_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-+")
_MARK = "+"
"""Stands in front of a hash, and in no name that is kept as it is."""
_LONGEST_PLAIN = 100
_LONGEST = 200

WORKSPACE_SESSION = SessionId("workspace")
"""The session that checkpoints made by hand belong to."""


def _random_id() -> str:
    """Returns twelve characters that begin with a letter, so that no id looks like a time."""
    noise = os.urandom(ID_LENGTH)
    first = _LETTERS[noise[0] % len(_LETTERS)]
    return first + "".join(_LETTERS_AND_DIGITS[b % len(_LETTERS_AND_DIGITS)] for b in noise[1:])


def new_checkpoint_id() -> CheckpointId:
    """Returns a fresh random id; it never depends on what the checkpoint holds."""
    return CheckpointId(_random_id())


def new_operation_id() -> OperationId:
    """Returns a fresh random id for one line of the operation log."""
    return OperationId(_random_id())


def new_workspace_id() -> str:
    """Returns a fresh random id for a workspace; it says nothing of where that is."""
    return _random_id()


def looks_like_id(text: str) -> bool:
    """Tells whether ``text`` could be an id or the beginning of one."""
    return (
        0 < len(text) <= ID_LENGTH
        and text[0] in _LETTERS
        and all(c in _LETTERS_AND_DIGITS for c in text)
    )


def is_ref_name(text: str) -> bool:
    """Tells whether ``text`` can be one part of a ref's name, and so the name of a file.

    The one owner of the rule: whatever makes such a name, and whatever checks one, asks here.
    """
    return (
        0 < len(text) <= _LONGEST
        and _REF_LETTERS.issuperset(text)
        and not text.startswith((".", "-"))
        and not text.endswith((".", ".lock"))
        and ".." not in text
    )


def is_plain_name(text: str) -> bool:
    """Tells whether a name from elsewhere can be a ref's name as it is."""
    return len(text) <= _LONGEST_PLAIN and _MARK not in text and is_ref_name(text)


def marked_name(text: str, whole: str) -> str:
    """Returns a ref's name for any text: what can be read of it, and a hash of ``whole``.

    No plain name looks like one, so that nobody can take the name of another on purpose.
    """
    kept = "".join(c if c in _REF_LETTERS and c != _MARK else "_" for c in text[:_LONGEST_PLAIN])
    return f"{kept.replace('..', '__').lstrip('.-')}{_MARK}{digest(whole)}"


def digest(text: str) -> str:
    """Returns eight bytes of a hash of any text, half characters too."""
    from hashlib import blake2b  # 2 ms, and ordinary names need none

    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()
