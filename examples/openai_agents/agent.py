"""An agent of the OpenAI Agents SDK whose turns can be taken back: the files and the messages.

pip install takeback openai-agents
python agent.py                    # in any directory; offline.py stands in for a model
"""

import asyncio
from pathlib import Path

from agents import Agent, RunConfig, RunContextWrapper, Runner, function_tool
from offline import model  # yours: model = "gpt-..."

from takeback import AsyncTakeback
from takeback.agents import ToolCall


@function_tool
async def write(context: RunContextWrapper, path: str, text: str) -> str:
    """Writes a file."""
    Path(path).write_text(text)
    await context.context.round([ToolCall("write", "edit", (path,))])
    return "written"


agent = Agent("writer", model=model, tools=[write])
offline = RunConfig(tracing_disabled=True)


async def ask(session, prompt):
    """One turn of a session: it begins with what was said before, and keeps what was said."""
    async with session.turn(prompt) as turn:
        said = [*turn.messages, {"role": "user", "content": prompt}]
        result = await Runner.run(agent, said, context=turn, run_config=offline)
        turn.messages = result.to_input_list()
    return turn


async def main():
    async with AsyncTakeback.open(".") as tb:
        one, other = tb.session("openai-agents"), tb.session("openai-agents")
        await asyncio.gather(ask(one, "write a.txt 1"), ask(other, "write b.txt 1"))
        turn = await ask(one, "write a.txt 2")
        one = await tb.resume(await tb.rewind(turn.before))
        print("a.txt:", Path("a.txt").read_text())
        await ask(one, "write a.txt 3")  # the model knows of 1 and 3


if __name__ == "__main__":
    asyncio.run(main())
