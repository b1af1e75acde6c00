"""Stands in for a model: "write a.txt 1" has it call the tool, and then it is done."""

from uuid import uuid4

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda

seen = []
"""The prompts in each request."""


def answer(messages):
    prompts = [one.content for one in messages if isinstance(one, HumanMessage)]
    seen.append(prompts)
    if isinstance(messages[-1], ToolMessage):
        return AIMessage("done")
    _, path, text = prompts[-1].split()
    call = {"name": "write", "args": {"path": path, "text": text}, "id": uuid4().hex}
    return AIMessage("", tool_calls=[call])


model = RunnableLambda(answer)
