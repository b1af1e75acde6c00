"""A conversation of Qwen Code that was cut, as a session of its own."""

from __future__ import annotations

import os
import uuid

from takeback.adapters import json_lines
from takeback.adapters.claude.connection import project_folder
from takeback.adapters.claude.lines import TranscriptLine, read
from takeback.adapters.json_lines import JsonLine
from takeback.adapters.qwen.lines import as_line
from takeback.model.checkpoint import NewSession

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

_LEFT_BEHIND = (
    "branch_checkpoint",
    "custom_title",
    "file_history_snapshot",
    "parent_session",
    "session_source",
    "turn_result",
)
"""What is true of the old session only, as with the agent's own /branch: titles, ties, places in
it, and the agent's own file backups, which are kept under the old id."""


def written_early(held: bytes, prompt: str, later: bytes) -> TranscriptLine | None:
    """Returns a prompt's own entry if it was written before its hook was called.

    So it is behind an editor (``qwen --acp``); in a terminal it comes afterwards, also if the same
    words stand before it already.
    """
    lines = read(held, as_line)
    last = next((line for line in reversed(lines) if line.speaks), None)
    if last is None or last.prompt != prompt.strip():
        return None
    known = {line.id for line in lines}
    after = (line for line in read(later, as_line) if line.speaks and line.id not in known)
    following = next(after, None)
    return None if following is not None and following.prompt == last.prompt else last


def new_session(history: bytes, *, transcript: str, title: str, now: float) -> NewSession:
    """Returns a history under a new id, with a title, beside the old transcript.

    Each entry names the one before it, so those that follow one that is left behind get another.
    """
    new = str(uuid.uuid4())
    path = os.path.join(os.path.dirname(transcript), f"{new}.jsonl")
    records = list(_linked(history, new))
    if records and title:
        last = records[-1]
        records.append(
            {
                "uuid": str(uuid.uuid4()),
                "parentUuid": last.get("uuid"),
                "sessionId": new,
                "timestamp": json_lines.timestamp(now),
                "type": "system",
                "subtype": "custom_title",
                "provenance": "system",
                "cwd": last.get("cwd"),
                "version": last.get("version"),
                "systemPayload": {"customTitle": title, "titleSource": "manual"},
            }
        )
    return NewSession(new, path, b"".join(map(json_lines.written, records)))


def moved_to(new: NewSession, directory: str) -> NewSession:
    """Returns a new session as one of another directory: there its file is, and each entry says so.

    The folder is beside that of the old directory:  projects/OLD/chats  and  projects/NEW/chats
    """
    chats = os.path.dirname(new.path)
    projects = os.path.dirname(os.path.dirname(chats))
    folder = os.path.join(projects, project_folder(directory), os.path.basename(chats))
    place = os.fsencode(directory).decode(errors="replace")
    records = (line.record for line in json_lines.read_all(new.data, JsonLine) if line.record)
    data = b"".join(json_lines.written({**record, "cwd": place}) for record in records)
    return NewSession(new.native, os.path.join(folder, os.path.basename(new.path)), data)


def _linked(history: bytes, new: str) -> Iterator[Mapping[str, Any]]:
    before, last = None, None
    for line in json_lines.read_all(history, JsonLine):
        record = line.record
        stays = record.get("type") == "system" and record.get("subtype") in _LEFT_BEHIND
        if not record or stays:
            continue
        if record.get("uuid") != last:  # an entry may come in several pieces
            before, last = last, record.get("uuid")
        yield {**record, "parentUuid": before, "sessionId": new}
