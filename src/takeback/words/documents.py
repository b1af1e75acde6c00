"""The JSON documents, made from the values of the core. docs/scripting.md is their contract."""

from __future__ import annotations

from takeback.model.operation import Move
from takeback.model.sensitive import SENSITIVE_WORD, is_sensitive
from takeback.words import waivers
from takeback.words.text import timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from takeback.model.agent import Sending
    from takeback.model.checkpoint import Change, CountedChange, Resume
    from takeback.model.coverage import NotHeld
    from takeback.model.merge import Conflict
    from takeback.model.operation import LeftAlone, Outcome, Plan
    from takeback.model.timeline import Candidate, OwnedChange, Turn
    from takeback.timeline.look import Found
    from takeback.timeline.operations import Logged
    from takeback.timeline.sessions import Node, SessionEntry
    from takeback.timeline.timeline import Shown, TimelineEntry
    from takeback.turns.checkpoint import Made
    from takeback.workspaces import KnownWorkspace

    Document = dict[str, Any]


def path_fields(path: bytes, name: str = "path") -> Document:
    """Returns the path as text, and its bytes in base64 beside it if it is not UTF-8.

    The root of the workspace is a dot.
    """
    try:
        return {name: path.decode() or "."}
    except UnicodeDecodeError:
        from base64 import b64encode

        return {name: path.decode("utf-8", "replace"), f"{name}_b64": b64encode(path).decode()}


def file_fields(path: bytes) -> Document:
    """Returns the path of a file, with ``sensitive`` beside it if it usually holds a secret."""
    fields = path_fields(path)
    return {**fields, SENSITIVE_WORD: True} if is_sensitive(path) else fields


def path_list(paths: Iterable[bytes]) -> list[Document]:
    return [file_fields(path) for path in paths]


def reasons(items: Iterable[LeftAlone | NotHeld]) -> list[Document]:
    return [
        {**file_fields(item.path), "reason": waivers.left_alone(item.reason, waivers.COMMAND_LINE)}
        for item in items
    ]


def counted(changes: Iterable[CountedChange]) -> list[Document]:
    return [
        {**file_fields(c.path), "kind": c.kind, "added": c.added, "deleted": c.deleted}
        for c in changes
    ]


def owned(changes: Iterable[OwnedChange]) -> list[Document]:
    """Returns changes with who made each."""
    return [{**counted([change])[0], "who": change.who} for change in changes]


def planned(changes: Iterable[Change]) -> list[Document]:
    return [{**file_fields(change.path), "kind": change.kind} for change in changes]


def _with_lines(made: Plan, changes: Sequence[Change]) -> list[Document]:
    """Returns the changes of a plan, with the lines that each adds and removes."""
    lines = (made.lines.get(change.path, (None, None)) for change in changes)
    return [
        {**one, "added": added, "deleted": deleted}
        for one, (added, deleted) in zip(planned(changes), lines, strict=True)
    ]


def planned_turn(found: Turn) -> Document:
    """Returns a turn that a plan names."""
    return {
        "id": found.id,
        "session": found.session,
        "turn": found.number,
        "prompt": found.prompt,
    }


def timeline_entry(entry: TimelineEntry) -> Document:
    """Returns one line of the log."""
    checkpoint = entry.checkpoint
    return {
        "id": checkpoint.id,
        "snapshot": checkpoint.snapshot,
        "session": checkpoint.session,
        "agent": checkpoint.agent,
        "turn": checkpoint.turn,
        "kind": checkpoint.kind,
        "prompt": checkpoint.prompt,
        "label": checkpoint.label,
        "label_by": checkpoint.label_by,
        "time": timestamp(checkpoint.time),
        "changed": owned(entry.shown),
        "added": entry.added,
        "deleted": entry.deleted,
        "complete": checkpoint.complete,
        "late": checkpoint.late,
        "below": checkpoint.below,
        "amid": checkpoint.amid,
        "expired": _moment(checkpoint.expired),
        "abandoned": entry.abandoned,
        "tests": _tests(entry),
        "state": None if entry.turn is None else entry.turn.state,
        "outside": path_list(change.path for change in entry.outside),
    }


