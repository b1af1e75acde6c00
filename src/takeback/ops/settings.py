"""Settings: says what is wrong with them, and sets or removes one value of one file.

Nothing else writes a settings file.
"""

from __future__ import annotations

import os

from takeback import durable
from takeback.config import edits
from takeback.model.value import Value
from takeback.ops.failures import Translated
from takeback.ops.finding import BROKEN, OK, Finding
from takeback.paths import config_file

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
    return SettingEdit(os.path.realpath(config_file(environ)), name, value)


def edit_for_workspace(store_directory: str, name: str, value: Any) -> SettingEdit:
    """Returns the edit of the settings of one workspace."""
    return SettingEdit(os.path.join(store_directory, "config.toml"), name, value)


def set_setting(edit: SettingEdit) -> None:
    """Writes the file; other lines and comments stay. Raises WriteFailed or UsageError."""
    with Translated("writing the settings"):
        durable.make_directories(os.path.dirname(edit.path))
        text = edits.written(edit.path, edit.name, edit.value)
        durable.replace_file(edit.path, text.encode())


def damaged(settings: Settings) -> list[Finding]:
    """Says what is wrong with the files of settings; nothing if all is well."""
    return [Finding("settings", BROKEN, str(one), one.hint) for one in settings.damage]


def check(settings: Settings) -> list[Finding]:
    """Says what is wrong with the files of settings, or that they read."""
    return damaged(settings) or [Finding("settings", OK, "their files read as settings")]
