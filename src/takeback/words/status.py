"""The present state, as lines and as JSON: files, store, agents, what doctor found."""

from __future__ import annotations

import os

from takeback.check.finding import BROKEN, OK
from takeback.model.address import address, label_words
from takeback.model.naming import ago, time_of_day
from takeback.model.path_text import to_bytes, to_text
from takeback.visible import shown
from takeback.words import earlier
from takeback.words.choices import command_line
from takeback.words.documents import file_fields, path_fields, path_list, planned, session
from takeback.words.listing import session_names
from takeback.words.outcomes import about, file_names, short
from takeback.words.text import count, quoted, shown_file, shown_path, size, timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from takeback.app.connect import AgentState, Connecting
    from takeback.capture.watching import SensitiveFiles
    from takeback.check.check import Verified
    from takeback.check.finding import Finding
    from takeback.check.walk import Problem
    from takeback.model.agent import FileEdit
    from takeback.model.entries import Earlier
    from takeback.store.notes import Failure
    from takeback.timeline.look import Status
    from takeback.timeline.sessions import Dirty, Standing
    from takeback.words.text import Paint

    Document = dict[str, Any]

# -- what ``doctor`` and ``verify`` found, as documents and as lines of text


def verified(found: Verified) -> Document:
    """Returns what ``verify`` says, as a document."""
    return {
        "checkpoints": found.checkpoints,
        "objects": found.objects,
        "problems": [_problem(problem) for problem in found.problems],
    }


def _problem(found: Problem) -> Document:
    return {
        "what": found.what,
        "detail": found.detail,
        "checkpoint": found.checkpoint,
        "paths": path_list(found.paths),
    }


def problem_lines(found: Verified, checked: str) -> Iterator[str]:
    """Yields how many problems there are, then each."""
    yield f"Checked {checked}: {count(found.problems, 'problem')}."
    for problem in found.problems:
        yield f"  {shown(problem.what)}: {shown(problem.detail)}"


def finding(found: Finding) -> Document:
    """Returns one thing that ``doctor`` checked, as a document."""
    return {
        "about": found.about,
        "state": found.state,
        "message": found.message,
        "hint": command_line(found.hint),
    }


def finding_lines(found: Finding, paint: Paint) -> Iterator[str]:
    """Yields one thing that ``doctor`` checked, and below it what to do."""
    colored = {OK: paint.added, BROKEN: paint.deleted}.get(found.state, paint.warning)
    yield f"{colored(f'{found.state:<6}')}  {shown(found.about)}: {shown(found.message)}"
    if found.hint:
        yield f"        {command_line(found.hint)}"


# -- edits of agents' settings, as lines and as JSON


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


# -- the status as lines of text: first where the files are, last what went wrong


_SHOWN = 5
_NAMED = 3
_OFF_BY = {
    "off": "takeback on",
    "never": "the setting never names it (takeback config never)",
    "only": "the setting only does not name it (takeback config only)",
    "TAKEBACK": "TAKEBACK=off is set in this shell",
}


def status_lines(found: Status, paint: Paint, now: float) -> Iterator[str]:
    """Yields where the files are, what changed since, who is working, what is kept, what failed."""
    if found.standing is None and found.never is None:
        yield paint.strong(f"No checkpoints yet of {shown_path(found.root)}.")
    elif found.standing is not None:
        yield paint.strong(f"The files stand {place_words(found.standing, now)}.")
        if found.dirty is not None:
            yield from _dirty_lines(found.dirty, paint, works=bool(found.running))
    names = {} if found.standing is None else session_names(found.standing.sessions)
    for turn in found.running:
        who = names.get(turn.session, shown(turn.agent))
        doing = "has background tasks running since" if turn.background else "is working on"
        named = ", ".join(f'"{short(command)}"' for command in turn.commands[:_NAMED])
        yield f'{who} {doing} "{short(turn.prompt)}"{f" ({named})" if named else ""}'
    if found.recording_off_by is not None:
        yield paint.warning(recording_off(found.recording_off_by))
    if found.standing is not None:
        yield from _kept_lines(found, paint, now)
    yield from _trouble_lines(found, paint)
    yield from _failure_lines(found.failures, paint, now)


