"""Edits of agents' settings, as lines and as JSON."""

from __future__ import annotations

import os

from takeback.model.naming import ago
from takeback.visible import shown
from takeback.words.text import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from takeback.app.connect import AgentState, Connecting
    from takeback.model.agent import FileEdit
    from takeback.words.paint import Paint

_MOST_SHOWN = 40
"""How many lines of a whole file, such as our extension, are shown as a diff."""


def edit_lines(one: Connecting, paint: Paint) -> Iterator[str]:
    """Yields what would be written, as a diff."""
    from difflib import unified_diff

    for edit in one.edits:
        if not edit.changes:
            continue
        old, new = _lines(edit.before), _lines(edit.after)
        leads_to = "" if edit.real == edit.path else f" -> {shown(edit.real)}"
        yield paint.strong(f"{one.connection.title}: {shown(edit.path)}{leads_to}")
        if (edit.before is None or edit.after is None) and len(old) + len(new) > _MOST_SHOWN:
            lines = count(len(old) + len(new), "line")
            yield f"  {'a new file' if edit.before is None else 'goes'}, {lines}"
            continue
        for line in list(unified_diff(old, new, lineterm="", n=1))[2:]:
            text = f"  {shown(line)}"
            yield (
                paint.added(text)
                if line.startswith("+")
                else (paint.deleted(text) if line.startswith("-") else text)
            )


def summary_lines(one: Connecting, paint: Paint) -> Iterator[str]:
    """Yields a line for each file that would be written, or for each directory of new ones."""
    title = paint.strong(one.connection.title)
    new: dict[str, list[FileEdit]] = {}
    for edit in one.edits:
        if edit.changes and edit.before is None:
            new.setdefault(os.path.dirname(edit.path), []).append(edit)
    for edit in one.edits:
        beside = new.get(os.path.dirname(edit.path), []) if edit.before is None else []
        if not edit.changes or (beside and edit is not beside[0]):
            continue
        where = edit if len(beside) < 2 else _folder(edit)
        leads_to = "" if where.real == where.path else f" -> {shown(where.real)}"
        yield f"  {title}: {shown(where.path)}{leads_to}: {_amount(edit, beside)}"


def _folder(edit: FileEdit) -> FileEdit:
    folder, real = os.path.dirname(edit.path), os.path.dirname(edit.real)
    return edit.replace(path=folder, real=real)


def _amount(edit: FileEdit, beside: Sequence[FileEdit]) -> str:
    """Says how much of a file changes; for new files in one directory, their total length."""
    if beside:
        lines = sum(len(_lines(one.after)) for one in beside)
        files = "a new file" if len(beside) == 1 else f"{len(beside)} new files"
        return f"{files} of {count(lines, 'line')}"
    if edit.after is None:
        return "goes"
    from difflib import ndiff

    signs = [line[0] for line in ndiff(_lines(edit.before), _lines(edit.after))]
    return f"{count(signs.count('+'), 'line')} more, {signs.count('-')} less"


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode(errors="replace").splitlines()


def connected_line(one: Connecting, hindrance: str | None) -> str:
    """Says that an agent is connected, or why that has no effect yet."""
    title = one.connection.title
    if hindrance is not None:
        return f"{title}: its settings are written, but: {shown(hindrance)}."
    how = "connected" if one.changes else "already connected"
    return f"{title}: {how}. {one.connection.advice()}".rstrip()


def edits_document(planned: Sequence[Connecting], *, done: bool) -> dict[str, Any]:
    """Returns the edits as a JSON document."""
    return {
        "done": done,
        "agents": [
            {
                "agent": one.connection.name,
                "title": one.connection.title,
                "changes": one.changes,
                "files": [edit.path for edit in one.edits if edit.changes],
                "real_files": [edit.real for edit in one.edits if edit.changes],
                "advice": one.connection.advice() or None,
            }
            for one in planned
        ],
    }


def agent_lines(states: Sequence[AgentState], now: float) -> Iterator[str]:
    """Yields the agents that are heard; of the others the status itself warns."""
    for state in states:
        if state.is_heard and state.missed_since is None:
            spoke = f", last event {ago(state.last_event, now)}" if state.last_event else ""
            yield f"{state.title} is connected{spoke}"


def first_steps(states: Sequence[AgentState]) -> str:
    """Says how the first checkpoint of a directory comes about."""
    joined = [state.title for state in states if state.is_heard]
    by_hand = "make the first one by hand: takeback checkpoint"
    if not joined:
        return f"connect your agents: takeback init; or {by_hand}"
    return f"the next prompt of {' or '.join(joined)} makes the first one; or {by_hand}"


def agents_table() -> list[str]:
    """Returns what takeback can do with each agent, as the README's table."""
    from takeback.adapters import BUILT_IN, connection_of

    rows = [
        "| agent | files | by the shell too | conversation | inside it | then | tested |",
        "|---|---|---|---|---|---|---|",
    ]
    for connection in [connection_of(agent) for agent in BUILT_IN if agent.connection]:
        can = connection.capabilities
        cells = (
            f"[{connection.title}](docs/agents/{connection.name}.md)",
            can.files,
            can.shell,
            can.conversation,
            can.inside,
            can.resumes,
            can.tested,
        )
        rows.append(f"| {' | '.join(cells)} |")
    return rows
