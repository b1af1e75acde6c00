"""Coverage: what a snapshot does not hold, with the reason; and the rules that it follows."""

from __future__ import annotations

from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any, Final, Literal

    Waiver = Literal[
        "mass_delete",
        "during_git",
        "other_branch",
        "during_turn",
        "overwrite_others",
        "keep_others",
    ]
    """A field of ``Overrides``."""
    Reason = Literal[
        "ignored",
        "excluded",
        "sensitive",
        "oversized",
        "unreadable",
        "unstable",
        "special",
        "mount",
        "other workspace",
        "purged",
        "its list of what it does not hold is damaged",
    ]

# -- the rules that a capture and a rewind follow, as values taken from the settings


MIB = 1 << 20
KEEP_OTHERS: Final = "keep_others"
OVERWRITE_OTHERS: Final = "overwrite_others"


TEST_COMMANDS = (
    "pytest",
    "py.test",
    "python -m pytest",
    "python -m unittest",
    "python3 -m pytest",
    "python3 -m unittest",
    "uv run pytest",
    "poetry run pytest",
    "tox",
    "nox",
    "make test",
    "make check",
    "ctest",
    "npm test",
    "npm run test",
    "pnpm test",
    "pnpm run test",
    "yarn test",
    "yarn run test",
    "bun test",
    "deno test",
    "npx jest",
    "npx vitest",
    "jest",
    "vitest",
    "cargo test",
    "cargo nextest run",
    "go test",
    "mvn test",
    "mvn verify",
    "gradle test",
    "gradlew test",
    "dotnet test",
    "swift test",
    "mix test",
    "rspec",
    "bundle exec rspec",
    "rake test",
    "phpunit",
    "composer test",
    "bazel test",
)
"""What a command that runs tests begins with, word by word."""


class Policy(Value):
    """What is captured, what is refused, and when the disk counts as full. Sizes are in bytes."""

    size_limit: int = 100 * MIB
    ignored: str = "save"
    ignored_file_limit: int = 1 * MIB
    ignored_total_limit: int = 50 * MIB
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    skip_sensitive: bool = False
    entries_limit: int = 500_000
    bytes_limit: int = 5 << 30
    disk_floor: int = 100 * MIB
    max_bytes: int = 2 << 30
    lock_wait: float = 10.0
    rehash_hours: int = 24
    capture: bool = True
    conversation: bool = True
    transcripts: tuple[str, ...] = ()
    hook_seconds: float = 5.0
    agent_may_rewind: bool = False
    agent_may_run: bool = False
    hosts: tuple[str, ...] = ()
    startup_budget: float = 2.0
    test_commands: tuple[str, ...] = TEST_COMMANDS
    unknown: str = ""
    """Why nobody can say what the user has set; then nothing is captured."""


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


NO_OVERRIDES = Overrides()


# -- coverage


IGNORED: Final = "ignored"
EXCLUDED: Final = "excluded"
SENSITIVE: Final = "sensitive"
"""Left out by its name, because the setting ``sensitive`` is ``skip``."""
OVERSIZED: Final = "oversized"
UNREADABLE: Final = "unreadable"
UNSTABLE: Final = "unstable"
SPECIAL: Final = "special"
MOUNT: Final = "mount"
OTHER_WORKSPACE: Final = "other workspace"
PURGED: Final = "purged"
"""A person had it removed from everything that is kept, and wants it kept no more."""
PURGED_FOR_GOOD = "purged: no checkpoint has it any more"
"""What every face says of such a path that it leaves alone."""
NO_COVERAGE: Final = "its list of what it does not hold is damaged"
"""Given for the root if the record itself cannot be read; never written."""