def place_words(standing: Standing, now: float) -> str:
    """Returns a place as people say it: ``after turn 6 of claude 2a8f, 21:39``."""
    checkpoint, turn = standing.checkpoint, standing.turn
    when = time_of_day(checkpoint.time, now)
    whose = session_names(standing.sessions).get(checkpoint.session, shown(checkpoint.session))
    if turn is not None:
        which = f"turn {turn.number}" if turn.number is not None else f"a {turn.kind} command"
        return f"{standing.place} {which} of {whose}, {when}"
    if checkpoint.label is not None:
        return f'at "{label_words(checkpoint)}", {when}'
    if checkpoint.agent is not None:
        return f"at the {checkpoint.kind} of {whose}, {when}"
    return f"at the checkpoint made by hand, {when}"


def recording_off(by: str) -> str:
    """Says that nothing is recorded, and what to do about it."""
    return f"Recording is off here: {_OFF_BY[by]}"


def _dirty_lines(found: Dirty, paint: Paint, *, works: bool) -> Iterator[str]:
    if found.unknown is not None:
        yield f"Whether anything changed since is not known: {shown(found.unknown)}"
    elif not found.changes:
        yield "Nothing changed since."
    else:
        how = "changed since the last checkpoint" if works else "changed by hand since"
        names = file_names([change.path for change in found.changes])
        yield paint.warning(f"{count(found.changes, 'file')} {how}: {names}")


def _kept_lines(found: Status, paint: Paint, now: float) -> Iterator[str]:
    checkpoints = count(found.checkpoints, "checkpoint")
    expired = f", {found.expired:,} expired" if found.expired else ""
    yield f"{paint.strong('◆')} {checkpoints} / {count(found.snapshots, 'snapshot')}{expired}"
    yield _sizes(found)
    yield from _heaviest(found)
    yield f"workspace {shown_path(found.root)}"
    yield f"store     {shown(found.store)}"
    if found.newest is not None:
        newest = found.newest
        where = about(address(newest, now))
        yield f"newest    {paint.id(newest.id)}, {ago(newest.time, now)}{where}"
    yield from _sensitive_lines(found.sensitive)
    if found.can_undo or found.can_redo:
        yield f"{found.can_undo} to undo, {found.can_redo} to redo"


def _sensitive_lines(found: SensitiveFiles) -> Iterator[str]:
    if found.held:
        yield f"sensitive {count(found.held, 'file')} kept: {_some(found.held)}"
        yield "          leave them out from now on: takeback config sensitive skip"
    if found.left_out:
        yield f"sensitive {count(found.left_out, 'path')} left out: {_some(found.left_out)}"
        yield "          what was captured of them before stays until it is purged: takeback purge"


def _some(paths: Sequence[bytes]) -> str:
    more = f" +{len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(map(shown_path, paths[:_NAMED])) + more


def _sizes(found: Status) -> str:
    """Returns the size of the store in parts that add up."""
    rest = size(found.bytes - found.snapshot_bytes)
    young = "all" if found.growth == found.snapshot_bytes else size(found.growth)
    snapshots = f"snapshots {size(found.snapshot_bytes)} (last day: {young})"
    return f"{size(found.bytes)} in the store: {snapshots}, index {rest}"


def _heaviest(found: Status) -> Iterator[str]:
    """Names what takes most of the store, and what to do about it."""
    for one in found.heaviest:
        versions = count(one.versions, "version")
        yield f"mostly    {shown_file(one.path)}, {versions}: {size(one.bytes)}"
    if found.heaviest:
        pattern = quoted(to_text(found.heaviest[0].path))
        yield (
            f"          keep it out from now on: takeback config exclude {pattern}; "
            f"drop old turns: takeback prune; remove every version: takeback purge {pattern}"
        )


def _trouble_lines(found: Status, paint: Paint) -> Iterator[str]:
    for entry in found.disagree:
        yield paint.warning(
            f"The files went to {shown(entry.disagrees or '')}; "
            f"{entry.session.id} is still at turn {entry.turns}, and its model will be told."
        )
    if found.waiting:
        waiting = count(found.waiting, "event")
        how = "the next checkpoint does it"
        if found.is_first_left:
            how = (
                "no agent waits for the first capture any more; it does it, or the next checkpoint"
            )
        yield paint.warning(f"{waiting} not yet recorded; {how}.")
    if found.is_at_floor:
        yield paint.warning(
            f"What no sweep drops takes {size(found.floor)}, more than {size(found.budget)} "
            "(max_bytes); what keeps it: takeback prune --dry-run"
        )
    elif found.over_budget:
        yield paint.warning(
            f"The store is larger than {size(found.budget)} (max_bytes): takeback prune"
        )
    for one in found.warnings:
        yield paint.warning(warning(one))
    if found.interrupted:
        yield paint.warning(
            "An operation was interrupted here. Finish it or roll it back: takeback undo"
        )


