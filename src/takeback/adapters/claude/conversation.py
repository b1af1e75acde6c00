"""A conversation as Claude Code keeps it: one JSON line per entry, each naming the one before.

    prompt 1 ── call ┬─ call ── result ── answer ┬─ prompt 2 ── answer      abandoned
                     └─ result                   └─ prompt 3 ── answer      by its own /rewind

The file only grows, so what was abandoned stays in it, and the history at a place is that place's
ancestors. Results of parallel calls hang beside the line of ancestors. Lines without a ``uuid`` are
about the session, not part of the conversation.

The agent writes a little late: at a hook the last entries before it, a turn's answer above all,
are often not in the file yet. They are looked up in what the file held later.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence

from takeback.adapters.claude.lines import LineReader, TranscriptLine, as_line, read, text, write
from takeback.model.checkpoint import Anchor, NewSession

_CARRIED = frozenset(
    (
        "agent-setting",
        "atis-latch",
        "content-replacement",
        "data-flow-incomplete",
        "data-flow-records",
        "derived-from",
        "history-suppression",
        "isolation-latch",
        "memory-mode",
        "mode",
        "permission-mode",
        "relocated",
        "repl-mode",
        "session-owner",
        "summary",
        "tools-used",
        "worktree-state",
    )
)
"""Lines about the session that are also true of a copy, as with the agent's own /branch.

