"""The settings of agents whose hooks are JSON: Claude Code, Codex and Gemini CLI write them alike.

"hooks": {"Stop": [{"matcher": "...", "hooks": [{"type": "command", "command": "..."}]}]}
"""

from __future__ import annotations

from takeback.adapters import connecting, jsonc
from takeback.adapters.connecting import FileEdit
from takeback.adapters.launcher import command_for
from takeback.errors import Refused
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Hook(Value):
    """One event that takeback wants to hear of; ``timeout`` in the agent's own unit."""

    event: str
    timeout: int
    matcher: str | None = None


def connected(
    path: str, hooks: Sequence[Hook], agent: str, home: str, *, named: bool = False
) -> FileEdit:
    """Returns the edit that adds our hooks; events that have them already are left alone.

    ``named`` gives each hook a name, as Gemini wants it. Raises Refused if the file is not JSON.
    """
    before = connecting.read(path)
    command = command_for(agent, home)
    try:
        text = (before or b"").decode()
        present = jsonc.parse(text).plain()
        for hook in hooks:
            if any(_is_ours(group, agent) for group in _groups(present, hook.event)):
                continue
            entry: dict[str, Any] = {"type": "command", "command": command, "timeout": hook.timeout}
            if named:
                entry = {"name": "takeback", **entry}
            group = {} if hook.matcher is None else {"matcher": hook.matcher}
            text = jsonc.with_item(text, ["hooks", hook.event], {**group, "hooks": [entry]})
    except ValueError as error:
        message = f"{path} cannot be edited: {error}"
        raise Refused(message, hint="mend it, then run it again") from None
    return FileEdit(path, before, text.encode() if text else before)


def disconnected(path: str, agent: str) -> FileEdit:
    """Returns the edit that takes our hooks out and leaves everything else."""
    before = connecting.read(path)
    if before is None:
        return FileEdit(path, None, None)
    try:
        text = before.decode()
        present = jsonc.parse(text).plain()
        events = list(present.get("hooks", {})) if isinstance(present, dict) else []
        for event in events:
            text = jsonc.without_items(text, ["hooks", event], lambda g: _is_ours(g, agent))
    except (ValueError, AttributeError):
        return FileEdit(path, before, before)
    return FileEdit(path, before, text.encode())


def is_connected(path: str, hooks: Sequence[Hook], agent: str) -> bool:
    """Tells whether every hook of ours is in the file."""
    try:
        present = jsonc.parse((connecting.read(path) or b"").decode()).plain()
    except ValueError:
        return False
    return all(any(_is_ours(g, agent) for g in _groups(present, h.event)) for h in hooks)


def _groups(present: Any, event: str) -> list[Any]:
    hooks = present.get("hooks") if isinstance(present, dict) else None
    found = hooks.get(event) if isinstance(hooks, dict) else None
    return found if isinstance(found, list) else []


def _is_ours(group: Any, agent: str) -> bool:
    """Tells whether all hooks of a group call our launcher, wherever its home is."""
    hooks = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(hooks, list) or not hooks:
        return False
    commands = [h.get("command") if isinstance(h, dict) else None for h in hooks]
    return all(isinstance(c, str) and _calls_launcher(c, agent) for c in commands)


def _calls_launcher(command: str, agent: str) -> bool:
    from shlex import split

    try:
        words = split(command)
    except ValueError:
        return False
    return len(words) == 2 and words[0].endswith("/bin/hook") and words[1] == agent
