"""The rules that a capture and a rewind follow, as values taken from the settings."""

from __future__ import annotations

from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, Literal

    Waiver = Literal[
        "mass_delete",
        "during_git",
        "other_branch",
        "during_turn",
        "overwrite_others",
        "keep_others",
    ]
    """A field of ``Overrides``."""

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