def warning(found: Finding) -> str:
    """Says what is wrong and what to do about it, on one line."""
    hint = command_line(found.hint)
    return f"{_sentence(found.message)}{f'; {hint}' if hint else ''}"


def _sentence(text: str) -> str:
    return shown(text[:1].upper() + text[1:])


def _failure_lines(failures: Sequence[Failure], paint: Paint, now: float) -> Iterator[str]:
    if not failures:
        return
    number = count(failures, "failure") + (", newest last" if len(failures) > 1 else "")
    yield paint.warning(f"{number}; once you have read this: takeback status --seen")
    for failure in failures[-_SHOWN:]:
        yield f"  {_when(failure.stamp, now)}{shown(failure.text)}"


def _when(stamp: str, now: float) -> str:
    """Returns the local time of a failure, followed by two blanks."""
    from datetime import datetime

    if not stamp:
        return ""
    try:
        return f"{time_of_day(datetime.fromisoformat(stamp).timestamp(), now)}  "
    except ValueError:  # a line that somebody else wrote
        return f"{shown(stamp)} "


# -- the JSON documents of the present state: the store, the files, the agents


def status(found: Status) -> Document:
    return {
        "checkpoints": found.checkpoints,
        "snapshots": found.snapshots,
        "expired": found.expired,
        "sessions": found.sessions,
        "bytes": found.bytes,
        "growth": found.growth,
        **(path_fields(to_bytes(found.store), "store") if found.store else {"store": None}),
        **path_fields(found.root, "workspace"),
        "not_a_workspace": None if found.never is None else found.never.message,
        "budget": found.budget,
        "heaviest": [
            {**file_fields(one.path), "versions": one.versions, "bytes": one.bytes}
            for one in found.heaviest
        ],
        "warnings": [
            {"about": one.about, "message": one.message, "hint": command_line(one.hint)}
            for one in found.warnings
        ],
        "over_budget": found.over_budget,
        "floor": found.floor if found.is_at_floor else None,
        "newest": found.newest.id if found.newest is not None else None,
        "can_undo": found.can_undo,
        "can_redo": found.can_redo,
        "interrupted": found.interrupted,
        "failures": [failure.line for failure in found.failures],
        "waiting": found.waiting,
        "running": [
            {
                "session": turn.session,
                "agent": turn.agent,
                "prompt": turn.prompt,
                "background": turn.background,
                "commands": list(turn.commands),
            }
            for turn in found.running
        ],
        "disagree": [session(entry) for entry in found.disagree],
        "snapshot_bytes": found.snapshot_bytes,
        "here": None if found.standing is None else here(found.standing),
        "dirty": dirty(found.dirty),
        "sensitive": path_list(found.sensitive.held),
        "sensitive_left_out": path_list(found.sensitive.left_out),
        "recording": found.recording_off_by is None,
        "recording_off_by": found.recording_off_by,
    }


def whole(found: Status, agents: Sequence[AgentState], before: Sequence[Earlier]) -> Document:
    """Returns all that ``status`` tells: of the store, the agents, and what was here before."""
    return {
        **status(found),
        "earlier": [earlier.document(one) for one in before],
        "agents": [agent(one) for one in agents],
    }


def here(standing: Standing) -> Document:
    """Returns the place that the files are at."""
    checkpoint = standing.checkpoint
    return {
        "id": checkpoint.id,
        "place": standing.place,
        "session": checkpoint.session,
        "turn": None if standing.turn is None else standing.turn.number,
        "time": timestamp(checkpoint.time),
        "label": checkpoint.label,
        "label_by": checkpoint.label_by,
    }


def dirty(found: Dirty | None) -> list[Document] | None:
    """Returns what changed by hand; None if that was not, or could not be, checked."""
    return None if found is None or found.unknown is not None else planned(found.changes)


def agent(state: AgentState) -> Document:
    """Returns whether an agent is connected, and since when it has worked without us."""
    last, missed = state.last_event, state.missed_since
    return {
        "agent": state.agent,
        "connected": state.connected,
        "last_event": timestamp(last) if last else None,
        "missed_since": timestamp(missed) if missed else None,
        "hindrance": state.hindrance,
    }
