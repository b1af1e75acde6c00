"""Plans, outcomes and checkpoints as lines of text. Sentences; ids stand last and bare."""

from __future__ import annotations

from takeback.cli.text import age, count, shown, shown_path, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from takeback.cli.terminal import Paint
    from takeback.model.change import Change
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.operation import Operation
    from takeback.model.plan import LeftAlone, Outcome, Plan
    from takeback.ops.status import Status
    from takeback.ops.timeline import Shown, TimelineEntry

_NAMES = 3
_LINES = 20
_PROMPT = 60
_OWN_EDITS = (
    "your own edits since the last checkpoint, taken back too",
    "(undo brings them back; `takeback checkpoint` first keeps them):",
)
_VERBS = {
    "added": "create",
    "modified": "write",
    "mode": "change mode of",
    "type": "replace",
    "deleted": "delete",
}
_DONE = {"rewind": "Rewound", "undo": "Undid", "redo": "Redid"}


def about(checkpoint: Checkpoint) -> str:
    """Returns what a checkpoint was taken for, in parentheses, with a blank before; or nothing."""
    if checkpoint.label is not None:
        return f" ({shown(checkpoint.label)})"
    if checkpoint.prompt is not None and checkpoint.kind == "undo":
        return f" ({shown(checkpoint.prompt)})"
    if checkpoint.prompt is not None:
        return f' (before "{_short(checkpoint.prompt)}")'
    return ""


def _short(text: str) -> str:
    text = shown(" ".join(text.split()))
    return text if len(text) <= _PROMPT else text[: _PROMPT - 1] + "…"


def plan_lines(plan: Plan, paint: Paint, *, whole: bool) -> Iterator[str]:
    """Yields the plan: what is written, deleted, left alone, and what speaks against it."""
    yield from _change_lines(plan.writes, paint, whole=whole)
    yield from _change_lines(plan.deletes, paint, whole=whole)
    if plan.outside:
        yield from _OWN_EDITS
        yield from _listed([shown_path(path) for path in plan.outside], whole=whole)
    if plan.others:
        yield "changed by another session since:"
        yield from _listed([shown_path(path) for path in plan.others], whole=whole)
    if plan.saved:
        yield "not in any checkpoint, saved first:"
        yield from _listed([shown_path(path) for path in plan.saved], whole=whole)
    yield from left_alone_lines(plan.left_alone, "left alone")
    for warning in plan.warnings:
        yield paint.warning(shown(warning))
    for refusal in plan.refused:
        flag = f"; to do it all the same: {refusal.flag}" if refusal.flag else ""
        yield paint.deleted(f"refused: {shown(refusal.message)}{flag}")


def _change_lines(changes: Sequence[Change], paint: Paint, *, whole: bool) -> Iterator[str]:
    lines = []
    for change in changes:
        tail = "/" if (change.new or change.old or _NOTHING).is_directory else ""
        line = f"{_VERBS[change.kind]} {shown_path(change.path)}{tail}"
        lines.append(paint.deleted(line) if change.kind == "deleted" else paint.added(line))
    return _listed(lines, whole=whole)


class _Nothing:
    is_directory = False


_NOTHING = _Nothing()


def _listed(lines: Sequence[str], *, whole: bool) -> Iterator[str]:
    most = len(lines) if whole or len(lines) <= _LINES + 1 else _LINES
    for line in lines[:most]:
        yield f"  {line}"
    if len(lines) > most:
        yield f"  +{len(lines) - most} more (-v lists all)"


def left_alone_lines(items: Sequence[LeftAlone], heading: str) -> Iterator[str]:
    """Yields every path that is left as it is, with the reason; never shortened."""
    if items:
        yield f"{heading}:"
    for item in items:
        yield f"  {shown_path(item.path)}: {shown(item.reason)}"


def question(kind: str, plan: Plan, of: Operation | None) -> str:
    """Returns the question that a plan is asked with."""
    files = count(plan.files, "file")
    if of is None:
        return f"{kind.capitalize()} {files} to {plan.target.id}{about(plan.target)}?"
    return f"{kind.capitalize()} the {of.kind} to {of.target} ({files})?"


def outcome_lines(outcome: Outcome, of: Operation | None) -> Iterator[str]:
    """Yields what was done and how it is taken back."""
    if outcome.operation is None:
        if outcome.whole:
            yield f"Nothing to do: the files are already at {outcome.target.id}."
        else:
            yield f"Nothing was changed: no path could go to {outcome.target.id}."
        yield from left_alone_lines(outcome.left_alone, "Left alone")
        return
    files = count(outcome.files, "file")
    if of is None:
        yield f"{_DONE[outcome.kind]} {files} to {outcome.target.id}{about(outcome.target)}."
    else:
        yield f"{_DONE[outcome.kind]} the {of.kind} to {of.target} ({files})."
    yield from left_alone_lines(outcome.left_alone, "Left alone")
    if not outcome.verified:
        yield "The files are not exactly at the target: something changed them meanwhile."
    back = "redo" if outcome.kind == "undo" else "undo"
    yield f"Take it back: takeback {back}"


