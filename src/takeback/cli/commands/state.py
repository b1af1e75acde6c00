"""takeback status, doctor, config, pick: how things stand."""

from __future__ import annotations

import os

import click

from takeback import config
from takeback.check.doctor import offers
from takeback.check.finding import BROKEN, OK
from takeback.check.settings import edit_for_all, edit_for_workspace, set_setting
from takeback.cli.call import Call
from takeback.cli.options import completed_by, name_text, verb
from takeback.cli.plain_words import pick
from takeback.cli.plain_words import status as status_plain_words
from takeback.config import edits
from takeback.errors import NotAWorkspace, UsageError
from takeback.gate.asker import refuse_inside
from takeback.visible import shown
from takeback.words import status as status_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.check.finding import Finding


# -- takeback status


@verb("status", shows=("--dry-run",))
@click.option("--seen", is_flag=True, help="You have read the failures: show only later ones.")
def status_command(call: Call, seen: bool) -> int:
    """Say where the files stand, what is kept, and what went wrong."""
    return status_plain_words(call, seen=seen)


# -- takeback doctor


@verb("doctor")
@click.option("--fix", is_flag=True, help="Mend what can safely be mended.")
@click.option("--rebuild", is_flag=True, help="Make the ledger anew from the store.")
@click.option(
    "--adopt",
    metavar="[NAME]",
    type=name_text,
    is_flag=False,
    flag_value="",
    help="Take over the store of what stood here before; NAME where there are several.",
)
def doctor_command(call: Call, fix: bool, rebuild: bool, adopt: str | None) -> int:
    """Name what is wrong; with --fix mend what can be."""
    call.refuse_dry_run("doctor", hint="to look only: takeback verify, takeback status")
    from takeback.app.engine import Engine

    if adopt is not None:
        Engine.adopt(adopt)
    try:
        with call.open("doctor", note=False) as tb:
            found = tb.doctor(rebuild=rebuild, fix=fix)
    except NotAWorkspace as error:
        unopened = Engine.unopened(after=error)
        found = [*unopened.doctor(fix=fix), *offers(unopened.earlier())]
    for finding in found:
        _print_findings(call, finding)
    return 1 if any(finding.state == BROKEN for finding in found) else 0


def _print_findings(call: Call, found: Finding) -> None:
    call.output.document("finding", status_words.finding(found))
    if not (call.quiet and found.state == OK):
        call.output.lines(status_words.finding_lines(found, call.output.paint))


# -- takeback config


@verb("config", too_many="a list is written with commas: takeback config never '~/a,~/b'")
@click.argument("key", metavar="[KEY]", required=False, shell_complete=completed_by("settings"))
@click.argument("value", metavar="[VALUE]", required=False, shell_complete=completed_by("values"))
@click.option("--workspace", is_flag=True, help="For this workspace only, not for all.")
@click.option("--unset", is_flag=True, help="Take the setting off again.")
def config_command(
    call: Call, key: str | None, value: str | None, workspace: bool, unset: bool
) -> int:
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
            _print_settings(call, setting, settings, alone=key is not None)
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


def _print_settings(
    call: Call, setting: config.Setting, settings: config.Settings, *, alone: bool
) -> None:
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


# -- takeback pick


@verb("pick")
def pick_command(call: Call) -> int:
    """Look, choose, preview and take back, on one screen.

    The same as takeback without a command. Where there is no screen (TERM=dumb, or no terminal)
    it is a numbered list, and the answers are read line by line.
    """
    return pick(call)