Left behind are marks of where the old file ended, requests kept for inspection, the queue of
prompts, costs, titles, ties to remote services, and the agent's own file backups, which are kept
under the old id.
"""
_POINTERS = ("leafUuid", "messageId", "afterUuid")


def cut(held: bytes, anchor: Anchor, later: bytes, as_line: LineReader) -> bytes:
    """Returns the lines of the history up to a place; empty if nothing was said before it.

    ``held`` is the transcript at the time of the place, ``later`` what it held afterwards. Raises
    ValueError if the anchor's leaf is in neither.
    """
    lines = read(held, as_line)
    known = {line.id for line in lines}
    whole = held.rfind(b"\n") + 1 if later.startswith(held) else 0  # nothing is read twice
    after = [
        line
        for line in read(later[whole:], as_line)
        if line.id is not None and line.id not in known
    ]
    if anchor.leaf is not None:
        lines, kept = _up_to(anchor.leaf, lines + after)
    elif anchor.before:
        lines, kept = _before(anchor, lines, after)
    else:
        lines += _not_yet_written(lines, after, anchor.turn)
        kept = _ancestors(lines, _last(lines))
    kept |= _beside(lines, kept)
    if not any(line.speaks and line.id in kept for line in lines):
        return b""
    return b"".join(line.data + b"\n" for line in _chosen(lines, kept))


def new_session(history: bytes, *, native: str, transcript: str, title: str) -> NewSession:
    """Returns a history under a new id, with a title, beside the old transcript."""
    new = str(uuid.uuid4())
    path = os.path.join(os.path.dirname(transcript), f"{new}.jsonl")
    lines = [_renamed(line, native, new) for line in read(history, as_line)]
    if lines and title:
        lines.append(write({"type": "custom-title", "customTitle": title, "sessionId": new}))
    return NewSession(new, path, b"".join(line + b"\n" for line in lines))


def is_interrupted(tail: bytes, turn: str | None, as_line: LineReader) -> bool:
    """Tells whether the newest message is the mark that Esc leaves, in that turn."""
    newest = next((line for line in reversed(read(tail, as_line)) if line.speaks), None)
    if newest is None or not newest.is_interruption:
        return False
    whose = text(newest.record, "promptId")
    return turn is None or whose is None or whose == turn


def command_in(tail: bytes, turn: str | None, as_line: LineReader) -> str | None:
    """Returns the words of a turn that was a ``!command``."""
    for line in reversed(read(tail, as_line)):
        if line.is_shell and turn is not None and text(line.record, "promptId") == turn:
            return line.shell_words
    return None


# -- where to cut


def _up_to(leaf: str, lines: list[TranscriptLine]) -> tuple[list[TranscriptLine], set[str]]:
    if all(line.id != leaf for line in lines):
        raise ValueError(f"the transcript has no entry {leaf}")
    return lines, _ancestors(lines, leaf)


def _before(
    anchor: Anchor, lines: list[TranscriptLine], after: list[TranscriptLine]
) -> tuple[list[TranscriptLine], set[str]]:
    """Returns the lines to choose from, and the ids of those before the anchor's prompt.

    The prompt's own entry tells what it follows. If there is none, because the prompt was refused
    or the agent died, it would have followed the last entry.
    """
    own = _own_entry(anchor, lines, after)
    if own is None:
        return lines, _ancestors(lines, _last(lines))
    written = after[: after.index(own) + 1] if own in after else []
    kept = _ancestors(lines + written, own.id) - {own.id or ""}
    if own.is_taken_in:
        # What happened between the typing and the taking in is not part of the place: its files are
        # those at the typing.
        return lines, kept.intersection(line.id for line in lines if line.id)
    return lines + written, kept


def _own_entry(
    anchor: Anchor, lines: list[TranscriptLine], after: list[TranscriptLine]
) -> TranscriptLine | None:
    """Returns the entry that holds the anchor's prompt.

    It is written after its hook, so it is searched for in what came later. A prompt typed into a
    running turn has the id of that turn, or becomes a turn of its own with an id that no hook was
    given: then its words decide.
    """
    prompt = None if anchor.prompt is None else anchor.prompt.strip()

    def of_turn(some: list[TranscriptLine]) -> list[TranscriptLine]:
        return [one for one in some if _is_of(one, anchor.turn)]

    def says_it(some: list[TranscriptLine]) -> list[TranscriptLine]:
        return [one for one in some if prompt is not None and one.prompt == prompt]

    begun = of_turn(lines)
    if not begun:
        fresh = of_turn(after)
        return next(iter(says_it(fresh) or fresh), None)
    return next(iter(says_it(after) or says_it(begun)), None)


def _not_yet_written(
    lines: list[TranscriptLine], after: list[TranscriptLine], turn: str | None
) -> list[TranscriptLine]:
    """Returns the entries after the last line that still came before the place.

    They are the end of the turn. A message with calls begins another round, which changes files,
    and a person's words another step: neither is part of the place.
    """
    calling = {line.message for line in after if line.calls} - {line.message for line in lines}
    begun = any(_is_of(line, turn) for line in lines)
    found = []
    for line in after:
        if (
            (line.message is not None and line.message in calling)
            or (line.is_prompt and not _is_of(line, turn))
            or (line.is_shell and begun)  # an old version gives it no turn of its own
            or line.is_taken_in
            or line.is_interruption
            or line.is_boundary
        ):
            break
        begun = begun or _is_of(line, turn)
        found.append(line)
    return found


def _is_of(line: TranscriptLine, turn: str | None) -> bool:
    return turn is not None and line.is_prompt and line.record.get("promptId") == turn


def _last(lines: Sequence[TranscriptLine]) -> str | None:
    return next((line.id for line in reversed(lines) if line.id is not None), None)


# -- what to keep


def _ancestors(lines: Sequence[TranscriptLine], leaf: str | None) -> set[str]:
    """Returns the ids of an entry and of all before it, those before a compaction too.

    If an entry's parent is lost to a damaged line, the entry written before it takes its place,
    much as in the agent itself.
    """
    before: dict[str, str | None] = {}  # of each entry, the one written before it
    entries: dict[str, TranscriptLine] = {}
    last: str | None = None
    for line in lines:
        if line.id is not None:
            before[line.id], entries[line.id], last = last, line, line.id
    found: set[str] = set()
    while leaf is not None and leaf not in found:
        found.add(leaf)
        parent = entries[leaf].parent
        leaf = parent if parent is None or parent in entries else before[leaf]
    return found


def _beside(lines: Sequence[TranscriptLine], kept: set[str]) -> set[str]:
    """Returns what belongs to the kept entries without being an ancestor.

    That is the other blocks of the same messages, the results of their calls, what hooks noted
    on those, and the entries that a compaction carried over.
    """
    messages = {line.message for line in lines if line.id in kept} - {None}
    carried = {one for line in lines if line.id in kept for one in line.carried_over}
    found = {
        line.id for line in lines if line.id and (line.message in messages or line.id in carried)
    }
    calls = {call for line in lines if line.id in kept or line.id in found for call in line.calls}
    hanging: set[str] = set()
    for line in lines:
        if line.id is None or line.id in kept:
            continue
        noted = line.record.get("type") == "attachment" and line.parent in hanging
        if noted or calls.intersection(line.results):
            hanging.add(line.id)
    return found | hanging


def _chosen(lines: Sequence[TranscriptLine], kept: set[str]) -> Iterator[TranscriptLine]:
    """Returns the kept entries in their order, with the lines about the session that stay true.

    A damaged line stays where it was, unless it is the end.
    """
    last = max(at for at, line in enumerate(lines) if line.id in kept)
    left = {line.id for line in lines if line.id is not None and line.id not in kept}
    for at, line in enumerate(lines):
        if line.damaged:
            wanted = at < last
        elif line.id is not None:
            wanted = line.id in kept
        else:
            dangling = any(text(line.record, name) in left for name in _POINTERS)
            wanted = line.record.get("type") in _CARRIED and not dangling
        if wanted:
            yield line


def _renamed(line: TranscriptLine, native: str, new: str) -> bytes:
    """Returns a line as one of the new session.

    Words that name the old id stay as they are: the files they refer to, such as long outputs, are
    in the old session's folder.
    """
    if line.damaged:
        return line.data
    record = dict(line.record)
    for name in ("sessionId", "session_id"):
        if name in record and (line.id is not None or record[name] == native):
            record[name] = new
    record.pop("sessionKind", None)  # the copy of a background session is not one
    return write(record)
