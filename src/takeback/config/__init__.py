"""Settings: TOML files, each value with where it came from.

        defaults  <  the person's config.toml  <  config.toml of the workspace's store

The person's is the one that ``takeback init`` recorded, whatever variables a command or a hook is
given since; only where nothing is recorded do they name it. Nothing is read from the workspace
itself: a repository must not be able to switch off its own protection. A file is parsed when it has
changed; what was read of it is kept (``compiled.py``), as ``tomllib`` costs a hook a third of its
time.
"""

from __future__ import annotations

import os

from takeback.errors import Command, SettingsUnknown, TakebackError, UsageError
from takeback.model.coverage import TEST_COMMANDS, Policy
from takeback.model.value import Value
from takeback.paths import config_file, home_named, recorded_settings, takeback_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from takeback.config.compiled import CompiledSettings
    from takeback.config.damage import Damage
    from takeback.errors import Hint
    from takeback.model.retention import Bounds

_LEFT_OUT = "skip"
_MIB = 1 << 20
_LARGEST = 1 << 53
_COMPILED = "settings.compiled"


class Setting(Value):
    """One setting: its name, its kind, its default, and what it does, in one line."""

    name: str
    kind: str
    default: Any
    about: str


SETTINGS = (
    Setting("size_limit_mb", "number", 100, "larger files are named, not captured"),
    Setting("ignored", "save|restore|off", "save", "what happens to small ignored files"),
    Setting("ignored_file_limit_mb", "number", 1, "an ignored file is small up to this size"),
    Setting("ignored_total_limit_mb", "number", 50, "all small ignored files together"),
    Setting("include", "list", (), "patterns: captured although git ignores them"),
    Setting("exclude", "list", (), "patterns: never captured"),
    Setting("sensitive", "keep|skip", "keep", "whether files such as .env and id_rsa are captured"),
    Setting(
        "entries_limit",
        "number",
        500_000,
        "of more new files, large and late ones are left out and named",
    ),
    Setting(
        "bytes_limit_mb", "number", 5120, "of more new bytes, the largest are left out and named"
    ),
    Setting("disk_floor_mb", "number", 100, "free space on the store's disk that is never used"),
    Setting(
        "max_bytes",
        "bytes",
        "2GB",
        "a larger store drops old files, thinned, then its oldest expired turns; 0: no bound",
    ),
    Setting("max_total_bytes", "bytes", "20GB", "all stores together; 0: no bound"),
    Setting("max_age_days", "number", 30, "files of older checkpoints go; 0: no bound"),
    Setting("max_snapshots", "number", 0, "different, unpinned snapshots; 0: no bound"),
    Setting("keep_newest", "number", 20, "so many of the newest turns keep their files"),
    Setting("keep_labelled", "yes|no", True, "what has a label keeps its files, pi's labels too"),
    Setting("undo_grace_days", "number", 7, "so long undo snapshots keep their files"),
    Setting("thin", "yes|no", True, "old turns are thinned before any is dropped for its size"),
    Setting(
        "retention_scope",
        "all|lineage",
        "all",
        "whose turns keep_newest and max_snapshots count: all together, or those of each line "
        "of sessions",
    ),
    Setting("startup_budget_ms", "number", 2000, "time of a sweep at a session's start; 0: none"),
    Setting("grace_days", "number", 7, "so long what was dropped can be brought back"),
    Setting("lock_wait_seconds", "number", 10, "how long a command waits for another one"),
    Setting("rehash_hours", "number", 24, "every file is read anew this often"),
    Setting("capture", "on|off", "on", "whether agents' events are recorded: takeback off, on"),
    Setting("never", "list", (), "directories where no event is recorded, as patterns"),
    Setting("only", "list", (), "if given, the only directories where events are recorded"),
    Setting("conversation", "on|off", "on", "whether the agents' transcripts are kept"),
    Setting(
        "transcripts", "list", (), "directories where transcripts are read, besides an agent's own"
    ),
    Setting("hook_seconds", "number", 5, "how long an agent ever waits for a checkpoint"),
    Setting("standby_minutes", "number", 15, "how long a process stays for quick hooks; 0: none"),
    Setting("test_commands", "list", (), "how test commands begin, besides the usual ones"),
    Setting("summariser", "list", (), "a command that makes summaries, instead of the agent"),
    Setting("agent_may_rewind", "yes|no", False, "a model may rewind from its own running turn"),
    Setting("agent_may_run", "yes|no", False, "a model may start programs: takeback run, bisect"),
    Setting("hosts", "list", (), "agents of your own, whose way to go on is given as takeback's"),
    Setting("foreign_owner", "yes|no", False, "protect directories of other users"),
)
_BY_NAME = {setting.name: setting for setting in SETTINGS}


