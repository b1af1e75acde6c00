"""The rules that a capture and a rewind follow, as values taken from the settings."""

from __future__ import annotations

from takeback.errors import UsageError
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MIB = 1 << 20


class Policy(Value):
    """What is captured, what is refused, and when the disk counts as full. Sizes are in bytes."""

    size_limit: int = 100 * MIB
    ignored: str = "save"
    ignored_file_limit: int = 1 * MIB
    ignored_total_limit: int = 50 * MIB
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    entries_limit: int = 500_000
    bytes_limit: int = 5 << 30
    disk_floor: int = 100 * MIB
    store_budget: int = 2 << 30
    lock_wait: float = 10.0
    rehash_hours: int = 24
    capture: bool = True
    conversation: bool = True
    hook_seconds: float = 5.0
    agent_may_rewind: bool = False


class Overrides(Value):
    """Which preconditions of a rewind the user has waived, one flag each."""

    mass_delete: bool = False
    during_git: bool = False
    other_branch: bool = False
    during_turn: bool = False
    overwrite_others: bool = False
    keep_others: bool = False
    """Not a waiver: what another session changed is left as it is."""

    @classmethod
    def all(cls) -> Overrides:
        return cls(
            mass_delete=True,
            during_git=True,
            other_branch=True,
            during_turn=True,
            overwrite_others=True,
        )

    @classmethod
    def named(cls, words: Iterable[str]) -> Overrides:
        """Returns those named by flags of the command line, or by names of fields.

        Raises UsageError for two that exclude each other.
        """
        wanted = {FLAGS.get(word, word) for word in words}
        if {"keep_others", "overwrite_others"} <= wanted:
            raise UsageError(
                "--keep-others and --overwrite-others say opposite things", hint="say one of them"
            )
        return cls(**{name: True for name in FLAGS.values() if name in wanted})


FLAGS = {
    "--allow-mass-delete": "mass_delete",
    "--during-git": "during_git",
    "--other-branch": "other_branch",
    "--during-turn": "during_turn",
    "--overwrite-others": "overwrite_others",
    "--keep-others": "keep_others",
}
"""What a person types to waive a precondition, and the field for it."""
NO_OVERRIDES = Overrides()
