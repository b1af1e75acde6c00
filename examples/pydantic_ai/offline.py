"""Stands in for a model: "write a.txt 1" has it call the tool, and then it is done."""

from pydantic_ai import ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

seen = []
"""The prompts in each request."""


def answer(messages, info):
    parts = [part for message in messages for part in message.parts]
    prompts = [part.content for part in parts if isinstance(part, UserPromptPart)]
    seen.append(prompts)
    if isinstance(parts[-1], ToolReturnPart):
        return ModelResponse([TextPart("done")])
    _, path, text = prompts[-1].split()
    return ModelResponse([ToolCallPart("write", {"path": path, "text": text})])


model = FunctionModel(answer)