REASONS: tuple[Reason, ...] = (
    IGNORED,
    EXCLUDED,
    SENSITIVE,
    OVERSIZED,
    UNREADABLE,
    UNSTABLE,
    SPECIAL,
    MOUNT,
    OTHER_WORKSPACE,
    PURGED,
)
_BY_CHOICE = frozenset((IGNORED, EXCLUDED, SENSITIVE, SPECIAL, OTHER_WORKSPACE, PURGED))
"""Left out by a rule that the user knows; the others are content that we wanted but lack."""
LET_GO: frozenset[Reason] = frozenset((EXCLUDED, SENSITIVE))
"""Left out by the user's settings, also if earlier snapshots held it."""


def by_choice(reason: Reason) -> bool:
    """Tells whether a path is left out by a rule that the user knows, and not by a failure."""
    return reason in _BY_CHOICE


def then(reason: Reason) -> str:
    """Returns the reason why a checkpoint lacks a path, as of its own time; purged is for good."""
    return reason if reason == PURGED else f"{reason} then"


class NotHeld(Value):
    """One path, or a directory and everything below it, that a snapshot does not hold."""

    path: bytes
    reason: Reason


class Coverage:
    """What a snapshot names as not held. Everything else that existed is in the snapshot."""

    __slots__ = ("_reasons",)

    def __init__(self, not_held: Iterable[NotHeld] = ()) -> None:
        self._reasons = {item.path: item.reason for item in not_held}

    @property
    def not_held(self) -> tuple[NotHeld, ...]:
        return tuple(NotHeld(path, reason) for path, reason in sorted(self._reasons.items()))

    @property
    def skipped(self) -> tuple[NotHeld, ...]:
        """What we wanted but could not get: unreadable, oversized, unstable, a mount."""
        wanted = sorted(item for item in self._reasons.items() if item[1] not in _BY_CHOICE)
        return tuple(NotHeld(path, reason) for path, reason in wanted)

    def __len__(self) -> int:
        """Returns how many paths it names."""
        return len(self._reasons)

    def __contains__(self, item: NotHeld) -> bool:
        """Tells whether it names this very path, for this reason."""
        return self._reasons.get(item.path) == item.reason

    @property
    def complete(self) -> bool:
        return all(reason in _BY_CHOICE for reason in self._reasons.values())

    def names(self, reasons: Collection[Reason]) -> bool:
        """Tells whether anything is not held for one of these reasons."""
        return any(reason in reasons for reason in self._reasons.values())

    def reason_for(self, path: bytes) -> Reason | None:
        """Returns why ``path`` is not held (its own entry or a parent's), or None if it is.

        None for a path that is not in the snapshot means that it did not exist. That is the only
        ground on which a rewind deletes anything.
        """
        reasons = self._reasons
        while path:
            if path in reasons:
                return reasons[path]
            path = path.rpartition(b"/")[0]
        return reasons.get(b"")

    @classmethod
    def of_nothing(cls) -> Coverage:
        """Returns that of a snapshot whose own cannot be read."""
        return cls([NotHeld(b"", NO_COVERAGE)])

    def encode(self) -> bytes:
        """Returns the bytes kept beside a snapshot; equal coverages give equal bytes."""
        encoded = bytearray()
        for path in sorted(self._reasons):  # half a million of them, at times: no second list
            encoded += b"%s\t%s\0" % (self._reasons[path].encode(), path)
        return bytes(encoded)

    @classmethod
    def decode(cls, data: bytes) -> Coverage:
        """Reads ``encode``'s bytes; raises ValueError on anything else."""
        if data and not data.endswith(b"\0"):
            raise ValueError("a coverage record is cut off")
        words: dict[bytes, Any] = {}  # each once; a later version may know more reasons
        decoded = cls()
        for record in data.split(b"\0")[:-1]:
            reason, tab, path = record.partition(b"\t")
            if not tab:
                raise ValueError("not a coverage record")
            if reason not in words:
                words[reason] = reason.decode()
            decoded._reasons[path] = words[reason]
        return decoded

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Coverage) and other._reasons == self._reasons

    def __hash__(self) -> int:
        return hash(self.encode())