class Settings:
    """The values in force, and the file that each came from ("default" if none).

    ``damage`` is what is wrong with the files, ``closed`` which settings nobody knows any more that
    may forbid something.
    """

    def __init__(
        self,
        values: dict[str, Any],
        origins: dict[str, str],
        damage: tuple[Damage, ...] = (),
        closed: frozenset[str] = frozenset(),
    ) -> None:
        self._values = values
        self._origins = origins
        self.damage = damage
        self.closed = closed

    def __getitem__(self, name: str) -> Any:
        return self._values.get(name, _BY_NAME[name].default)

    def origin(self, name: str) -> str:
        return self._origins.get(name, "default")

    def require_known(self, *names: str) -> None:
        """Raises SettingsUnknown if nobody can say what these settings forbid."""
        if self.closed.intersection(names):
            raise SettingsUnknown(_joined(self.damage), hint=self.damage[0].hint)

    def require_whole(self) -> None:
        """Raises SettingsUnknown if anything is wrong with the files: then nothing is dropped."""
        if self.damage:
            raise SettingsUnknown(_joined(self.damage), hint=self.damage[0].hint)

    def policy(self) -> Policy:
        """Returns the rules that captures and rewinds follow."""
        return Policy(
            size_limit=int(self["size_limit_mb"] * _MIB),
            ignored=self["ignored"],
            ignored_file_limit=int(self["ignored_file_limit_mb"] * _MIB),
            ignored_total_limit=int(self["ignored_total_limit_mb"] * _MIB),
            include=tuple(self["include"]),
            exclude=tuple(self["exclude"]),
            skip_sensitive=self["sensitive"] == _LEFT_OUT,
            entries_limit=int(self["entries_limit"]),
            bytes_limit=int(self["bytes_limit_mb"] * _MIB),
            disk_floor=int(self["disk_floor_mb"] * _MIB),
            max_bytes=bytes_of(self["max_bytes"]),
            lock_wait=float(self["lock_wait_seconds"]),
            rehash_hours=int(self["rehash_hours"]),
            capture=self["capture"] == "on",
            conversation=self["conversation"] == "on",
            transcripts=tuple(self["transcripts"]),
            hook_seconds=float(self["hook_seconds"]),
            agent_may_rewind=self["agent_may_rewind"],
            agent_may_run=self["agent_may_run"],
            hosts=tuple(self["hosts"]),
            test_commands=(*TEST_COMMANDS, *self["test_commands"]),
            startup_budget=self["startup_budget_ms"] / 1000,
            unknown=_joined(self.damage) if "exclude" in self.closed else "",
        )

    def bounds(self) -> Bounds:
        """Returns how much retention keeps; raises SettingsUnknown if that is not sure."""
        from takeback.model.retention import DAY, Bounds  # sweeps only, in no hook

        self.require_whole()
        return Bounds(
            max_bytes=bytes_of(self["max_bytes"]),
            max_age=self["max_age_days"] * DAY,
            max_snapshots=int(self["max_snapshots"]),
            keep_newest=int(self["keep_newest"]),
            keep_labelled=self["keep_labelled"],
            undo_grace=self["undo_grace_days"] * DAY,
            thin=self["thin"],
            by_line=self["retention_scope"] == "lineage",
            grace=self["grace_days"] * DAY,
        )


def _joined(damage: tuple[Damage, ...]) -> str:
    return "; ".join(map(str, damage))


def bytes_of(value: str | float) -> int:
    """Returns how many bytes a setting means: ``2GB``, ``500 MB``, a number; raises ValueError."""
    if not isinstance(value, str):
        return int(value)
    text = value.strip().upper().removesuffix("B").removesuffix("I").strip()
    power = "KMGT".find(text[-1:]) + 1 if text else 0
    number = float(text[:-1] if power else text)
    if not 0 <= number * 1024**power < _LARGEST:
        raise ValueError(f"{value!r} is out of range")
    return int(number * 1024**power)


def _are_bytes(value: Any) -> bool:
    try:
        return isinstance(value, (str, int, float)) and 0 <= bytes_of(value) < _LARGEST
    except (ValueError, OverflowError):
        return False


def is_wanted(settings: Settings, directory: str, home: str) -> bool:
    """Tells whether an agent's events in a directory are to be recorded at all."""
    return unwanted_by(settings, directory, home) is None


def unwanted_by(settings: Settings, directory: str, home: str) -> str | None:
    """Names the setting that keeps events in a directory from being recorded; None if they are.

    A pattern matches a directory and everything in it; ``~`` is the home directory.
    """
    never, only = settings["never"], settings["only"]
    if any(_within(directory, pattern, home) for pattern in never):
        return "never"
    if only and not any(_within(directory, pattern, home) for pattern in only):
        return "only"
    return None


def _within(directory: str, pattern: str, home: str) -> bool:
    if pattern == "~" or pattern.startswith("~/"):
        pattern = home + pattern[1:]
    pattern = pattern.rstrip("/")
    if not any(sign in pattern for sign in "*?["):
        return directory == pattern or directory.startswith(f"{pattern}/")
    from fnmatch import fnmatchcase  # 12 ms, for its regular expressions

    return fnmatchcase(directory, pattern) or fnmatchcase(directory, f"{pattern}/*")


class SettingsFile(Value):
    """A file of settings; ``compiled`` names the one that keeps what was read ("" for none)."""

    path: str
    compiled: Callable[[], str] = str


