"""Scribe for takeback: what its hooks say, and its sessions, which are files of JSON lines.

{"turn": "t1", "by": "person", "text": "..."}       one line for each thing that was said
"""

import os
import uuid

from takeback.agents import (
    Agent,
    AgentEvent,
    Generic,
    NewSession,
    Resume,
    events,
    fields,
    json_lines_in,
)

agent = Agent(
    name="scribe",
    adapter="takeback_scribe:adapter",
    connection="takeback_scribe.connection:connection",
    session_variable="SCRIBE_SESSION",
)

_KINDS = {
    "started": events.SESSION_START,
    "asked": events.PROMPT,
    "worked": events.ROUND_END,
    "answered": events.TURN_END,
    "closed": events.SESSION_END,
}


class Scribe(Generic):
    """Fulfils takeback.ports.Adapter; what is the same as for any program is inherited."""

    name = "scribe"
    starts_by_id = False

    def sessions_root(self, environ):
        return os.path.join(environ["HOME"], ".scribe")

    def parse(self, payload, environ):
        kind = _KINDS.get(fields.required(payload, "what"))
        if kind is None:
            return None
        return AgentEvent(
            kind=kind,
            agent=self.name,
            session=fields.required(payload, "session"),
            directory=fields.required(payload, "directory"),
            transcript=fields.text(payload, "file"),
            turn=fields.text(payload, "turn"),
            prompt=fields.text(payload, "text") if kind == events.PROMPT else None,
            process=fields.number(payload, "pid"),
        )

    def cut(self, parts, anchor, later):
        lines = json_lines_in(b"".join(parts))
        turns = [line.record.get("turn") for line in lines]
        if anchor.before and anchor.turn in turns:  # else it was not written yet
            lines = lines[: turns.index(anchor.turn)]
        return b"".join(line.raw for line in lines)

    def new_session(self, history, *, native, transcript, title, now):
        new = str(uuid.uuid4())
        return NewSession(new, os.path.join(os.path.dirname(transcript), f"{new}.jsonl"), history)

    def resume(self, native, directory, moved=None):
        known = fields.is_uuid(native)  # any other id could be an option of the command
        return Resume(("scribe", f"--session={native}") if known else (), directory)

    def start(self, directory):
        return Resume(("scribe",), directory)


adapter = Scribe()
