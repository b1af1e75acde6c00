"""Lets Claude Code's hooks and its transcript go on with a session of a made timeline."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from takeback.app.engine import Engine

NATIVE = "0000-bench"
"""The agent's own id of the first session of a timeline, which is Claude Code's."""
_ANSWER = "I looked at the callers first, then changed the function and ran the tests. " * 4
_OUTPUT = "12 passed in 0.3 s\n" * 10


class ClaudeSession:
    """One session, with the transcript of all its turns; the agent plays more of them."""

    def __init__(self, project: Path, environ: dict[str, str]) -> None:
        self._project = project
        self._environ = environ
        self._file = project.parent / f"{NATIVE}.jsonl"
        self._last: str | None = None
        with Engine.open(project, environ=environ) as tb:
            found = [one.checkpoint for one in reversed(tb.checkpoints()) if one.turn is not None]
        with self._file.open("w") as file:
            for one in found:
                file.writelines(self._lines(str(one.turn_id), one.prompt or ""))

    def _lines(self, turn: str, prompt: str) -> list[str]:
        """Returns what the agent writes of a turn: a prompt, a call, its result, an answer."""
        call = f"{turn}-call"
        used = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "make test"}}
        result = {"type": "tool_result", "tool_use_id": call, "content": _OUTPUT}
        answer = {"type": "text", "text": _ANSWER}
        return [
            self._line(f"{turn}-0", "user", prompt, turn),
            self._line(f"{turn}-1", "assistant", [used], turn),
            self._line(f"{turn}-2", "user", [result], turn),
            self._line(f"{turn}-3", "assistant", [answer], turn),
        ]

    def _line(self, id: str, role: str, content: object, turn: str) -> str:
        record: dict[str, Any] = {
            "type": role,
            "uuid": id,
            "parentUuid": self._last,
            "sessionId": NATIVE,
            "promptId": turn,
            "timestamp": "2026-10-14T12:00:00.000Z",
            "message": {"id": id, "role": role, "content": content},
        }
        self._last = id
        return json.dumps(record) + "\n"

    def play(self, turn: str, prompt: str) -> None:
        """Plays a turn that writes a file."""
        self._tell("UserPromptSubmit", prompt_id=turn, prompt=prompt)
        (self._project / "bench.txt").write_text(f"{prompt}\n")
        with self._file.open("a") as file:
            file.writelines(self._lines(turn, prompt))
        self._tell("Stop", prompt_id=turn)

    def _tell(self, event: str, **more: str) -> None:
        told = {
            "hook_event_name": event,
            "session_id": NATIVE,
            "transcript_path": str(self._file),
            "cwd": str(self._project),
            **more,
        }
        subprocess.run(
            [sys.executable, "-I", "-m", "takeback", "hook", "claude"],
            cwd=self._project,
            env=self._environ,
            input=json.dumps(told).encode(),
            stdout=subprocess.DEVNULL,
            check=True,
        )
