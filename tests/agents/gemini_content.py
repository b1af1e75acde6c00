"""The protocol of Gemini CLI: POST /v1beta/models/MODEL:streamGenerateContent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

from tests.agents.dialogue import ASSISTANT, RESULT, Dialogue, tables, texts
from tests.agents.script import Step

Document = dict[str, Any]


def read(body: Mapping[str, Any]) -> Dialogue:
    dialogue = Dialogue(tools=len(tables(body.get("tools"))))
    for content in tables(body.get("contents")):
        parts = tables(content.get("parts"))
        if content.get("role") == "model":
            dialogue.add(ASSISTANT, "\n".join(texts(list(parts))))
        elif any("functionResponse" in part for part in parts):
            dialogue.add(RESULT)
        else:
            dialogue.add_human(texts(list(parts)))
    return dialogue


def answer(step: Step, dialogue: Dialogue) -> Document:
    parts: list[Document] = [{"text": step.text}] if step.text else []
    for tool in step.tools:
        call_id = f"call_{uuid4().hex[:24]}"
        call = {"id": call_id, "name": tool.name, "args": dict(tool.args)}
        parts.append({"functionCall": call, "thoughtSignature": "c2lnbmVk"})
    content = {"role": "model", "parts": parts}
    return {
        "candidates": [{"index": 0, "finishReason": "STOP", "content": content}],
        "usageMetadata": {
            "promptTokenCount": 100,
            "candidatesTokenCount": 10,
            "totalTokenCount": 110,
        },
        "modelVersion": dialogue.model,
        "responseId": uuid4().hex,
    }


def events(message: Document) -> Iterator[Document]:
    yield message