def entry_line(entry: TimelineEntry, paint: Paint, now: float) -> str:
    """Returns one line of the log."""
    checkpoint = entry.checkpoint
    words = [paint.id(checkpoint.id), f"{age(checkpoint.time, now):>4}", checkpoint.kind]
    if checkpoint.label is not None:
        words.append(paint.strong(shown(checkpoint.label)))
    if checkpoint.prompt is not None:
        words.append(f'"{_short(checkpoint.prompt)}"')
    words += _names([change.path for change in entry.changes])
    if entry.added or entry.deleted:
        words.append(f"{paint.added(f'+{entry.added}')} {paint.deleted(f'-{entry.deleted}')}")
    if not checkpoint.complete:
        words.append(paint.warning("incomplete"))
    return "  ".join(words)


def _names(paths: Sequence[bytes]) -> list[str]:
    if not paths:
        return ["no changes"]
    names = ", ".join(shown_path(path) for path in paths[:_NAMES])
    more = f" +{len(paths) - _NAMES} more" if len(paths) > _NAMES else ""
    return [names + more]


def operation_line(operation: Operation, paint: Paint, now: float) -> str:
    """Returns one line of the operation log."""
    words = [
        paint.id(operation.id),
        f"{age(operation.time, now):>4}",
        operation.kind,
        f"to {operation.target}",
        f"{operation.written} written, {operation.deleted} deleted",
    ]
    if operation.left_alone:
        words.append(f"{operation.left_alone} left alone")
    if operation.paths:
        words.append("only " + " ".join(shown_path(path) for path in operation.paths))
    if operation.recovered:
        words.append("recovered")
    return "  ".join(words)


def shown_lines(found: Shown, paint: Paint, now: float) -> Iterator[str]:
    """Yields one checkpoint in full."""
    checkpoint = found.entry.checkpoint
    yield f"checkpoint {paint.id(checkpoint.id)}"
    yield f"  made      {age(checkpoint.time, now)}{_moment(checkpoint.time)}"
    yield f"  kind      {checkpoint.kind}"
    for name, value in (
        ("label", checkpoint.label),
        ("prompt", checkpoint.prompt),
        ("branch", checkpoint.branch),
        ("head", checkpoint.head),
    ):
        if value is not None:
            yield f"  {name:<9} {shown(value)}"
    yield f"  session   {shown(checkpoint.session)}"
    yield f"  snapshot  {checkpoint.snapshot}"
    yield f"  files     {checkpoint.files:,}"
    yield f"  complete  {'yes' if checkpoint.complete else 'no'}"
    yield "changed since the checkpoint before:" if found.entry.changes else "no changes"
    for change in found.entry.changes:
        counts = ""
        if change.added is not None or change.deleted is not None:
            added, deleted = f"+{change.added or 0}", f"-{change.deleted or 0}"
            counts = f"  {paint.added(added)} {paint.deleted(deleted)}"
        yield f"  {change.kind:<8}  {shown_path(change.path)}{counts}"
    if found.not_held:
        yield "not held:"
    for item in found.not_held:
        yield f"  {shown_path(item.path)}: {item.reason}"


def _moment(time: float) -> str:
    from datetime import datetime

    return datetime.fromtimestamp(time).astimezone().strftime(" (%Y-%m-%d %H:%M:%S %z)")


def status_lines(found: Status, paint: Paint, now: float) -> Iterator[str]:
    """Yields what is kept, where, and what went wrong."""
    checkpoints = count(found.checkpoints, "checkpoint")
    yield f"{paint.strong('◆')} {checkpoints} / {count(found.snapshots, 'snapshot')}"
    yield f"{size(found.bytes)} in the store, {size(found.growth)} of it from the last day"
    yield f"workspace {shown_path(found.root)}"
    yield f"store     {shown(found.store)}"
    if found.newest is not None:
        newest = found.newest
        yield f"newest    {paint.id(newest.id)}, {age(newest.time, now)}{about(newest)}"
    if found.can_undo or found.can_redo:
        yield f"{found.can_undo} to undo, {found.can_redo} to redo"
    if found.over_budget:
        yield paint.warning(
            f"The store is larger than its budget of {size(found.budget)} (store_budget_mb)."
        )
    if found.interrupted:
        yield paint.warning(
            "An operation was interrupted here. Finish it or roll it back: takeback undo"
        )
    yield from _failures(found.failures, paint)


def _failures(failures: Iterable[str], paint: Paint) -> Iterator[str]:
    lines = list(failures)
    if lines:
        yield paint.warning(f"{count(lines, 'failure')}, newest last:")
    for line in lines[-5:]:
        yield f"  {shown(line)}"
