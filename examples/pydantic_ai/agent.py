"""A pydantic-ai agent whose turns can be taken back: the files and the messages.

pip install takeback pydantic-ai-slim
python agent.py                    # in any directory; offline.py stands in for a model
"""

import asyncio
from pathlib import Path

from offline import model  # yours: model = "anthropic:..."
from pydantic_ai import Agent, ModelMessagesTypeAdapter, RunContext

from takeback import AsyncTakeback
from takeback.agents import ToolCall

agent = Agent(model)


@agent.tool
async def write(context: RunContext, path: str, text: str) -> str:
    """Writes a file."""
    Path(path).write_text(text)
    await context.deps.round([ToolCall("write", "edit", (path,))])
    return "written"


async def ask(session, prompt):
    """One turn of a session: it begins with what was said before, and keeps what was said."""
    async with session.turn(prompt) as turn:
        history = ModelMessagesTypeAdapter.validate_json(turn.conversation or b"[]")
        result = await agent.run(prompt, message_history=history, deps=turn)
        turn.conversation = result.all_messages_json()
    return turn


async def main():
    async with AsyncTakeback.open(".") as tb:
        one, other = tb.session("pydantic-ai"), tb.session("pydantic-ai")
        await asyncio.gather(ask(one, "write a.txt 1"), ask(other, "write b.txt 1"))
        turn = await ask(one, "write a.txt 2")
        one = await tb.resume(await tb.rewind(turn.before))
        print("a.txt:", Path("a.txt").read_text())
        await ask(one, "write a.txt 3")  # the model knows of 1 and 3


if __name__ == "__main__":
    asyncio.run(main())
