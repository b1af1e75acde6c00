"""Names of things. Each is a distinct type, so that they cannot be mixed up."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NewType

    SnapshotId = NewType("SnapshotId", str)
    CheckpointId = NewType("CheckpointId", str)
    SessionId = NewType("SessionId", str)
    OperationId = NewType("OperationId", str)
    MachineId = NewType("MachineId", str)
    Order = tuple[int, str, float, str]
    """The order of all that happened in a workspace, on whatever machine: a number that is higher
    than all that the machine knew of, and its name for what happened apart. Time and id are for
    numbers that a power loss made a machine give twice."""
else:
    SnapshotId = CheckpointId = SessionId = OperationId = MachineId = str

ID_LENGTH = 12
_LETTERS = "abcdefghjkmnpqrstvwxyz"
_LETTERS_AND_DIGITS = _LETTERS + "23456789"
_ALLOWED = frozenset(_LETTERS_AND_DIGITS)

WORKSPACE_SESSION = SessionId("workspace")
"""The session that checkpoints made by hand belong to."""


def _random_id() -> str:
    """Returns twelve characters that begin with a letter, so that no id looks like a time."""
    noise = os.urandom(ID_LENGTH)
    first = _LETTERS[noise[0] % len(_LETTERS)]
    return first + "".join([_LETTERS_AND_DIGITS[b % len(_LETTERS_AND_DIGITS)] for b in noise[1:]])


def new_checkpoint_id() -> CheckpointId:
    """Returns a fresh random id; it never depends on what the checkpoint holds."""
    return CheckpointId(_random_id())


def new_operation_id() -> OperationId:
    """Returns a fresh random id for one line of the operation log."""
    return OperationId(_random_id())


def new_machine_id() -> MachineId:
    """Returns a fresh random id for a machine; it says nothing about its host name."""
    return MachineId(_random_id())


def new_workspace_id() -> str:
    """Returns a fresh random id for a workspace; it says nothing about where that is."""
    return _random_id()


def looks_like_id(text: str) -> bool:
    """Tells whether ``text`` could be an id or the beginning of one."""
    return 0 < len(text) <= ID_LENGTH and text[0] in _LETTERS and _ALLOWED.issuperset(text)


def digest(text: str) -> str:
    """Returns eight bytes of a hash of any text, half characters too."""
    from hashlib import blake2b  # 2 ms, and ordinary names do not need it

    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()
