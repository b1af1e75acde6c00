"""A session of Claude Code as its hooks tell it, short, without the program."""

from __future__ import annotations

import json
from pathlib import Path

from takeback import Takeback

NATIVE = "0f1e2d3c-4b5a-4678-9abc-def012345678"


def play_claude_turn(workspace: Path, transcript: Path, prompt: str, change: Path) -> None:
    """Plays one turn that has a history before it and writes a file."""
    transcript.parent.mkdir(parents=True, exist_ok=True)
    transcript.write_text(_line("u1", None, "user", "hello") + _line("a1", "u1", "assistant", "hi"))
    with Takeback.open(workspace) as tb:
        session = tb.session(agent="claude", native=NATIVE)
        told = {"turn": "p2", "transcript": str(transcript)}
        session.tell("prompt", prompt=prompt, **told)
        change.write_bytes(b"by claude\n")
        with transcript.open("a") as file:
            file.write(_line("u2", "a1", "user", prompt) + _line("a2", "u2", "assistant", "done"))
        session.tell("turn_end", **told)


def _line(id: str, parent: str | None, kind: str, words: str) -> str:
    message = {"role": kind, "content": [{"type": "text", "text": words}]}
    entry = {"type": kind, "uuid": id, "parentUuid": parent, "sessionId": NATIVE}
    return json.dumps({**entry, "message": message}) + "\n"
