"""The JSON documents, made from the values of the core. docs/scripting.md is their contract."""

from __future__ import annotations

from takeback.cli.text import timestamp
from takeback.model.path_text import to_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from takeback.model.change import Change, CountedChange
    from takeback.model.coverage import NotHeld
    from takeback.model.operation import Operation
    from takeback.model.plan import LeftAlone, Outcome, Plan
    from takeback.ops.status import Status
    from takeback.ops.timeline import Shown, TimelineEntry

    Document = dict[str, Any]


def path_fields(path: bytes, name: str = "path") -> Document:
    """Returns the path as text, and its bytes in base64 beside it if it is not UTF-8."""
    try:
        return {name: path.decode()}
    except UnicodeDecodeError:
        from base64 import b64encode

        return {name: path.decode("utf-8", "replace"), f"{name}_b64": b64encode(path).decode()}


def path_list(paths: Iterable[bytes]) -> list[Document]:
    return [path_fields(path) for path in paths]


def reasons(items: Iterable[LeftAlone | NotHeld]) -> list[Document]:
    return [{**path_fields(item.path), "reason": item.reason} for item in items]


def counted(changes: Iterable[CountedChange]) -> list[Document]:
    return [
        {**path_fields(c.path), "kind": c.kind, "added": c.added, "deleted": c.deleted}
        for c in changes
    ]


def planned(changes: Iterable[Change]) -> list[Document]:
    return [{**path_fields(change.path), "kind": change.kind} for change in changes]


def timeline_entry(entry: TimelineEntry) -> Document:
    """Returns one line of the log."""
    checkpoint = entry.checkpoint
    return {
        "id": checkpoint.id,
        "snapshot": checkpoint.snapshot,
        "session": checkpoint.session,
        "agent": None,
        "turn": checkpoint.turn,
        "kind": checkpoint.kind,
        "prompt": checkpoint.prompt,
        "label": checkpoint.label,
        "time": timestamp(checkpoint.time),
        "changed": counted(entry.changes),
        "added": entry.added,
        "deleted": entry.deleted,
        "complete": checkpoint.complete,
    }


def shown_checkpoint(shown: Shown) -> Document:
    checkpoint = shown.entry.checkpoint
    return {
        **timeline_entry(shown.entry),
        "files": checkpoint.files,
        "not_held": reasons(shown.not_held),
        "branch": checkpoint.branch,
        "head": checkpoint.head,
    }


def operation(done: Operation) -> Document:
    return {
        "id": done.id,
        "kind": done.kind,
        "session": done.session,
        "time": timestamp(done.time),
        "target": done.target,
        "before": done.before,
        "after": done.after,
        "paths": path_list(done.paths),
        "of": done.of,
        "written": done.written,
        "deleted": done.deleted,
        "left_alone": done.left_alone,
        "recovered": done.recovered,
    }


def plan(made: Plan) -> Document:
    return {
        "target": made.target.id,
        "written": planned(made.writes),
        "deleted": planned(made.deletes),
        "left_alone": reasons(made.left_alone),
        "outside": path_list(made.outside),
        "others": path_list(made.others),
        "warnings": list(made.warnings),
        "refused": [
            {"code": refusal.code, "message": refusal.message, "flag": refusal.flag or None}
            for refusal in made.refused
        ],
        "saved": path_list(made.saved),
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
        "session": done.target.session,
        "resume": None,
        "prompt": None,
        "target": done.target.id,
    }


def status(found: Status) -> Document:
    return {
        "checkpoints": found.checkpoints,
        "snapshots": found.snapshots,
        "sessions": found.sessions,
        "bytes": found.bytes,
        "growth": found.growth,
        **path_fields(to_bytes(found.store), "store"),
        **path_fields(found.root, "workspace"),
        "budget": found.budget,
        "over_budget": found.over_budget,
        "newest": found.newest.id if found.newest is not None else None,
        "can_undo": found.can_undo,
        "can_redo": found.can_redo,
        "interrupted": found.interrupted,
        "failures": list(found.failures),
        "agents": [],
    }
