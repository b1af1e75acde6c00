"""The settings of agents whose hooks are JSON: Claude Code, Codex and Gemini CLI write them alike.

"hooks": {"Stop": [{"matcher": "...", "hooks": [{"type": "command", "command": "..."}]}]}
"""

from __future__ import annotations

from takeback.adapters import connecting, jsonc
from takeback.adapters.launcher import command_for, is_command
from takeback.errors import Refused
from takeback.model.connection import FileEdit
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Hook(Value):
    """One event that takeback wants to be told; ``timeout`` in the agent's own unit."""

    event: str
    timeout: int
    matcher: str | None = None


class Off(Value):
    """The setting by which a person turns all hooks of an agent off."""

    path: tuple[str, ...]
    value: bool


def connected(
    path: str,
    hooks: Sequence[Hook],
    agent: str,
    home: str,
    *,
    off: Off | None = None,
    named: bool = False,
) -> FileEdit:
    """Returns the edit that adds our hooks.

    Those that are already there are left alone, whatever time limit a person has given them; those
    that call the launcher of another home, or for other tools, are replaced. ``named`` gives each
    hook a name, as Gemini requires. Raises Refused if the file is not JSON, or if it turns hooks
    off: that switch is not ours.
    """
    before = connecting.read(path)
    command = command_for(agent, home)
    try:
        text = (before or b"").decode()
        if off is not None and _are_off(_settings(text), off):
            what = f"{path} turns hooks off ({'.'.join(off.path)})"
            raise Refused(what, hint="turn them on, then run it again")
        for hook in hooks:
            present = _groups(_settings(text), hook.event)
            current = [g for g in present if _is_current(g, hook, command)]
            text = _without(text, hook.event, agent, home, keep=current)
            if not current:
                text = jsonc.with_item(text, ["hooks", hook.event], _group(hook, command, named))
    except ValueError as error:
        raise _broken(path, error) from None
    return FileEdit(path, before, text.encode())


def disconnected(path: str, agent: str, home: str) -> FileEdit:
    """Returns the edit that removes our hooks and leaves everything else.

    Raises Refused if the file is not JSON and seems to call us.
    """
    before = connecting.read(path)
    if before is None:
        return FileEdit(path, None, None)
    try:
        text = before.decode()
        hooks = _table(_settings(text), "hooks")
        for event in hooks:
            text = _without(text, event, agent, home)
    except ValueError as error:
        if b"/bin/hook" not in before:
            return FileEdit(path, before, before)
        raise _broken(path, error) from None
    return FileEdit(path, before, text.encode())


def is_connected(
    path: str, hooks: Sequence[Hook], agent: str, home: str, *, off: Off | None = None
) -> bool:
    """Tells whether all our hooks are in the file, and call the launcher of this home.

    False if the file turns hooks off.
    """
    command = command_for(agent, home)
    try:
        present = _settings((connecting.read(path) or b"").decode())
    except ValueError:
        return False
    if off is not None and _are_off(present, off):
        return False
    return all(
        any(_is_current(group, hook, command) for group in _groups(present, hook.event))
        for hook in hooks
    )


def line_of_no_json(path: str) -> int | None:
    """Returns the first line that a strict parser rejects; None if it accepts the file."""
    from json import JSONDecodeError, loads

    try:
        loads((connecting.read(path) or b"{}").decode("utf-8-sig"))
    except JSONDecodeError as error:
        return error.lineno
    except UnicodeDecodeError:
        return 1
    return None


def _group(hook: Hook, command: str, named: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "command", "command": command, "timeout": hook.timeout}
    if named:
        entry = {"name": "takeback", **entry}
    return {**({} if hook.matcher is None else {"matcher": hook.matcher}), "hooks": [entry]}


def _settings(text: str) -> dict[str, Any]:
    found = jsonc.parse(text).plain()
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")
    return found


def _are_off(settings: dict[str, Any], off: Off) -> bool:
    found: Any = settings
    for key in off.path:
        found = found.get(key) if isinstance(found, dict) else None
    return found is off.value


def _table(settings: dict[str, Any], name: str) -> dict[str, Any]:
    found = settings.get(name)
    return found if isinstance(found, dict) else {}


def _groups(settings: dict[str, Any], event: str) -> list[Any]:
    found = _table(settings, "hooks").get(event)
    return found if isinstance(found, list) else []


def _commands(group: Any) -> list[Any]:
    """Returns the commands of a group of hooks, None for each that has none."""
    hooks = group.get("hooks") if isinstance(group, dict) else None
    entries = hooks if isinstance(hooks, list) else []
    return [entry.get("command") if isinstance(entry, dict) else None for entry in entries]


def _is_current(group: Any, hook: Hook, command: str) -> bool:
    return command in _commands(group) and group.get("matcher") == hook.matcher


def _without(text: str, event: str, agent: str, home: str, keep: Sequence[Any] = ()) -> str:
    """Removes our entries from an event's groups, and the groups that have no others."""

    def ours(entry: Any) -> bool:
        command = entry.get("command") if isinstance(entry, dict) else None
        return isinstance(command, str) and is_command(command, agent, home)

    def all_ours(group: Any) -> bool:
        entries = group.get("hooks") if isinstance(group, dict) else None
        return isinstance(entries, list) and bool(entries) and all(map(ours, entries))

    text = jsonc.without_items(text, ["hooks", event], lambda g: g not in keep and all_ours(g))
    for number, group in enumerate(_groups(_settings(text), event)):
        if group not in keep and _commands(group):
            text = jsonc.without_items(text, ["hooks", event, number, "hooks"], ours)
    return text


def _broken(path: str, error: ValueError) -> Refused:
    return Refused(f"{path} cannot be edited: {error}", hint="mend it, then run it again")