def _tests(entry: TimelineEntry) -> Document | None:
    known = entry.tests
    return None if known is None else {"passed": known.passed, "command": known.command}


def _moment(time: float | None) -> str | None:
    return None if time is None else timestamp(time)


def shown_checkpoint(shown: Shown) -> Document:
    checkpoint = shown.entry.checkpoint
    return {
        **timeline_entry(shown.entry),
        "files": checkpoint.files,
        "not_held": reasons(shown.not_held),
        "branch": checkpoint.branch,
        "head": checkpoint.head,
        "tools": [{"name": name, "times": times} for name, times in shown.tools],
        "beyond": path_list(shown.beyond),
        "steps": [timeline_entry(step) for step in shown.steps],
        "conversation": [{"path": part.path, "bytes": part.size} for part in checkpoint.transcript],
    }


def made(found: Made, *, changed: int, ms: int) -> Document:
    """Returns a checkpoint that was made by hand, and how long that took."""
    checkpoint = found.checkpoint
    return {
        "id": checkpoint.id,
        "snapshot": checkpoint.snapshot,
        "session": checkpoint.session,
        "turn": checkpoint.turn,
        "label": checkpoint.label,
        "label_by": checkpoint.label_by,
        "complete": checkpoint.complete,
        "files": checkpoint.files,
        "changed": changed,
        "skipped": reasons(found.skipped),
        "ms": ms,
    }


def operation(entry: Logged) -> Document:
    """Returns one line of the operation log."""
    done = entry.operation
    head = {"id": done.id, "kind": done.kind, "time": timestamp(done.time)}
    effects = _effects(done) if isinstance(done, Move) else {}
    return {**head, **effects, "next": entry.next, "machine": done.machine, "here": entry.here}


def _effects(done: Move) -> Document:
    return {
        "session": done.session,
        "target": done.target,
        "before": done.before,
        "after": done.after,
        "paths": path_list(done.paths),
        "of": done.of,
        "written": done.written,
        "deleted": done.deleted,
        "left_alone": done.left_alone,
        "recovered": done.recovered,
        "scope": done.scope,
        "child": done.child,
        "about": done.about,
        "directory": done.directory,
    }


def plan(made: Plan) -> Document:
    return {
        "target": made.goal.id,
        "written": _with_lines(made, made.writes),
        "deleted": _with_lines(made, made.deletes),
        "left_alone": reasons(made.left_alone),
        "outside": path_list(made.outside),
        "others": path_list(made.others),
        "warnings": list(made.warnings),
        "refused": [
            {
                "code": refusal.code,
                "message": waivers.sentence(refusal),
                "reason": refusal.message,
                "flag": waivers.flag(refusal) or None,
                "waivers": list(refusal.waivers),
            }
            for refusal in made.refused
        ],
        "saved": path_list(made.saved),
        "scope": made.scope,
        "about": made.goal.about,
        "prompt": made.prompt,
        "session": made.session,
        "turns": [planned_turn(one) for one in made.turns],
        "goes_on": made.goes_on,
        "beyond": path_list(made.beyond),
        "kind": made.kind,
        "conflicts": [_conflict(one) for one in made.conflicts],
        "edits": path_list(made.edits),
        "sending": None if made.sending is None else sending(made.sending),
        "whose": None if made.whose is None else whose(made.whose),
    }


def whose(session: Candidate) -> Document:
    """Returns the session that was taken because none was named."""
    return {"session": session.id, "agent": session.agent, "prompt": session.prompt or None}


def sending(made: Sending) -> Document:
    """Returns what of a conversation is sent to whom, to become a summary."""
    return {
        "way": made.way,
        "prompts": made.prompts,
        "characters": made.characters,
        "kept": made.kept,
        "by": made.by,
        "argv": list(made.argv),
    }


