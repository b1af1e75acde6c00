"""takeback config"""

from __future__ import annotations

import os

import click

from takeback import config
from takeback.check.settings import edit_for_all, edit_for_workspace, set_setting
from takeback.cli.call import Call
from takeback.cli.options import completed_by, verb
from takeback.config import edits
from takeback.errors import NotAWorkspace, UsageError
from takeback.gate.asker import refuse_inside
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@verb("config", too_many="a list is written with commas: takeback config never '~/a,~/b'")
@click.argument("key", metavar="[KEY]", required=False, shell_complete=completed_by("settings"))
@click.argument("value", metavar="[VALUE]", required=False, shell_complete=completed_by("values"))
@click.option("--workspace", is_flag=True, help="For this workspace only, not for all.")
@click.option("--unset", is_flag=True, help="Take the setting off again.")
def command(call: Call, key: str | None, value: str | None, workspace: bool, unset: bool) -> int:
    """List the settings, show one, set one, or take one off again.

    A list is written with commas. What the workspace says counts more than what you say for
    all; nothing is read from the project itself.
    """
    if key is not None:
        config.setting_named(key)
    if unset and (key is None or value is not None):
        hint = f"takeback config --unset {key or 'KEY'}"
        raise UsageError("--unset takes off one setting, and no value", hint=hint)
    if key is not None and (unset or value is not None):
        _write(call, key, value, workspace=workspace)
    settings = _in_force(call, required=workspace)
    for setting in config.SETTINGS:
        if key in (None, setting.name):
            _print(call, setting, settings, alone=key is not None)
    return 0


def _write(call: Call, key: str, text: str | None, *, workspace: bool) -> None:
    """Sets a setting, or removes it if there is no text."""
    value = None if text is None else edits.parse_value(key, text)
    done = "taken off" if text is None else "set"
    edit = edit_for_all(os.environ, key, value)
    if workspace:
        with call.open("config", create=True, note=False) as tb:
            edit = edit_for_workspace(tb.store_directory, key, value)
    if call.dry_run:
        call.output.note(f"{key} would be {done} in {edit.path}.")
        return
    refuse_inside("a change of the settings", os.environ)
    set_setting(edit)
    call.output.note(f"{done.capitalize()} in {edit.path}.")


def _in_force(call: Call, *, required: bool) -> config.Settings:
    """Returns the settings of the workspace, or the general ones if there is none."""
    try:
        with call.open("config", note=False) as tb:
            return tb.settings
    except NotAWorkspace:
        if required:
            raise
        settings = config.for_all(os.environ)
        for damage in settings.damage:
            call.output.note(str(damage))
        return settings


def _print(call: Call, setting: config.Setting, settings: config.Settings, *, alone: bool) -> None:
    value, origin = settings[setting.name], settings.origin(setting.name)
    fields = {
        "key": setting.name,
        "value": list(value) if isinstance(value, tuple) else value,
        "origin": origin,
        "kind": setting.kind,
        "about": setting.about,
    }
    call.output.document("setting", fields)
    if alone:
        call.output.line(shown(_text(value)))
    else:
        name = f"{setting.name} = {shown(_text(value))}"
        call.output.line(f"{name:<32}  {setting.about} ({shown(origin)})")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ",".join(value)
    return str(value)
