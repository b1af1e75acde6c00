"""Stands in for a model: "write a.txt 1" has it call the tool, and then it is done."""

import json
from uuid import uuid4

from agents import Model, ModelResponse, Usage
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

seen = []
"""The prompts in each request."""


class Offline(Model):
    async def get_response(self, system_instructions, input, *args, **options):
        prompts = [one["content"] for one in input if one.get("role") == "user"]
        seen.append(prompts)
        if input[-1].get("type") == "function_call_output":
            text = ResponseOutputText(text="done", annotations=[], type="output_text")
            said = ResponseOutputMessage(
                id=uuid4().hex,
                content=[text],
                role="assistant",
                status="completed",
                type="message",
            )
        else:
            _, path, text = prompts[-1].split()
            said = ResponseFunctionToolCall(
                name="write",
                arguments=json.dumps({"path": path, "text": text}),
                call_id=uuid4().hex,
                type="function_call",
            )
        return ModelResponse([said], Usage(), None)

    def stream_response(self, *args, **options):
        raise NotImplementedError


model = Offline()
