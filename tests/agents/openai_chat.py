"""The protocol of Qwen Code: POST /v1/chat/completions."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

from tests.agents.dialogue import ASSISTANT, INJECTED, RESULT, Dialogue, tables, texts
from tests.agents.script import Step

Document = dict[str, Any]


def read(body: Mapping[str, Any]) -> Dialogue:
    dialogue = Dialogue(
        stream=body.get("stream") is True,
        tools=len(tables(body.get("tools"))),
        model=str(body.get("model")),
    )
    for message in tables(body.get("messages")):
        role, said = message.get("role"), texts(message.get("content"))
        if role == "user":
            dialogue.add_human(said)
        elif role == "tool":
            dialogue.add(RESULT)
        else:
            dialogue.add(ASSISTANT if role == "assistant" else INJECTED, "\n".join(said))
    return dialogue


def answer(step: Step, dialogue: Dialogue) -> Document:
    calls = [
        {
            "index": index,
            "id": f"call_{uuid4().hex[:24]}",
            "type": "function",
            "function": {"name": tool.name, "arguments": json.dumps(dict(tool.args))},
        }
        for index, tool in enumerate(step.tools)
    ]
    message = {
        "role": "assistant",
        "content": step.text,
        **({"tool_calls": calls} if calls else {}),
    }
    reason = "tool_calls" if calls else "stop"
    return {
        "id": f"chatcmpl-{uuid4().hex[:24]}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": dialogue.model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


def events(response: Document) -> Iterator[Document]:
    """Yields the answer in two pieces: what was said, and why it ended."""
    [choice] = response["choices"]
    common = {**response, "object": "chat.completion.chunk", "usage": None}
    said = {"index": 0, "delta": choice["message"], "finish_reason": None}
    ended = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    yield {**common, "choices": [said]}
    yield {**common, "choices": [ended]}
    yield {**common, "choices": [], "usage": response["usage"]}
