"""The JSON documents, made from the values of the core. docs/scripting.md is their contract."""

from __future__ import annotations

from hashlib import sha256

from takeback.model.operation import Move
from takeback.model.path_text import to_text
from takeback.model.sensitive import SENSITIVE_WORD, is_sensitive
from takeback.visible import shown
from takeback.words import outcomes
from takeback.words import text as syntax
from takeback.words.text import timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from takeback.model.agent import MessagePage, PlacedMessage, Sending
    from takeback.model.checkpoint import Change, CountedChange, Resume
    from takeback.model.conflicts import Conflict, ShownHunk, TextChange
    from takeback.model.coverage import NotHeld
    from takeback.model.entries import Candidate, OwnedChange, ReviewedChange, Turn
    from takeback.model.operation import LeftAlone, Outcome, Plan
    from takeback.timeline.look import Found
    from takeback.timeline.operations import Logged
    from takeback.timeline.sessions import Node, SessionEntry
    from takeback.timeline.timeline import Shown, TimelineEntry
    from takeback.turns.making import Made
    from takeback.workspaces import KnownWorkspace

    Document = dict[str, Any]

# -- the JSON documents, made from the values of the core. docs/scripting.md is their contract


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
        {
            **file_fields(item.path),
            "reason": outcomes.left_alone(item.reason, outcomes.COMMAND_LINE),
        }
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
                "message": outcomes.sentence(refusal),
                "reason": refusal.message,
                "flag": outcomes.flag(refusal) or None,
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


# -- the documents of a conversation's messages; docs/scripting.md is their contract


def page(found: MessagePage) -> Document:
    """Returns some messages of a conversation, how many there are, and where to go on."""
    messages = [message(one) for one in found.messages]
    return {"messages": messages, "total": found.total, "next": found.next}


def message(placed: PlacedMessage) -> Document:
    said, tool = placed.message, placed.message.tool
    called = {"name": tool.name, "input": tool.input, "failed": tool.failed} if tool else None
    return {
        "number": placed.number,
        "role": said.role,
        "text": said.text,
        "cut": said.cut,
        "time": None if said.time is None else timestamp(said.time),
        "tool": called,
        "checkpoint": placed.checkpoint,
        "turn": placed.turn,
    }


def lines(placed: PlacedMessage) -> list[str]:
    """Returns a message for a terminal: who said it, before which checkpoint, and the words."""
    said, tool = placed.message, placed.message.tool
    if tool is not None:
        return [f"  {shown(tool.name)} {shown(tool.input)}{' (failed)' if tool.failed else ''}"]
    place = "" if placed.checkpoint is None else f" {placed.checkpoint}"
    turn = "" if placed.turn is None else f" turn {placed.turn}"
    words = [shown(line) for line in said.text.splitlines()]
    return ["", f"{said.role}{turn}{place}", *words, *(["..."] if said.cut else [])]


# -- reviews as documents: changed paths, and their lines with colours


MOST_FILES, MOST_LINES = 20, 2_000
"""Up to so much, all lines are shown without being asked for."""


def seen(change: Change) -> str:
    """Returns a word for what a change is: another one as soon as either side is another."""
    text = repr((change.path, change.old, change.new)).encode()
    return sha256(text).hexdigest()[:16]


def is_small(changes: Sequence[ReviewedChange]) -> bool:
    """Tells whether all lines of a review can be shown at once."""
    lines = sum((one.counted.added or 0) + (one.counted.deleted or 0) for one in changes)
    return len(changes) <= MOST_FILES and lines <= MOST_LINES


def change(number: int, one: ReviewedChange, hunks: list[Document] | None) -> Document:
    """Returns one changed path; ``number`` is its place among all of them."""
    return {
        **counted([one.counted])[0],
        "number": number,
        "seen": seen(one.change),
        "tickable": one.tickable and hunks is not None and len(hunks) > 0,
        "hunks": hunks,
    }


def hunks(text: TextChange | None, path: bytes, *, colour: bool) -> list[Document]:
    """Returns the hunks of a text, numbered as they are ticked; none of what is no text."""
    if text is None:
        return []
    made = [_hunk(text, shown, number) for number, shown in enumerate(text.shown())]
    if colour:
        _colour(made, path)
    return made


def _hunk(text: TextChange, shown: ShownHunk, number: int) -> Document:
    head = text.patch(shown).partition(b"\n")[0].decode()
    return {"number": number, "header": head, "lines": list(_lines(text, shown))}


def _lines(text: TextChange, shown: ShownHunk) -> Iterator[Document]:
    first = shown.hunks[0]
    old, new = shown.start, first.new_start - (first.old_start - shown.start)
    for one in shown.hunks:
        for _ in range(one.old_start - old):
            yield _line(" ", old, new, text.old[old])
            old, new = old + 1, new + 1
        for at in range(one.old_start, one.old_end):
            yield _line("-", at, None, text.old[at])
        for at in range(one.new_start, one.new_end):
            yield _line("+", None, at, text.new[at])
        old, new = one.old_end, one.new_end
    for _ in range(shown.end - old):
        yield _line(" ", old, new, text.old[old])
        old, new = old + 1, new + 1


def _line(kind: str, old: int | None, new: int | None, data: bytes) -> Document:
    return {
        "kind": kind,
        "old": None if old is None else old + 1,
        "new": None if new is None else new + 1,
        "text": data.removesuffix(b"\n").decode("utf-8", "replace"),
        "tokens": None,
        "no_newline": not data.endswith(b"\n"),
    }


def _colour(made: list[Document], path: bytes) -> None:
    """Cuts the lines into coloured parts; each side of a hunk is read by itself."""
    lexer = syntax.lexer_for(to_text(path).rpartition("/")[2])
    lines = [line for hunk in made for line in hunk["lines"]]
    size = sum(len(line["text"]) for line in lines)
    if lexer is None or size > syntax.MOST_TEXT:
        return
    if any(len(line["text"]) > syntax.LONGEST_LINE for line in lines):
        return
    for hunk in made:
        for without in "+-":
            side = [line for line in hunk["lines"] if line["kind"] != without]
            for line, parts in zip(
                side, syntax.spans([line["text"] for line in side], lexer), strict=True
            ):
                line["tokens"] = _tokens(line["text"], parts)


def _tokens(text: str, parts: syntax.Spans) -> list[list[str]]:
    """Returns a line in pieces, each with what it is: empty for what is nothing special."""
    found: list[list[str]] = []
    at = 0
    for start, end, part in parts:
        if start > at:
            found.append(["", text[at:start]])
        found.append([part, text[start:end]])
        at = end
    if at < len(text):
        found.append(["", text[at:]])
    return found
