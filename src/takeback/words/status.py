"""The status as lines of text: first where the files are, last what went wrong."""

from __future__ import annotations

from takeback.model.address import address, label_words
from takeback.model.naming import ago, time_of_day
from takeback.model.path_text import to_text
from takeback.visible import shown
from takeback.words.errors import command_line
from takeback.words.render import about, file_names, short
from takeback.words.rows import session_names
from takeback.words.text import count, quoted, shown_file, shown_path, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.capture.watch import SensitiveFiles
    from takeback.check.finding import Finding
    from takeback.store.notes import Failure
    from takeback.timeline.look import Status
    from takeback.timeline.sessions import Dirty, Standing
    from takeback.words.paint import Paint

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
