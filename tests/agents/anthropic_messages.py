"""The protocol of Claude Code, and one of those of pi: POST /v1/messages."""

from __future__ import annotations

import json
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
        content = message.get("content")
        if message.get("role") == "assistant":
            dialogue.add(ASSISTANT, "\n".join(texts(content)))
        elif message.get("role") != "user":
            dialogue.add(INJECTED, "\n".join(texts(content)))
        elif any(block.get("type") == "tool_result" for block in tables(content)):
            # After an interruption the next prompt comes in the message of the last result.
            dialogue.add(RESULT)
            if texts(content):
                dialogue.add_human(texts(content))
        else:
            dialogue.add_human(texts(content))
    return dialogue


def answer(step: Step, dialogue: Dialogue) -> Document:
    content: list[Document] = [{"type": "text", "text": step.text}] if step.text else []
    for tool in step.tools:
        call_id = f"toolu_{uuid4().hex[:24]}"
        call = {"type": "tool_use", "id": call_id, "name": tool.name, "input": dict(tool.args)}
        content.append(call)
    return {
        "id": f"msg_{uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": dialogue.model,
        "content": content,
        "stop_reason": "tool_use" if step.tools else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 100,
            "output_tokens": 10,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def events(message: Document) -> Iterator[Document]:
    """Yields the answer piece by piece."""
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            begun: Document = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            begun = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
        "usage": {"output_tokens": message["usage"]["output_tokens"]},
    }
    yield {"type": "message_stop"}
