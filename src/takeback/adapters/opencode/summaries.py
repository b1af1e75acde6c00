"""Summaries in a conversation of opencode, or of a fork of it: one more message of the person's."""

from __future__ import annotations

import json
import secrets

from takeback.adapters import fields
from takeback.adapters.opencode.conversation import line_of, read
from takeback.model.agent import Headless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_AGENT = "takeback-summary"
_CONFIG = {
    "agent": {
        _AGENT: {
            "mode": "primary",
            "prompt": "You summarise conversations.",
            "tools": {"*": False},
            "permission": {"*": "deny"},
        }
    },
    "share": "disabled",
}
_TIME = len("msg_0123456789ab")
_RANDOM = 7


def said(output: str) -> str:
    """Returns the words of the model in what ``run --format json`` prints: one event a line."""
    found = []
    for line in output.splitlines():
        try:
            event = json.loads(line) if line.startswith("{") else {}
        except (ValueError, RecursionError):
            continue
        if event.get("type") == "text":
            found.append(fields.text(fields.table(event, "part"), "text") or "")
    return "\n\n".join(found)


class OpencodeSummaries:
    """Implements ``ports.Summaries``; ``program`` is the agent's name, in its variables too."""

    def __init__(self, program: str) -> None:
        prefix = f"{program.upper()}_"
        self.headless = Headless(
            program,
            ("run", "--pure", "--agent", _AGENT, "--title", "summary", "--format", "json"),
            {
                f"{prefix}CONFIG_CONTENT": json.dumps(_CONFIG),
                f"{prefix}DISABLE_PROJECT_CONFIG": "1",
                f"{prefix}PURE": "1",
                f"{prefix}DB": ":memory:",  # so that it keeps nothing of it
            },
            said=said,
        )

    def rest(self, whole: bytes, head: bytes) -> bytes:
        kept, before = read(whole), read(head).messages
        pairs = zip(before, kept.messages, strict=False)
        # A fork's messages have ids of their own, of the same times.
        same = all(_id(one)[:_TIME] == _id(other)[:_TIME] for (_, one), (_, other) in pairs)
        if not same or len(before) > len(kept.messages):
            raise ValueError("it is on another branch")
        return b"".join([*(line for line, _ in kept.messages[len(before) :]), _session(whole)])

    def put(self, kept: bytes, summary: str, *, first: bool, whole: bytes, now: float) -> bytes:
        found = read(kept)
        everything = read(whole).messages
        prompts = (m for _, m in reversed(everything) if _info(m).get("role") == "user")
        like: Mapping[str, Any] = next(prompts, {})
        if first and found.messages:
            beside = found.messages[0][1]
            moment, created = _moment(beside) - 1, _created(beside) - 1
        else:
            created = int(now * 1000)
            moment = max([created << 12, *(_moment(m) + 1 for _, m in everything)])
        id, session = _new_id("msg", moment), fields.text(_info(like), "sessionID") or ""
        info = {
            "id": id,
            "sessionID": session,
            "role": "user",
            "time": {"created": created},
            **{name: _info(like)[name] for name in ("agent", "model") if name in _info(like)},
        }
        part = {"id": _new_id("prt", moment), "sessionID": session, "messageID": id}
        parts = [{**part, "type": "text", "text": summary}]
        entry = line_of({"info": info, "parts": parts})
        lines = [line for line, _ in found.messages]
        lines = [entry, *lines] if first else [*lines, entry]
        return b"".join([*lines, _session(whole)])


def _session(history: bytes) -> bytes:
    session = read(history).session
    if session is None:
        raise ValueError("what was kept of it does not name its session")
    return session[0]


def _info(message: Mapping[str, Any]) -> Mapping[str, Any]:
    return fields.table(message, "info")


def _id(message: Mapping[str, Any]) -> str:
    return fields.text(_info(message), "id") or ""


def _moment(message: Mapping[str, Any]) -> int:
    """Returns the time in a message's id, by which opencode sorts: 48 bits, in hexadecimal."""
    try:
        return int(_id(message)[len("msg_") : _TIME], 16)
    except ValueError:
        return 0


def _created(message: Mapping[str, Any]) -> int:
    return fields.number(fields.table(_info(message), "time"), "created") or 0


def _new_id(kind: str, moment: int) -> str:
    return f"{kind}_{max(0, moment) & ((1 << 48) - 1):012x}{secrets.token_hex(_RANDOM)}"


summaries = OpencodeSummaries("opencode")