def for_all(environ: Mapping[str, str]) -> Settings:
    """Returns what the user has set for all workspaces."""
    return load([_of_user(environ)])


def for_workspace(environ: Mapping[str, str], store_directory: str) -> Settings:
    """Returns what is set for the workspace of a store."""
    path = os.path.join(store_directory, "config.toml")
    kept = os.path.join(store_directory, _COMPILED)
    return load([_of_user(environ), SettingsFile(path, lambda: kept)])


def _of_user(environ: Mapping[str, str]) -> SettingsFile:
    def kept() -> str:
        try:
            return os.path.join(takeback_home(environ), _COMPILED)
        except TakebackError:  # opening a store reports it; the settings themselves can be read
            return ""

    return SettingsFile(settings_file(environ), kept)


def settings_file(environ: Mapping[str, str]) -> str:
    """Returns the person's file of settings, which need not exist; raises UsageError.

    Variables are what whoever starts a program says: a model in front of a command, a project in
    the settings of its agent. So they count only before ``takeback init`` has recorded a file.
    """
    try:
        recorded = recorded_settings(home_named(environ))
    except UsageError:  # opening a store reports it; the settings themselves can be read
        recorded = None
    return recorded or config_file(environ)


class ReadSettings(Value):
    """What a file gives: its values, what is wrong with it, and which settings nobody knows."""

    values: dict[str, Any]
    damage: Damage | None = None
    closed: frozenset[str] = frozenset()


def load(files: Iterable[SettingsFile]) -> Settings:
    """Reads the files, a later one over an earlier one, as far as they can be read."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    damage: list[Damage] = []
    closed: frozenset[str] = frozenset()
    for file in files:
        found = _read(file)
        if found is None:
            continue
        values |= found.values
        origins |= dict.fromkeys(found.values, file.path)
        closed = (closed - found.values.keys()) | found.closed
        if found.damage is not None:
            damage.append(found.damage)
    return Settings(values, origins, tuple(damage), closed)


def _read(file: SettingsFile) -> ReadSettings | None:
    """Returns what a file gives, as far as it can be read; None if there is none."""
    try:
        os.lstat(file.path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        pass  # it may be there
    from takeback.config import compiled

    found = compiled.CompiledSettings(file.path, file.compiled)
    try:
        known = found.known()
        text = b"" if known is not None else found.text()
    except (OSError, ValueError) as error:
        from takeback.config.damage import unreadable

        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return unreadable(file.path, reason, found.last_known())
    reading = _sorted(found, known, text)
    if reading.damage is None:
        found.keep(reading.values)
    return reading


def _sorted(found: CompiledSettings, known: dict[str, Any] | None, text: bytes) -> ReadSettings:
    """Returns what is in force of what a file says: of its text, unless it is ``known``."""
    if known is not None:
        try:  # nearly always
            return ReadSettings({name: checked(name, value) for name, value in known.items()})
        except UsageError:
            pass
    from takeback.config.damage import SortedSettings

    defaults = {setting.name: setting.default for setting in SETTINGS}
    sorting, whole = SortedSettings(found.path, checked, defaults), True
    if known is None:
        import tomllib

        try:
            known = tomllib.loads(text.decode())
        except ValueError as error:
            known, whole = {}, False
            sorting.take_in_part(text.decode(errors="replace"), str(error))
    sorting.take(known)
    return sorting.reading(found.last_known, whole=whole)


def checked(name: str, value: Any) -> Any:
    """Returns the value if the setting may have it; raises UsageError."""
    setting = setting_named(name)
    ok = {
        "number": isinstance(value, (int, float))
        and not isinstance(value, bool)
        and 0 <= value < _LARGEST,
        "bytes": not isinstance(value, bool) and _are_bytes(value),
        "yes|no": isinstance(value, bool),
        "list": isinstance(value, list) and all(isinstance(item, str) for item in value),
    }.get(setting.kind, value in setting.kind.split("|"))
    if not ok:
        raise UsageError(f"{name} must be {_kind(setting)}, not {value!r}", hint=example(setting))
    return value


def _kind(setting: Setting) -> str:
    kinds = {
        "number": "a number that is not negative",
        "bytes": "a number of bytes (500MB, 2GB)",
        "list": "a list of texts",
    }
    return kinds.get(setting.kind, " or ".join(setting.kind.split("|")))


def example(setting: Setting) -> Hint:
    """Returns a call that sets a setting to its default."""
    default = setting.default
    text = ("yes" if default else "no") if isinstance(default, bool) else str(default)
    if setting.kind == "list":
        text = "PATTERN,PATTERN"
    return (f"such as {text}: ", Command("config", setting.name, text))


def setting_named(name: str) -> Setting:
    """Returns a setting; raises UsageError with the known names."""
    setting = _BY_NAME.get(name)
    if setting is None:
        from difflib import get_close_matches

        near = get_close_matches(name, _BY_NAME, n=1)
        every = "settings: " + ", ".join(_BY_NAME)
        hint = f"did you mean: {near[0]}; {every}" if near else every
        raise UsageError(f"there is no setting {name!r}", hint=hint)
    return setting
