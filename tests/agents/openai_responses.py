"""The protocol of Codex: POST /v1/responses."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

from tests.agents.dialogue import ASSISTANT, INJECTED, RESULT, Dialogue, tables, texts
from tests.agents.script import Step, Tool

Document = dict[str, Any]


def read(body: Mapping[str, Any]) -> Dialogue:
    dialogue = Dialogue(
        stream=body.get("stream") is True,
        tools=len(tables(body.get("tools"))),
        model=str(body.get("model")),
    )
    for item in tables(body.get("input")):
        kind, role = item.get("type", "message"), item.get("role")
        said = texts(item.get("content"))
        if kind == "message" and role == "user":
            dialogue.add_human(said)
        elif kind == "message":
            dialogue.add(ASSISTANT if role == "assistant" else INJECTED, "\n".join(said))
        elif kind.endswith("_output"):
            dialogue.add(RESULT)
        else:
            dialogue.add(ASSISTANT)
    return dialogue


def answer(step: Step, dialogue: Dialogue) -> Document:
    output = [_message(step.text)] if step.text else []
    output += [_call(tool) for tool in step.tools]
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 110,
    }
    return {
        "id": f"resp_{uuid4().hex}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "completed",
        "model": dialogue.model,
        "output": output,
        "error": None,
        "usage": usage,
    }


def _message(text: str) -> Document:
    return {
        "type": "message",
        "id": f"msg_{uuid4().hex}",
        "status": "completed",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }


def _call(tool: Tool) -> Document:
    call = {"status": "completed", "call_id": f"call_{uuid4().hex[:24]}", "name": tool.name}
    if tool.text is not None:
        return {"type": "custom_tool_call", "id": f"ctc_{uuid4().hex}", **call, "input": tool.text}
    arguments = json.dumps(dict(tool.args))
    return {"type": "function_call", "id": f"fc_{uuid4().hex}", **call, "arguments": arguments}


def events(response: Document) -> Iterator[Document]:
    """Yields the answer item by item; the finished items are what Codex reads."""
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    for index, item in enumerate(response["output"]):
        added = {**item, "status": "in_progress"}
        added |= {"content": []} if item["type"] == "message" else {}
        yield {"type": "response.output_item.added", "output_index": index, "item": added}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": response}
