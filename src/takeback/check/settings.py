"""Settings: says what is wrong with them, and sets or removes one value of one file."""

from __future__ import annotations

import os

from takeback import durable
from takeback.check.finding import BROKEN, OK, Finding
from takeback.config import edits, settings_file
from takeback.context import Translated
from takeback.errors import Command
from takeback.model.value import Value
from takeback.paths import config_file, home_named
from takeback.store.location import workspace_around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from takeback.config import Settings


class SettingEdit(Value):
    """A value that is to be set in a file; None removes it there."""

    path: str
    name: str
    value: Any


def edit_for_all(environ: Mapping[str, str], name: str, value: Any) -> SettingEdit:
    """Returns the edit of the person's own settings; their file may be a link to another."""
    return SettingEdit(os.path.realpath(settings_file(environ)), name, value)


def edit_for_workspace(store_directory: str, name: str, value: Any) -> SettingEdit:
    """Returns the edit of the settings of one workspace."""
    return SettingEdit(os.path.join(store_directory, "config.toml"), name, value)


def set_setting(edit: SettingEdit) -> None:
    """Writes the file; other lines and comments stay. Raises WriteFailed or UsageError."""
    with Translated("writing the settings"):
        durable.make_directories(os.path.dirname(edit.path))
        text = edits.written(edit.path, edit.name, edit.value)
        durable.replace_file(edit.path, text.encode())


def damaged(settings: Settings, environ: Mapping[str, str]) -> list[Finding]:
    """Says what is wrong with the files of settings; nothing if all is well."""
    found = [Finding("settings", BROKEN, str(one), one.hint) for one in settings.damage]
    named, meant = config_file(environ), settings_file(environ)
    if named != meant and os.path.lexists(named):
        message = f"{named} is not read: takeback init recorded {meant}"
        found.append(Finding("settings", BROKEN, message, ("to take it: ", Command("init"))))
    around = workspace_around(home_named(environ), (os.path.dirname(meant),))
    if around is not None and os.path.lexists(meant):
        message = f"{meant} lies in the workspace {around}: agents that work there can change it"
        hint = "keep your settings outside every workspace"
        found.append(Finding("settings", BROKEN, message, hint))
    return found


def check(settings: Settings, environ: Mapping[str, str]) -> list[Finding]:
    """Says what is wrong with the files of settings, or that they read."""
    return damaged(settings, environ) or [Finding("settings", OK, "their files read as settings")]
