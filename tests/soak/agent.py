"""An agent that works by a script: tells what Claude Code's hooks do, and writes transcripts."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any

from takeback.events import Heard, hear
from tests.support.agent import speaker

_KEPT_FOR = 30 * 86_400.0
"""So long the real agent keeps its transcripts, by default."""


class Agent:
    """One agent at a time in one directory, session after session."""

    def __init__(self, root: str, home: Path) -> None:
        self._root = root
        self._place = home / ".claude" / "projects" / root.replace("/", "-")
        self._place.mkdir(parents=True)
        self._used: dict[str, float] = {}
        self._speaker = speaker("claude")
        self.native = ""
        self._turn = self._leaf = None

    _turn: str | None
    _leaf: str | None

    @property
    def transcript(self) -> Path:
        return self._place / f"{self.native}.jsonl"

    # -- sessions

    def start(self, now: float) -> Heard:
        """Begins a session of its own."""
        self.native, self._leaf = str(uuid.uuid4()), None
        self.transcript.touch()
        self._used[self.native] = now
        return self._tell("SessionStart", source="startup")

    def resume(self, native: str, now: float) -> Heard:
        """Goes on with a session that is there, as ``claude --resume`` does."""
        self.native = native
        lines = self.transcript.read_text().splitlines()
        ids = [json.loads(line).get("uuid") for line in lines]
        self._leaf = next((id for id in reversed(ids) if id), None)
        self._used[native] = now
        return self._tell("SessionStart", source="resume")

    def end(self) -> Heard:
        return self._tell("SessionEnd", reason="prompt_input_exit")

    def tidy(self, now: float) -> None:
        """Removes old transcripts, as the real one does."""
        for native, used in list(self._used.items()):
            if used < now - _KEPT_FOR and native != self.native:
                (self._place / f"{native}.jsonl").unlink(missing_ok=True)
                del self._used[native]

    # -- a turn; the transcript is written after the hook, as with the real one

    def ask(self, words: str, now: float) -> Heard:
        """Takes a prompt in."""
        self._turn = str(uuid.uuid4())
        self._used[self.native] = now
        heard = self._tell("UserPromptSubmit", prompt=words)
        self._say("user", [{"type": "text", "text": words}])
        return heard

    def before(self, path: str) -> Heard:
        """Tells that a tool is about to change a file."""
        return self._tell("PreToolUse", **_call("Edit", path))

    def after(self, calls: list[tuple[str, str]], said: str) -> Heard:
        """Tells that all calls of a message are answered."""
        ids = [f"toolu_{uuid.uuid4().hex[:12]}" for _ in calls]
        used = [
            {"type": "tool_use", "id": id, "name": name, "input": {"file_path": path}}
            for id, (name, path) in zip(ids, calls, strict=True)
        ]
        self._say("assistant", [{"type": "text", "text": said}, *used])
        results = [{"type": "tool_result", "tool_use_id": id, "content": said} for id in ids]
        self._say("user", results)
        return self._tell("PostToolBatch", tool_calls=[_call(*call) for call in calls])

    def subagent(self, path: str) -> Heard:
        """Tells what a subagent did."""
        return self._tell("PostToolUse", agent_id="helper", **_call("Write", path))

    def stop(self, answer: str) -> Heard:
        """Ends the turn."""
        self._say("assistant", [{"type": "text", "text": answer}])
        return self._tell("Stop", stop_hook_active=False)

    # -- how

    def _tell(self, event: str, **fields: Any) -> Heard:
        payload = {
            "hook_event_name": event,
            "session_id": self.native,
            "transcript_path": str(self.transcript),
            "cwd": self._root,
            "prompt_id": self._turn,
            **fields,
        }
        return hear(self._speaker, lambda: payload)

    def _say(self, kind: str, content: list[dict[str, Any]]) -> None:
        id = str(uuid.uuid4())
        entry = {
            "type": kind,
            "uuid": id,
            "parentUuid": self._leaf,
            "sessionId": self.native,
            "promptId": self._turn,
            "message": {"role": kind, "content": content},
        }
        with open(self.transcript, "a") as file:
            file.write(json.dumps(entry) + os.linesep)
        self._leaf = id


def _call(name: str, path: str) -> dict[str, Any]:
    given = {"command": path} if name == "Bash" else {"file_path": path}
    return {"tool_name": name, "tool_input": given}