def _conflict(found: Conflict) -> Document:
    """Returns a path that both sides changed, with the lines that are disputed."""
    return {
        **file_fields(found.path),
        "kind": found.kind,
        "choices": list(found.choices),
        "renamed_from": None if found.origin is None else path_fields(found.origin),
        "sessions": list(found.sessions),
        "hunks": [
            {
                "line": one.line,
                "base": one.base.decode("utf-8", "replace"),
                "ours": one.ours.decode("utf-8", "replace"),
                "theirs": one.theirs.decode("utf-8", "replace"),
            }
            for one in found.hunks
        ],
    }


def outcome(done: Outcome) -> Document:
    return {
        "operation": done.operation,
        "undo": done.undo,
        "written": path_list(done.written),
        "deleted": path_list(done.deleted),
        "left_alone": reasons(done.left_alone),
        "verified": done.verified,
        "recovered": done.recovered,
        "session": done.session or done.goal.session,
        "resume": resume(done.resume),
        "prompt": done.prompt,
        "target": done.goal.id,
        "scope": done.scope,
        "conversation_error": done.conversation_error,
        "directory": done.directory,
        "commit": done.commit,
        "beyond": path_list(done.beyond),
        "edits": path_list(done.edits),
    }


def resume(line: Resume | None) -> Document | None:
    """Returns how to continue a session."""
    if line is None:
        return None
    return {
        "argv": list(line.argv),
        "cwd": line.cwd,
        "in_tui": line.in_tui,
        "from_event": line.from_event,
        "registered": line.registered,
    }


def session(entry: SessionEntry) -> Document:
    """Returns one line of ``sessions``."""
    found = entry.session
    return {
        "id": found.id,
        "agent": found.agent,
        "native": found.native,
        "directory": found.directory,
        "transcript": found.transcript,
        "parent": found.parent,
        "origin": found.origin,
        "origin_workspace": found.root,
        "began": timestamp(found.began),
        "last": timestamp(found.last),
        "turns": entry.turns,
        "checkpoints": entry.checkpoints,
        "newest": found.newest,
        "state": None if entry.newest is None else entry.newest.state,
        "prompt": None if entry.newest is None else entry.newest.prompt,
        "disagrees": entry.disagrees,
        "below": entry.below,
    }


def workspace(found: KnownWorkspace, *, there: bool) -> Document:
    """Returns one workspace of the user."""
    return {"id": found.id, **path_fields(found.root), "there": there}


def node(found: Node) -> Document:
    """Returns a session or a turn of the tree with all below it."""
    turn = found.turn
    session = found.session
    about: Document = {
        "node": "session",
        "id": session.id,
        "agent": session.agent,
        "parent": session.parent,
    }
    if turn is not None:
        about = {
            "node": "turn",
            "id": turn.id,
            "turn": turn.number,
            "kind": turn.kind,
            "prompt": turn.prompt,
            "state": turn.state,
            "time": timestamp(turn.began),
            "changed": owned(found.changes),
            "amid": found.amid,
            "expired": _moment(found.expired),
            "abandoned": found.abandoned,
        }
    return {
        **about,
        "here": found.here,
        "elsewhere": [{"directory": f.directory, "session": f.session} for f in found.elsewhere],
        "children": [node(child) for child in found.children],
    }


def found(item: Found, command: list[str] | None) -> Document:
    """Returns one line of ``search``."""
    checkpoint = item.checkpoint
    return {
        "id": checkpoint.id,
        "session": checkpoint.session,
        "agent": checkpoint.agent,
        "turn": checkpoint.turn,
        "kind": checkpoint.kind,
        "time": timestamp(checkpoint.time),
        "what": item.what,
        "text": item.text,
        "place": item.place.id,
        "expired": _moment(item.place.expired),
        "change": item.change,
        **({} if item.path is None else file_fields(item.path)),
        "command": command,
    }
