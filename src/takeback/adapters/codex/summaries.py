"""Summaries in a Codex thread: one more message in the person's name, between two turns.

The first turn of a thread also holds what Codex tells the model about its surroundings. That is
not part of what was said, and a thread that begins with a summary needs it, too.
"""

from __future__ import annotations

from takeback.adapters import json_lines
from takeback.adapters.codex.conversation import META, RolloutLine, lines_of, numbered, written_line
from takeback.model.agent import Headless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_OFF = (
    "apps",
    "browser_use",
    "computer_use",
    "goals",
    "hooks",
    "image_generation",
    "multi_agent",
    "plugins",
    "shell_tool",
    "skill_search",
    "sleep_tool",
    "tool_suggest",
    "unified_exec",
    "view_image",
)
"""Whatever offers a tool. apply_patch and request_user_input cannot be switched off: the first
writes nothing in a sandbox that is read-only, and nobody is there to answer the second."""


class CodexSummaries:
    """Implements ``ports.Summaries``."""

    headless = Headless(
        "codex",
        (
            "exec",
            "--ephemeral",
            "--skip-git-repo-check",
            *("--sandbox", "read-only"),
            *("-c", 'approval_policy="never"'),
            *("-c", 'web_search="disabled"'),
            *("-c", "mcp_servers={}"),
            *(word for name in _OFF for word in ("--disable", name)),
            *("--color", "never"),
            "-",
        ),
    )

    def rest(self, whole: bytes, head: bytes) -> bytes:
        lines, before = lines_of(whole), [one for one in lines_of(head) if one.kind != META]
        said = [line for line in lines if line.kind != META]
        if not all(map(_is_same, before, said)) or len(before) > len(said):
            raise ValueError("it is on another branch")
        opening = _opening(lines) if before else lines[: len(lines) - len(said)]
        return _joined([*opening, *said[len(before) :]])

    def put(self, kept: bytes, summary: str, *, first: bool, whole: bytes, now: float) -> bytes:
        lines = lines_of(kept) or _opening(lines_of(whole))
        content = [{"type": "input_text", "text": summary}]
        message = {"type": "message", "role": "user", "content": content}
        entry = {"timestamp": json_lines.timestamp(now), "type": "response_item"}
        begun = (at for at, line in enumerate(lines) if line.kind == "event_msg" or line.is_said)
        at = next(begun, len(lines)) if first else len(lines)
        lines.insert(at, written_line({**entry, "payload": message}))
        return _joined(numbered(lines))


def _is_same(one: RolloutLine, other: RolloutLine) -> bool:
    """Tells whether two lines say the same; those of a fork name another thread."""
    if one.kind != other.kind or one.event != other.event:
        return False
    return one.kind != "response_item" or one.payload == other.payload


def _opening(lines: Sequence[RolloutLine]) -> list[RolloutLine]:
    """Returns what comes before anything is said, without the marks of the turn that it is in."""
    end = next((at for at, line in enumerate(lines) if line.is_said), len(lines))
    return [line for line in lines[:end] if line.kind != "event_msg"]


def _joined(lines: Sequence[RolloutLine]) -> bytes:
    return b"".join(line.raw for line in lines)


summaries = CodexSummaries()
