"""The settings of agents whose hooks are JSON: Claude Code, Codex and Gemini CLI write them alike.

"hooks": {"Stop": [{"matcher": "...", "hooks": [{"type": "command", "command": "..."}]}]}

``command`` is for a shell; Claude Code starts it itself if ``args`` are beside it, which saves the
shell.
"""

from __future__ import annotations

from takeback.adapters import connecting, jsonc
from takeback.adapters.launcher import command_for, is_command, launcher_path
from takeback.errors import Refused
from takeback.model.agent import FileEdit
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Hook(Value):
    """One event that takeback wants to be told; ``timeout`` in the agent's own unit.

    ``words`` come after the agent's name. ``formerly`` is the matcher of an earlier release, with
    which an agent is connected too.
    """

    event: str
    timeout: int
    matcher: str | None = None
    words: tuple[str, ...] = ()
    formerly: str | None = None


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
    by_itself: bool = False,
) -> FileEdit:
    """Returns the edit that adds our hooks.

    Those that are already there are left alone, whatever time limit a person has given them; those
    that call the launcher of another home, or for other tools, are replaced. ``named`` gives each
    hook a name, as Gemini requires; with ``by_itself`` the agent starts them without a shell.
    Raises Refused if the file is not JSON, or if it turns hooks off: that switch is not ours.
    """
    before = connecting.read(path)
    try:
        text = (before or b"").decode()
        if off is not None and _are_off(_settings(text), off):
            what = f"{path} turns hooks off ({'.'.join(off.path)})"
            raise Refused(what, hint="turn them on, then run it again")
        for hook in hooks:
            present = _groups(_settings(text), hook.event)
            call = _call(hook, agent, home, by_itself)
            current = [g for g in present if _is_current(g, hook, call)]
            text = _without(text, hook.event, agent, home, keep=current)
            if not current:
                text = jsonc.with_item(text, ["hooks", hook.event], _group(hook, call, named))
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
    try:
        present = _settings((connecting.read(path) or b"").decode())
    except ValueError:
        return False
    if off is not None and _are_off(present, off):
        return False
    return all(
        any(_calls_us(group, hook, agent, home) for group in _groups(present, hook.event))
        for hook in hooks
    )


def calls(settings: dict[str, Any]) -> list[str]:
    """Returns every command that the hooks of some settings call, as written for a shell."""
    events = [found for found in _table(settings, "hooks").values() if isinstance(found, list)]
    return [_command(entry) for groups in events for group in groups for entry in _entries(group)]


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


def _call(hook: Hook, agent: str, home: str, by_itself: bool) -> dict[str, Any]:
    """Returns the fields that say what is called.

    A version of the agent that does not know ``args`` runs ``command`` alone, by a shell: for one
    that a shell would take apart, all of it is written for a shell.
    """
    path = launcher_path(home)
    if not by_itself or command_for(agent, home) != f"{path} {agent}":
        return {"command": command_for(agent, home, *hook.words)}
    return {"command": path, "args": [agent, *hook.words]}


def _group(hook: Hook, call: dict[str, Any], named: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "command", **call, "timeout": hook.timeout}
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


def _entries(group: Any) -> list[dict[str, Any]]:
    """Returns the hooks of a group."""
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return [entry for entry in hooks if isinstance(entry, dict)] if isinstance(hooks, list) else []


def _command(entry: dict[str, Any]) -> str:
    """Returns what a hook calls, as it would be written for a shell; empty for other kinds."""
    from shlex import join

    command, args = entry.get("command"), entry.get("args")
    if not isinstance(command, str) or "args" not in entry:
        return command if isinstance(command, str) else ""
    return join([command, *map(str, args if isinstance(args, list) else [args])])


def _is_current(group: Any, hook: Hook, call: dict[str, Any]) -> bool:
    called = [{k: v for k, v in e.items() if k in ("command", "args")} for e in _entries(group)]
    return call in called and group.get("matcher") == hook.matcher


def _calls_us(group: Any, hook: Hook, agent: str, home: str) -> bool:
    """Tells whether a group calls this home's launcher for an event, in whatever form."""
    if not any(is_command(_command(entry), agent, home, others=False) for entry in _entries(group)):
        return False
    return group.get("matcher") in (hook.matcher, hook.formerly or hook.matcher)


def _without(text: str, event: str, agent: str, home: str, keep: Sequence[Any] = ()) -> str:
    """Removes our entries from an event's groups, and the groups that have no others."""

    def ours(entry: Any) -> bool:
        return isinstance(entry, dict) and is_command(_command(entry), agent, home)

    def all_ours(group: Any) -> bool:
        entries = group.get("hooks") if isinstance(group, dict) else None
        return isinstance(entries, list) and bool(entries) and all(map(ours, entries))

    text = jsonc.without_items(text, ["hooks", event], lambda g: g not in keep and all_ours(g))
    for number, group in enumerate(_groups(_settings(text), event)):
        if group not in keep and _entries(group):
            text = jsonc.without_items(text, ["hooks", event, number, "hooks"], ours)
    return text


def _broken(path: str, error: ValueError) -> Refused:
    return Refused(f"{path} cannot be edited: {error}", hint="mend it, then run it again")
